"""A server process that has imported expensive modules, and forks another process for each call.

Each call has its own process, and with it its own modules, caches and platform, yet starts within milliseconds. A call
that breaks, blocks or kills something affects only its own process.

    with ForkServer("labkit.conformance.preload") as server:
        for event in server.run("labkit.conformance.processes:play_job", jobs, within=60):
            ...  # Message(job, message) for each message of a call, Ended(job, error) when its process has ended

The server has one thread, and no lab or loop while it forks: neither survives a fork. It needs a system with `fork`.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Any, Generic, Self, TypeVar

from labkit.core.errors import LabkitError
from labkit.core.memory import serve_for_long

A = TypeVar("A")
Tell = Callable[[Any], None]
Function = Callable[[Any, Tell], None]
PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Message(Generic[A]):
    """A message from a call: plain data that went through JSON."""

    argument: A
    message: Any


@dataclass(frozen=True, slots=True)
class Ended(Generic[A]):
    """The end of a call's process. error: how it ended, if not regularly; printed: its output."""

    argument: A
    error: str = ""
    printed: str = ""


class ServerError(LabkitError):
    """The server process could not start, or ended too early; the text has the last line of its output."""


class ForkServer:
    """A server process. preload: a module that it imports; its function `prepare`, if it has one, is called once.

    Raises ServerError, with the last line of the output, if the server ends too early.
    """

    def __init__(self, preload: str) -> None:
        self._log = TemporaryFile("w+")  # noqa: SIM115 - closed in `close`
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, preload],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self._count = 0

    def run(
        self,
        function: str,
        arguments: Iterable[A],
        *,
        processes: int = 2,
        within: float | None = None,
        silence: float | None = None,
    ) -> Iterator[Message[A] | Ended[A]]:
        """Call a function once for each argument, each in its own process; yield messages and ends as they occur.

        function: `package.module:name`, called with the argument and a function that sends a message. Arguments and
        messages are plain data, as JSON has it. processes: number of concurrent ones; within: seconds of real time
        after which a process is killed, None for no limit; silence: the same since its last message. A caller that
        stops iterating has to close the server.
        """
        waiting = deque(arguments)
        running: dict[int, A] = {}
        while waiting or running:
            while waiting and len(running) < processes:
                self._count += 1
                running[self._count] = argument = waiting.popleft()
                limits = {"within": within, "silence": silence}
                self._send({"id": self._count, "function": function, "argument": argument, **limits})
            event = self._receive()
            argument = running[event["id"]]
            if "message" in event:
                yield Message(argument, event["message"])
            else:
                del running[event["id"]]
                yield Ended(argument, event["error"], event["printed"])

    def close(self) -> None:
        """End the server and all calls under way."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if not self._count:  # without any call, it can be killed before it reaches its loop
            self._process.kill()
        with suppress(BrokenPipeError):  # it has ended already
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, call: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(call) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._died() from None

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._died()
        event: dict[str, Any] = json.loads(line)
        return event

    def _died(self) -> ServerError:
        code = self._process.wait()
        self._log.seek(0)
        last = (self._log.read().strip().splitlines() or ["no reason given"])[-1]
        return ServerError(f"the fork server ended ({_ending(code)}): {last}")


# ---- in the server


@dataclass(slots=True)
class _Call:
    """A call under way: its process, the pipe of its messages, its output and its time limits."""

    id: int
    pid: int
    pipe: int
    printed: IO[bytes]
    within: float | None
    silence: float | None
    began: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)
    late: str = ""  # the reason why it was killed
    buffer: bytes = b""

    @property
    def remaining(self) -> float | None:
        """Seconds until it is killed; None without a limit, or if it was killed."""
        ends = [
            since + limit for since, limit in ((self.began, self.within), (self.heard, self.silence)) if limit
        ]
        return min(ends) - time.monotonic() if ends and not self.late else None


def serve(preload: str) -> None:
    """Import and prepare, then fork for each line of standard input until its end; then kill all remaining calls."""
    answers = os.dup(1)
    os.dup2(2, 1)  # printed output must not mix with the answers
    module = import_module(preload)
    if prepare := getattr(module, "prepare", None):
        prepare()
    sys.stdout.flush()  # else each process would print this one's buffered output again
    sys.stderr.flush()
    serve_for_long()  # else each process would copy all objects when it collects garbage, and collect often
    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ)
    calls: dict[int, _Call] = {}
    buffer = b""
    try:
        while True:
            soonest = min(
                (each.remaining for each in calls.values() if each.remaining is not None), default=None
            )
            for key, _ in selector.select(None if soonest is None else max(0.0, soonest)):
                if key.fd:
                    if not _forward(calls[key.fd], answers):
                        selector.unregister(key.fd)
                        _ended(calls.pop(key.fd), answers)
                    continue
                data = os.read(0, PIECE)
                if not data:
                    return
                *lines, buffer = (buffer + data).split(b"\n")
                for line in lines:
                    call = _begin(json.loads(line), [answers, *calls])
                    calls[call.pipe] = call
                    selector.register(call.pipe, selectors.EVENT_READ)
            for each in calls.values():
                if each.remaining is not None and each.remaining <= 0:
                    within = each.within and time.monotonic() - each.began >= each.within
                    each.late = (
                        f"after {each.within:g} s" if within else f"after {each.silence:g} s of silence"
                    )
                    _kill(each)
    except BrokenPipeError:  # the client has closed its end
        return
    finally:
        for each in calls.values():
            _kill(each)
            os.waitpid(each.pid, 0)


def _begin(call: dict[str, Any], inherited: list[int]) -> _Call:
    reading, writing = os.pipe()
    printed = TemporaryFile()  # noqa: SIM115 - closed in `_ended`
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setsid()  # so that its own child processes are killed with it
            for descriptor in (reading, *inherited):
                os.close(descriptor)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.dup2(printed.fileno(), 1)
            os.dup2(printed.fileno(), 2)
            _work(call, writing)
            status = 0
        except BaseException:  # noqa: BLE001 - whatever is raised, this process must not go on as a second server
            sys.excepthook(*sys.exc_info())
        finally:
            exit_now(status)
    os.close(writing)
    return _Call(call["id"], pid, reading, printed, call["within"], call["silence"])


def _work(call: dict[str, Any], writing: int) -> None:
    module, _, name = call["function"].partition(":")
    function: Function = getattr(import_module(module), name)

    def send(message: Any) -> None:
        left = memoryview(json.dumps(message).encode() + b"\n")
        while left:
            left = left[os.write(writing, left) :]

    function(call["argument"], send)


def exit_now(status: int) -> None:
    """End this process at once, without the exit handlers that it inherited from the server."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the call has closed it
            stream.flush()
    os._exit(status)


def _forward(call: _Call, answers: int) -> bool:
    """Forward the messages of a process; return whether there may be more."""
    data = os.read(call.pipe, PIECE)
    call.heard = time.monotonic()
    *lines, call.buffer = (call.buffer + data).split(b"\n")
    for line in lines:
        _answer(answers, {"id": call.id, "message": json.loads(line)})
    return bool(data)


def _ended(call: _Call, answers: int) -> None:
    if call.late:
        _kill(call)
    _, status = os.waitpid(call.pid, 0)
    os.close(call.pipe)
    with call.printed as file:
        file.seek(0)
        printed = file.read().decode(errors="replace").strip()
    code = os.waitstatus_to_exitcode(status)
    error = f"killed {call.late}" if call.late else _ending(code) if code else ""
    _answer(answers, {"id": call.id, "error": error, "printed": printed})


def _answer(answers: int, event: dict[str, Any]) -> None:
    left = memoryview(json.dumps(event).encode() + b"\n")
    while left:
        left = left[os.write(answers, left) :]


def _kill(call: _Call) -> None:
    for kill in (os.killpg, os.kill):  # it may not have its own process group yet
        with suppress(ProcessLookupError, PermissionError):
            kill(call.pid, signal.SIGKILL)


def _ending(code: int) -> str:
    return f"exit status {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"


if __name__ == "__main__":
    serve(sys.argv[1])
