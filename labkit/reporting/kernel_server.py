"""A process that has imported what notebooks need, and forks a kernel from itself for each that is asked for.

A kernel so starts within milliseconds rather than seconds, and is otherwise as Jupyter would have started it: a
process, a session and a process group of its own, with the environment, folder and files that were asked for.

    with KernelServer() as server:
        kernel = start(server.address, arguments, environment, folder, files)

The server listens at a socket in a folder that is its user's alone. It keeps a connection for each kernel: over it the
kernel's process id comes first and its exit code last, and a kernel whose connection is closed is killed. The server
has one thread, and nothing of IPython, ZeroMQ or a lab that would not survive a fork.
"""

from __future__ import annotations

import builtins
import gc
import io
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace, TracebackType
from typing import Any, Self

AVAILABLE = hasattr(os, "fork") and hasattr(socket, "send_fds")
PRELOAD = (
    "IPython.core.completerlib IPython.core.oinspect IPython.core.pylabtools "
    "IPython.extensions.storemagic ipykernel.debugger ipykernel.kernelapp ipykernel.ipkernel ipykernel.zmqshell "
    "matplotlib.backends.backend_agg matplotlib.pyplot pandas pandas.io.formats.html pandas.plotting._matplotlib "
    "psutil tornado.platform.asyncio labkit labkit.conformance.preload labkit.reporting.notebook"
)
PATIENCE = 60.0  # seconds of real time for the server to be ready, or to fork
PIECE = 64 * 1024
LAUNCHER = str(getattr(find_spec("ipykernel_launcher"), "origin", "ipykernel_launcher.py"))
STREAMS = range(3)  # standard input, output and error


class KernelServer:
    """A server process, for as long as it is not closed. It can be asked by other processes of its user."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="labkit-", ignore_cleanup_errors=True)
        self.address = str(Path(self._folder.name) / "kernels")
        # What is read at import has to be as in a kernel: where pictures go, and what the debugger warns of. Threads
        # of a library for numbers would not survive; each kernel has its own environment later.
        environment = {
            **os.environ,
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "OPENBLAS_NUM_THREADS": "1",
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, self.address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a server that fails is not there: kernels start without it
            env=environment,
            start_new_session=True,  # an interrupt at the terminal is not for it
        )

    @staticmethod
    def pays(kernels: int) -> bool:
        """Does a server save more than it costs, for so many kernels? Not where the system cannot fork."""
        return AVAILABLE and kernels > 1

    @property
    def ready(self) -> bool:
        """Can kernels be asked for? Not while it still imports, nor where it could not."""
        return is_ready(self.address)

    def wait(self) -> bool:
        """Wait until it is ready, or has ended without; is it ready?"""
        assert self._process.stdout is not None
        self._process.stdout.read()
        return self.ready

    def close(self) -> None:
        """End the server, and all kernels that it has left."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        if not self.ready:
            self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ForkedKernel:
    """A kernel's process, as `subprocess.Popen` has one. connection: the server's, which ends when it ends."""

    stdin = stdout = stderr = None

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""
        self.returncode: int | None = None
        self.pid = int(self._line(PATIENCE))

    def poll(self) -> int | None:
        """Its exit code, None while it runs."""
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"kernel {self.pid}", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """Wait for it no longer: it is killed where it still runs, as when this process ends."""
        self._connection.close()

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            try:
                self.returncode = int(self._line(timeout))
            except (BlockingIOError, TimeoutError):
                return None
            except ConnectionError:  # the server was killed, and its kernels with it
                self.returncode = -signal.SIGKILL
            self._connection.close()
        return self.returncode

    def _line(self, timeout: float | None) -> str:
        self._connection.settimeout(timeout)
        while b"\n" not in self._buffer:
            data = self._connection.recv(64)
            if not data:
                raise ConnectionError("the kernel server ended")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode()


def is_ready(address: str) -> bool:
    """Can a server there be asked for kernels?"""
    return Path(address).exists()


def start(
    address: str, arguments: Sequence[str], environment: Mapping[str, str], folder: str, files: Sequence[int]
) -> ForkedKernel:
    """Have a kernel forked. arguments: of ipykernel's application; files: the descriptors 0, 1 and 2 that it gets.

    Raises OSError where no server is ready at that address.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(PATIENCE)
        connection.connect(address)
        request = {"arguments": list(arguments), "environment": dict(environment), "folder": folder}
        line = json.dumps(request).encode() + b"\n"
        connection.sendall(line[socket.send_fds(connection, [line], list(files)) :])
        return ForkedKernel(connection)
    except BaseException:
        connection.close()
        raise


# ---- in the server


class Server:
    """Forks a kernel for each connection, and tells it how its kernel ended."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._kernels: dict[int, socket.socket] = {}  # by process id
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
        """Serve until standard input ends. What is returned in a forked process is for it to do, and then to end."""
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
                elif key.data in self._kernels:  # nobody waits for this kernel any more
                    _kill(key.data)
                    self._selector.unregister(key.fileobj)

    def _begin(self, connection: socket.socket) -> Callable[[], None] | None:
        """Fork a kernel; in the fork, what it has to do."""
        connection.settimeout(PATIENCE)
        files: list[int] = []
        try:
            request, files = _received(connection)
        except (OSError, ValueError):  # whoever asked is no more
            connection.close()
            return None
        pid = os.fork()
        if pid == 0:
            return partial(self._kernel, connection, files, request)
        for each in files:
            os.close(each)
        self._kernels[pid] = connection
        self._selector.register(connection, selectors.EVENT_READ, pid)
        return None

    def _kernel(self, connection: socket.socket, files: Sequence[int], request: Mapping[str, Any]) -> None:
        """In the fork: leave behind what is the server's, and be the kernel that was asked for."""
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, each in enumerate(files):
            os.dup2(each, number)
            os.close(each)
        connection.sendall(f"{os.getpid()}\n".encode())  # by now it has a session of its own
        self._selector.close()
        for other in (connection, self._listener, *self._wakes, *self._kernels.values()):
            other.close()
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        if numpy := sys.modules.get("numpy"):  # Python's own chance is renewed by the fork
            numpy.random.seed()
        # It ends when its parent does; ipykernel has read the environment's word for it before the fork.
        parent = f"--IPKernelApp.parent_handle={os.getppid()}"
        sys.argv = [LAUNCHER, *request["arguments"], parent]
        import_module("ipykernel.kernelapp").launch_new_instance()

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            while self._woken.recv(64):
                pass
        for pid, connection in list(self._kernels.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                with suppress(OSError):  # nobody waits for it
                    connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
                with suppress(KeyError):  # it was abandoned
                    self._selector.unregister(connection)
                connection.close()
                del self._kernels[pid]

    def _end(self) -> None:
        for pid in self._kernels:
            _kill(pid)
            os.waitpid(pid, 0)


def _received(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """A request: a line of JSON, and three files. Raises OSError or ValueError where it is not whole."""
    data, files, _, _ = socket.recv_fds(connection, PIECE, 3)
    try:
        while not data.endswith(b"\n"):
            more = connection.recv(PIECE)
            if not more:
                raise ConnectionError("the request is not whole")
            data += more
        request: dict[str, Any] = json.loads(data)
        if len(files) != len(STREAMS):
            raise ValueError("three files are wanted")
    except BaseException:
        for each in files:
            os.close(each)
        raise
    return request, files


def _kill(pid: int) -> None:
    for kill in (os.killpg, os.kill):  # it may not have a group of its own yet
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _draw() -> None:
    """Draw a chart: matplotlib looks for fonts, and reads them, when it does so for the first time."""
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().set_title("°C, 2026", weight="bold")
    figure.savefig(io.BytesIO())


def serve(address: str) -> None:
    """Import what kernels need, then listen, until standard input ends."""
    if Path(sys.path[0]) == Path.cwd():  # where this process happens to be; the launcher does so too
        del sys.path[0]
    # pandas asks at import whether it is in a kernel, by the name that IPython lends to what cells import.
    builtins.get_ipython = lambda: SimpleNamespace(kernel=None)  # type: ignore[attr-defined]
    for name in PRELOAD.split():
        import_module(name)
    del builtins.get_ipython  # type: ignore[attr-defined]
    _draw()
    gc.collect()
    gc.freeze()  # else each kernel would copy all that is there when it looks for garbage
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        new = f"{address}.new"
        listener.bind(new)
        listener.listen()
        Path(new).rename(address)  # whoever sees it can connect
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), 1)  # the end of its output says that it is ready
        work = Server(listener).run()
    if work is not None:
        work()


if __name__ == "__main__":
    serve(sys.argv[1])
