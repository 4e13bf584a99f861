"""The process of a fork server: `python -m labkit.conformance.fork_loop PRELOAD ADDRESS`.

It imports and prepares a module, then forks for each connection to its socket. A connection brings a request as a line
of JSON, with the descriptors of the new process (fork_server.py), and gets two lines: its process id, and in the end
its exit code. The process of a connection that is closed is killed. The server ends, with all processes, when its
standard input does.

It has one thread, and no lab or loop while it forks: neither survives a fork.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from labkit.core.process import serve_for_long

PATIENCE = 60.0  # seconds of real time in which a request has to arrive
PIECE = 64 * 1024
STREAMS = 3  # standard input, output and error
Send = Callable[[Any], None]
Function = Callable[[Any, Send], None]


class Loop:
    """Forks a process for each connection, and answers how it ended."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._connections: dict[int, socket.socket] = {}  # by process id
        self._woken, waking = socket.socketpair()
        self._wakes = (self._woken, waking)
        for each in self._wakes:
            each.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)  # else nothing is written when a child ends
        signal.set_wakeup_fd(waking.fileno())
        for each in (listener, self._woken):
            self._selector.register(each, selectors.EVENT_READ)
        self._selector.register(0, selectors.EVENT_READ)

    def run(self) -> Callable[[], None] | None:
        """Serve until standard input ends; in a forked process, return the function that it has to call."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    work = self._begin(self._listener.accept()[0])
                    if work is not None:
                        return work
                elif key.fileobj is self._woken:
                    self._reap()
                elif key.fd == 0:
                    self._end()
                    return None
                elif key.data in self._connections:  # no one waits for this process any more
                    kill_session(key.data)
                    self._selector.unregister(key.fileobj)

    def _begin(self, connection: socket.socket) -> Callable[[], None] | None:
        """Fork; return None in the server, and the function to call in the forked process."""
        connection.settimeout(PATIENCE)
        files: list[int] = []
        try:
            request, files = _received(connection)
        except (OSError, ValueError):  # the client has ended
            connection.close()
            return None
        pid = os.fork()
        if pid == 0:
            return partial(self._process, connection, files, request)
        for each in files:
            os.close(each)
        self._connections[pid] = connection
        self._selector.register(connection, selectors.EVENT_READ, pid)
        return None

    def _process(self, connection: socket.socket, files: Sequence[int], request: Mapping[str, Any]) -> None:
        """In the fork: close what is the server's, and do what is requested."""
        os.setsid()  # so that its own child processes are killed with it
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, each in enumerate(files[:STREAMS]):
            os.dup2(each, number)
            os.close(each)
        connection.sendall(f"{os.getpid()}\n".encode())
        self._selector.close()
        for other in (connection, self._listener, *self._wakes, *self._connections.values()):
            other.close()
        if request["folder"] is not None:
            os.chdir(request["folder"])
        if request["environment"] is not None:
            os.environ.clear()
            os.environ.update(request["environment"])
        call = partial(_call, request["function"], request["argument"], files[STREAMS:])
        _call_and_exit(call, request["at_exit"])

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            while self._woken.recv(64):
                pass
        for pid, connection in list(self._connections.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                with suppress(OSError):  # the client has ended
                    connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
                with suppress(KeyError):  # unregistered when the client closed it
                    self._selector.unregister(connection)
                connection.close()
                del self._connections[pid]

    def _end(self) -> None:
        for pid in self._connections:
            kill_session(pid)
            os.waitpid(pid, 0)


def _received(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return a request with its files. Raises OSError or ValueError for an incomplete one."""
    data, files, _, _ = socket.recv_fds(connection, PIECE, STREAMS + 1)
    try:
        while not data.endswith(b"\n"):
            more = connection.recv(PIECE)
            if not more:
                raise ConnectionError("the request is incomplete")
            data += more
        request: dict[str, Any] = json.loads(data)
        if len(files) not in (STREAMS, STREAMS + 1):
            raise ValueError("expected three or four files")
    except BaseException:
        for each in files:
            os.close(each)
        raise
    return request, files


def _call(named: str, argument: Any, pipe: Sequence[int]) -> None:
    module, _, name = named.partition(":")
    function: Function = getattr(import_module(module), name)

    def send(message: Any) -> None:
        left = memoryview(json.dumps(message).encode() + b"\n")
        while left:
            left = left[os.write(pipe[0], left) :]

    function(argument, send)


def _call_and_exit(call: Callable[[], None], at_exit: bool) -> None:
    """Call, then end the process, on request as Python does: it waits for threads and runs the exit handlers.

    It never frees all that the server has imported, which takes longer than many calls.
    """
    status = 1
    try:
        status = _status(call)
        if at_exit:
            threading._shutdown()  # type: ignore[attr-defined]  # as multiprocessing does
            atexit._run_exitfuncs()
    except BaseException:  # noqa: BLE001 - whatever is raised, the process must not go on as a second server
        sys.excepthook(*sys.exc_info())
    finally:
        exit_now(status)


def _status(call: Callable[[], None]) -> int:
    """Call, and return the exit status that Python has after it."""
    try:
        call()
    except SystemExit as ended:
        if ended.code is not None and not isinstance(ended.code, int):
            print(ended.code, file=sys.stderr)  # noqa: T201
            return 1
        return ended.code or 0
    except BaseException:  # noqa: BLE001 - reported as Python does
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def exit_now(status: int) -> None:
    """End this process at once, without the exit handlers that it inherited from the server."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the call has closed it
            stream.flush()
    os._exit(status)


def kill_session(pid: int) -> None:
    """Kill a forked process and those that it has started."""
    for kill in (os.killpg, os.kill):  # it may not have its own process group yet
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def serve(preload: str, address: str) -> None:
    """Import and prepare, then fork for each connection until standard input ends."""
    answers = os.dup(1)
    os.dup2(2, 1)
    module = import_module(preload)
    if prepare := getattr(module, "prepare", None):
        prepare()
    sys.stdout.flush()  # else each process would print this one's buffered output again
    sys.stderr.flush()
    serve_for_long()  # else each process would copy all objects when it collects garbage, and collect often
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        new = f"{address}.new"
        listener.bind(new)
        listener.listen()
        Path(new).rename(address)  # who sees it can connect
        os.close(answers)  # the end of its output says that it is ready
        work = Loop(listener).run()
    if work is not None:
        work()


if __name__ == "__main__":
    serve(*sys.argv[1:])
