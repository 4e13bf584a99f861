"""A server process that has imported expensive modules, and forks another process for each call.

Each call has its own process, and with it its own modules, caches and platform, yet starts within milliseconds. A call
that breaks, blocks or kills something affects only its own process.

    with ForkServer("labkit.conformance.preload") as server:
        for event in server.run("labkit.conformance.processes:play_job", jobs, within=60):
            ...  # Message(job, message) for each message of a call, Ended(job, error) when its process has ended

The server listens at a socket in a folder that only its user can read (fork_loop.py), so other processes can have it
fork too: `start(server.address, …)`.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from types import TracebackType
from typing import IO, Any, Generic, Self, TypeVar

from labkit.conformance.fork_loop import kill_session
from labkit.core.errors import LabkitError
from labkit.core.progress import period, tick

A = TypeVar("A")
AVAILABLE = hasattr(os, "fork") and hasattr(socket, "send_fds")
PATIENCE = 60.0  # seconds of real time in which the server has to answer
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
    """A server process. preload: a module that it imports; its function `prepare`, if it has one, is called once."""

    def __init__(self, preload: str) -> None:
        self._folder = TemporaryDirectory(prefix="labkit-", ignore_cleanup_errors=True)
        self._log = TemporaryFile("w+")  # noqa: SIM115 - closed in `close`
        self.address = str(Path(self._folder.name) / "server")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "labkit.conformance.fork_loop", preload, self.address],
            stdin=subprocess.PIPE,  # its end is the server's
            stdout=subprocess.PIPE,  # whose end says that it is ready
            stderr=self._log,
            start_new_session=True,  # an interrupt at the terminal is not for it
        )

    @property
    def is_ready(self) -> bool:
        """Whether it can be asked; False while it still imports, and where it could not."""
        return is_ready(self.address)

    def wait(self) -> bool:
        """Wait until it is ready or has ended, and return whether it is ready."""
        assert self._process.stdout is not None
        self._process.stdout.read()
        return self.is_ready

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
        after which a process is killed, None for no limit; silence: the same since its last message. The processes of
        a caller that stops iterating are killed. Raises ServerError, with the last line of the output, if the server
        ended too early.
        """
        if not self.wait():
            raise self._died()
        waiting = deque(arguments)
        with selectors.DefaultSelector() as selector:
            calls: set[_Call[A]] = set()
            try:
                while waiting or calls:
                    while waiting and len(calls) < processes:
                        try:
                            calls.add(_Call(self.address, function, waiting.popleft(), selector))
                        except (ConnectionError, FileNotFoundError):
                            raise self._died() from None
                    yield from _events(calls, selector, within, silence)
            except ConnectionError:
                raise self._died() from None
            finally:
                for each in calls:
                    each.close()

    def close(self) -> None:
        """End the server, and kill all processes that it has forked and that still run."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        if not self.is_ready:
            self._process.kill()
        self._process.wait()
        self._log.close()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _died(self) -> ServerError:
        code = self._process.wait()
        self._log.seek(0)
        last = (self._log.read().strip().splitlines() or ["no reason given"])[-1]
        return ServerError(f"the fork server ended ({_ending(code)}): {last}")


class ForkedProcess:
    """A forked process, with the interface of `subprocess.Popen`. connection: the server's, which ends with it."""

    stdin = stdout = stderr = None

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._buffer = b""
        self._pid: int | None = None
        self.returncode: int | None = None

    @property
    def pid(self) -> int:
        """Process id, once the server has forked. Raises OSError where it does not."""
        if self._pid is None:
            self._pid = int(self._line(PATIENCE))
        return self._pid

    def poll(self) -> int | None:
        """Return the exit code, None while the process runs."""
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process, unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """Stop waiting; the process is killed if it still runs."""
        with suppress(OSError):  # it was never forked
            self.poll()  # kills it where there is no server any more, which else does so
        self.connection.close()

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            _ = self.pid
            try:
                self.returncode = int(self._line(timeout))
            except (BlockingIOError, TimeoutError):
                return None
            except ConnectionError:  # the server was killed
                kill_session(self.pid)
                self.returncode = -signal.SIGKILL
            self.connection.close()
        return self.returncode

    def _line(self, timeout: float | None) -> str:
        self.connection.settimeout(timeout)
        while b"\n" not in self._buffer:
            data = self.connection.recv(64)
            if not data:
                raise ConnectionError("the fork server ended")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode()


def is_ready(address: str) -> bool:
    """Return whether a server at this address can be asked."""
    return Path(address).exists()


def start(
    address: str,
    function: str,
    argument: object,
    files: Sequence[int],
    *,
    environment: Mapping[str, str] | None = None,
    folder: str | None = None,
    at_exit: bool = False,
) -> ForkedProcess:
    """Have a server fork a process that calls a function, `package.module:name`.

    files: the descriptors 0, 1 and 2 of the process, and one for its messages, if it may send some; environment,
    folder: instead of the server's; at_exit: whether the process ends as Python does, with its exit handlers. Raises
    OSError where no server is ready at the address.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(PATIENCE)
        connection.connect(address)
        given = None if environment is None else dict(environment)
        request = {"function": function, "argument": argument, "environment": given, "folder": folder}
        line = json.dumps({**request, "at_exit": at_exit}).encode() + b"\n"
        left = line[socket.send_fds(connection, [line], list(files)) :]
        if left:  # sending nothing fails where the process has ended and the server has closed already
            connection.sendall(left)
        return ForkedProcess(connection)
    except BaseException:
        connection.close()
        raise


class _Call(Generic[A]):
    """A call under way: its process, the pipe of its messages and its output."""

    def __init__(self, address: str, function: str, argument: A, selector: selectors.BaseSelector) -> None:
        self.argument = argument
        self.reason = ""  # why it was killed
        self._selector = selector
        self._printed: IO[bytes] = TemporaryFile()  # noqa: SIM115 - closed in `close`
        self._buffer = b""
        self._pipe, writing = os.pipe()
        os.set_blocking(self._pipe, False)
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            output = self._printed.fileno()
            self.process = start(address, function, argument, [nothing, output, output, writing])
        except BaseException:
            os.close(self._pipe)
            self._printed.close()
            raise
        finally:
            os.close(nothing)
            os.close(writing)
        self.began = self.heard = time.monotonic()
        selector.register(self._pipe, selectors.EVENT_READ, self)
        selector.register(self.process.connection, selectors.EVENT_READ, self)

    def messages(self) -> Iterator[Message[A]]:
        """Read what has arrived, and yield the messages that are complete."""
        with suppress(BlockingIOError):
            while data := os.read(self._pipe, PIECE):
                self.heard = time.monotonic()
                *lines, self._buffer = (self._buffer + data).split(b"\n")
                for each in lines:
                    yield Message(self.argument, json.loads(each))
            self._ignore(self._pipe)

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        code = self.process.poll()
        if code is not None:
            self._ignore(self.process.connection)
        return code

    def remaining(self, within: float | None, silence: float | None) -> float | None:
        """Seconds until it has to be killed; None without a limit, and once it is killed."""
        ends = [since + limit for since, limit in ((self.began, within), (self.heard, silence)) if limit]
        return min(ends) - time.monotonic() if ends and not self.reason else None

    def kill(self, reason: str) -> None:
        """Kill it with the processes that it has started."""
        self.reason = reason
        kill_session(self.process.pid)

    def end(self, code: int) -> Ended[A]:
        """Return how it ended."""
        self._printed.seek(0)
        printed = self._printed.read().decode(errors="replace").strip()
        error = f"killed {self.reason}" if self.reason else _ending(code) if code else ""
        return Ended(self.argument, error, printed)

    def close(self) -> None:
        """Close its files; it is killed if it still runs."""
        for each in (self._pipe, self.process.connection):
            self._ignore(each)
        os.close(self._pipe)
        self._printed.close()
        self.process.close()

    def _ignore(self, file: int | socket.socket) -> None:
        with suppress(KeyError, ValueError):  # it is closed, or ignored already
            self._selector.unregister(file)


def _events(
    calls: set[_Call[A]], selector: selectors.BaseSelector, within: float | None, silence: float | None
) -> Iterator[Message[A] | Ended[A]]:
    """Wait until something happens to a call, and yield what did; kill those whose time is over."""
    left = [seconds for each in calls if (seconds := each.remaining(within, silence)) is not None]
    if (pause := period()) is not None:
        left.append(pause)
    ready = selector.select(max(0.0, min(left)) if left else None)
    tick()
    for call in dict.fromkeys(key.data for key, _ in ready):
        code = call.poll()  # first, so that all its messages have arrived where it has ended
        yield from call.messages()
        if code is not None:
            calls.remove(call)
            ended = call.end(code)
            call.close()
            yield ended
    for call in calls:
        seconds = call.remaining(within, silence)
        if seconds is not None and seconds <= 0:
            late = within and time.monotonic() - call.began >= within
            call.kill(f"after {within:g} s" if late else f"after {silence:g} s of silence")


def _ending(code: int) -> str:
    return f"exit status {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
