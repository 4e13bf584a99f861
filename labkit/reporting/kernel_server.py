"""Server process that has imported the modules that notebooks need, and forks Jupyter kernels from itself on request.

A forked kernel starts within milliseconds rather than seconds. Otherwise it is like a kernel that Jupyter starts: it
has a process, a session and a process group of its own, with the requested environment, folder and files.

    with KernelServer() as server:
        kernel = start(server.address, arguments, environment, folder, files)

The server listens at a socket in a folder that only its user can access. It keeps a connection for each kernel, on
which it sends first the kernel's process id and finally its exit code. A kernel whose connection is closed is killed.
The server has one thread, and no objects of IPython, ZeroMQ or a lab that would not survive a fork.
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
PIECE = 64 * 1024  # bytes of a request that are received at once
LAUNCHER = str(getattr(find_spec("ipykernel_launcher"), "origin", "ipykernel_launcher.py"))
STREAMS = range(3)  # standard input, output and error


class KernelServer:
    """A running server process, until `close`. All processes of its user may request kernels from it."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="labkit-", ignore_cleanup_errors=True)
        self.address = str(Path(self._folder.name) / "kernels")
        # Variables that are read at import must have the values of a kernel: matplotlib's backend, and the debugger's
        # warnings. OpenBLAS must not start threads, since they would not survive a fork. Each kernel gets its own
        # environment later.
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
            stderr=subprocess.DEVNULL,  # if the server fails, kernels start without it
            env=environment,
            start_new_session=True,  # an interrupt in the terminal does not reach it
        )

    @staticmethod
    def is_worthwhile(count: int) -> bool:
        """Return whether forking `count` kernels is faster than starting each. False if the system cannot fork."""
        return AVAILABLE and count > 1

    @property
    def ready(self) -> bool:
        """Whether the server accepts requests: not while it still imports modules, nor if an import has failed."""
        return is_ready(self.address)

    def wait(self) -> bool:
        """Wait until the server is ready or has failed. Returns whether it is ready."""
        assert self._process.stdout is not None
        self._process.stdout.read()
        return self.ready

    def close(self) -> None:
        """End the server, and all of its kernels that are still running."""
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
    """Process of a forked kernel, with the interface of `subprocess.Popen`.

    connection: to the server; the server closes it when the kernel ends.
    """

    stdin = stdout = stderr = None

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""
        self.returncode: int | None = None
        self.pid = int(self._line(PATIENCE))

    def poll(self) -> int | None:
        """Return the exit code, None while the kernel runs."""
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the kernel's end and return its exit code. Raises TimeoutExpired after `timeout` seconds."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"kernel {self.pid}", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal to the kernel, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the kernel, unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Send SIGTERM to the kernel, unless it has ended."""
        self.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """Close the connection to the server, which then kills the kernel if it still runs."""
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
    """Return whether a server at this address accepts requests."""
    return Path(address).exists()


def start(
    address: str, arguments: Sequence[str], environment: Mapping[str, str], folder: str, files: Sequence[int]
) -> ForkedKernel:
    """Fork a kernel. arguments: of ipykernel's application; files: descriptors for its standard streams 0, 1 and 2.

    Raises OSError if no server is ready at that address.
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
    """Server loop: forks a kernel for each connection, and sends its exit code on the connection.

    listener: listening socket, inherited by no kernel.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._kernels: dict[int, socket.socket] = {}  # by process id
        self._woken, waking = socket.socketpair()
        self._wakes = (self._woken, waking)
        for each in self._wakes:
            each.setblocking(False)
        signal.signal(
            signal.SIGCHLD, lambda number, frame: None
        )  # without a handler, no wake-up byte is written
        signal.set_wakeup_fd(waking.fileno())
        for each in (listener, self._woken):
            self._selector.register(each, selectors.EVENT_READ)
        self._selector.register(0, selectors.EVENT_READ)

    def run(self) -> Callable[[], None] | None:
        """Serve until standard input ends, and return None. In a forked process, return the function for it to run."""
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
                elif key.data in self._kernels:  # the client has closed the connection
                    _kill(key.data)
                    self._selector.unregister(key.fileobj)

    def _begin(self, connection: socket.socket) -> Callable[[], None] | None:
        """Fork a kernel for a connection. Return None; in the forked process, return the function for it to run."""
        connection.settimeout(PATIENCE)
        files: list[int] = []
        try:
            request, files = _received(connection)
        except (OSError, ValueError):  # the client has closed the connection
            connection.close()
            return None
        pid = os.fork()
        if pid == 0:
            return partial(self._run_kernel, connection, files, request)
        for each in files:
            os.close(each)
        self._kernels[pid] = connection
        self._selector.register(connection, selectors.EVENT_READ, pid)
        return None

    def _run_kernel(
        self, connection: socket.socket, files: Sequence[int], request: Mapping[str, Any]
    ) -> None:
        """Run the requested kernel in the forked process, after closing the server's files."""
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, each in enumerate(files):
            os.dup2(each, number)
            os.close(each)
        connection.sendall(
            f"{os.getpid()}\n".encode()
        )  # after setsid, so that the client can signal the group
        self._selector.close()
        for other in (connection, self._listener, *self._wakes, *self._kernels.values()):
            other.close()
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        if numpy := sys.modules.get("numpy"):  # Python's own random numbers are reseeded by the fork
            numpy.random.seed()
        # The kernel ends when its parent ends. The environment variable for this was read by ipykernel before the fork.
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
                with suppress(OSError):  # the client has closed the connection
                    connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
                with suppress(KeyError):  # unregistered when the client closed the connection
                    self._selector.unregister(connection)
                connection.close()
                del self._kernels[pid]

    def _end(self) -> None:
        for pid in self._kernels:
            _kill(pid)
            os.waitpid(pid, 0)


def _received(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Receive a request: a line of JSON, and three files. Raises OSError or ValueError if it is incomplete."""
    data, files, _, _ = socket.recv_fds(connection, PIECE, 3)
    try:
        while not data.endswith(b"\n"):
            more = connection.recv(PIECE)
            if not more:
                raise ConnectionError("the request is incomplete")
            data += more
        request: dict[str, Any] = json.loads(data)
        if len(files) != len(STREAMS):
            raise ValueError(f"expected three files, not {len(files)}")
    except BaseException:
        for each in files:
            os.close(each)
        raise
    return request, files


def _kill(pid: int) -> None:
    for kill in (os.killpg, os.kill):  # the process may not have a group of its own yet
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _load_fonts() -> None:
    """Draw a chart, since matplotlib looks for fonts and reads them with its first one."""
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().set_title("°C, 2026", weight="bold")
    figure.savefig(io.BytesIO())


def serve(address: str) -> None:
    """Import the modules that kernels need, then serve requests until standard input ends."""
    if (
        Path(sys.path[0]) == Path.cwd()
    ):  # the current folder must not provide modules; ipykernel's launcher does this too
        del sys.path[0]
    # pandas checks at import whether it runs in a kernel, by a name that IPython defines for code in cells.
    builtins.get_ipython = lambda: SimpleNamespace(kernel=None)  # type: ignore[attr-defined]
    for name in PRELOAD.split():
        import_module(name)
    del builtins.get_ipython  # type: ignore[attr-defined]
    _load_fonts()
    gc.collect()
    gc.freeze()  # otherwise each kernel would copy all objects with its first garbage collection
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        new = f"{address}.new"
        listener.bind(new)
        listener.listen()
        Path(new).rename(address)  # the file appears only once the socket accepts connections
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), 1)  # closing standard output signals that the server is ready
        work = Server(listener).run()
    if work is not None:
        work()


if __name__ == "__main__":
    serve(sys.argv[1])
