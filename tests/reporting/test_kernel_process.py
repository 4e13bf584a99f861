"""Kernels forked from one server process: isolated like those that Jupyter starts, and none outlives its server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import KernelManager

from labkit.conformance.fork_server import AVAILABLE, ForkServer, start
from labkit.reporting import kernel_process, provisioner
from labkit.reporting.run_notebook import NotebookRun, code_cells, run_notebook
from tests.guard import PATIENCE
from tests.reporting.books import written

pytestmark = [
    pytest.mark.skipif(not AVAILABLE, reason="the system has no fork"),
    pytest.mark.xdist_group("kernels"),  # its start takes a while
]
WHO = "import os\nprint(os.getpid(), os.getsid(0), os.getpgid(0), os.getppid())"


def until(condition: object) -> None:
    assert callable(condition)
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_there(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


@pytest.fixture(autouse=True)
def no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the server that the comparison of notebooks uses for its kernels."""
    monkeypatch.delenv(provisioner.ADDRESS, raising=False)


class Specs(KernelSpecManager):
    """Kernel specs with one kernel, which the server forks."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, metadata=provisioner.metadata(self._address))


class Kernel:
    """A kernel and its client."""

    def __init__(self, server: str, folder: Path) -> None:
        self.manager = KernelManager(kernel_spec_manager=Specs(server))
        self.manager.start_kernel(cwd=str(folder), env={**os.environ, "OWN": folder.name})
        self.client: BlockingKernelClient = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE)

    @property
    def pid(self) -> int:
        return int(getattr(self.manager.provisioner, "pid"))  # noqa: B009 - not every provisioner has one

    def ask(self, code: str) -> str:
        said: list[str] = []
        self.client.execute_interactive(
            code,
            timeout=PATIENCE,
            output_hook=lambda message: said.append(
                message["content"].get("text", message["content"].get("ename", ""))
            ),
        )
        return "".join(said).strip()

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture
def kernels(fork_server: str, tmp_path: Path) -> Iterator[tuple[Kernel, Kernel]]:
    folders = tmp_path / "a", tmp_path / "b"
    for folder in folders:
        folder.mkdir()
    made = Kernel(fork_server, folders[0]), Kernel(fork_server, folders[1])
    yield made
    for each in made:
        each.close()


def server_pid(kernel: Kernel) -> int:
    return int(kernel.ask(WHO).split()[3])


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_the_server_has_one_thread(kernels: tuple[Kernel, Kernel]) -> None:
    assert len(list(Path(f"/proc/{server_pid(kernels[0])}/task").iterdir())) == 1


def test_each_is_a_process_and_session_with_its_own_environment_folder_and_random_state(
    kernels: tuple[Kernel, Kernel], tmp_path: Path
) -> None:
    for kernel, name in zip(kernels, "ab", strict=True):
        pid, session, group, _ = map(int, kernel.ask(WHO).split())
        assert pid == session == group == kernel.pid
        kernel.ask("import os, random, numpy; x = 1\nos.environ['OWN_2'] = 'x'")
        assert kernel.ask("print(os.environ['OWN'], os.getcwd())") == f"{name} {tmp_path / name}"
        assert kernel.ask("print('OPENBLAS_NUM_THREADS' in os.environ)") == str(
            "OPENBLAS_NUM_THREADS" in os.environ
        )
        kernel.ask("y = globals().get('y', 0) + 1")
    assert [each.ask("print(y)") for each in kernels] == ["1", "1"]
    for chance in ("random.random()", "numpy.random.random()"):
        assert len({each.ask(f"print({chance})") for each in kernels}) == 2
    assert os.environ.get("OWN_2") is None


def test_an_interrupt_reaches_the_running_cell_and_no_other_kernel(kernels: tuple[Kernel, Kernel]) -> None:
    kernel, other = kernels
    waits = "import time\nprint('now', flush=True)\ntime.sleep(600)"
    kernel.client.execute(waits, stop_on_error=False)  # otherwise the next request is aborted too
    until(lambda: kernel.client.get_iopub_msg(timeout=PATIENCE)["content"].get("text", "").startswith("now"))
    kernel.manager.interrupt_kernel()
    until(
        lambda: kernel.client.get_iopub_msg(timeout=PATIENCE)["content"].get("ename") == "KeyboardInterrupt"
    )
    assert kernel.ask("print(1)") == other.ask("print(1)") == "1"


def test_it_ends_on_request_and_runs_its_exit_handlers(
    kernels: tuple[Kernel, Kernel], tmp_path: Path
) -> None:
    kernel, other = kernels
    pid, mark = kernel.pid, tmp_path / "ended"
    kernel.ask(f"import atexit; _ = atexit.register(open, {str(mark)!r}, 'w')")
    kernel.manager.shutdown_kernel()
    assert not is_there(pid)
    assert mark.exists()
    assert other.ask("print(1)") == "1"


def test_a_kernel_that_dies_is_reported_with_its_exit_code(kernels: tuple[Kernel, Kernel]) -> None:
    kernel, other = kernels
    process = kernel.manager.provisioner.process  # type: ignore[union-attr]
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    kernel.client.execute("import os; os._exit(3)")
    assert process.wait(PATIENCE) == process.poll() == 3
    assert not kernel.manager.is_alive()
    killed = other.manager.provisioner.process  # type: ignore[union-attr]
    killed.kill()
    assert killed.wait(PATIENCE) == -signal.SIGKILL
    killed.kill()  # it has ended, so that no other process gets the signal


def test_a_kernel_whose_client_has_gone_is_killed(fork_server: str, tmp_path: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    kernel = start(
        fork_server,
        provisioner.RUN,
        ["-f", str(tmp_path / "k.json")],
        [nothing] * 3,
        environment=os.environ,
        folder=str(tmp_path),
        at_exit=True,
    )
    os.close(nothing)
    pid = kernel.pid
    assert is_there(pid)
    kernel.close()
    until(lambda: not is_there(pid))


def test_none_outlives_the_server(tmp_path: Path) -> None:
    with ForkServer(kernel_process.__name__) as own:  # PRELOAD would import for seconds what no kernel needs
        assert own.wait()
        kernel = Kernel(own.address, tmp_path)
        assert kernel.ask("print(1)") == "1"
    assert not is_there(kernel.pid)
    assert not kernel.manager.is_alive()
    kernel.close()
    assert not own.is_ready


WHERE = "import os\nprint(os.getppid(), os.getcwd(), os.environ['IPYTHONDIR'] != 'mine', sep='\\n')"
SETTINGS = """
import matplotlib, matplotlib.pyplot, pandas, locale, signal, sys, tqdm.auto
options = [each for each in pandas.core.config_init.cf._registered_options]
print({each: pandas.get_option(each) for each in options if each != "display.encoding"})  # upper or lower case
print(dict(matplotlib.rcParams), matplotlib.get_backend(), tqdm.auto.tqdm)
print(locale.getlocale(), signal.getsignal(signal.SIGCHLD), signal.getsignal(signal.SIGINT), sys.path, sys.argv[0])
print(sys.flags, sys.warnoptions, sys.stdin.closed)
"""


@pytest.fixture(scope="module")
def runs(fork_server: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[NotebookRun, NotebookRun]:
    """A notebook that ran in a forked kernel, and in one that Jupyter started."""
    path = written(
        tmp_path_factory.mktemp("runs") / "a.ipynb", "# parameters\nseed = 7", WHERE, SETTINGS, "1 / 0"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(provisioner.ADDRESS, raising=False)
        return run_notebook(path, server=fork_server), run_notebook(path)


def test_a_notebook_runs_as_without_a_server(
    runs: tuple[NotebookRun, NotebookRun],
) -> None:
    [parent, *rest], [me, *same] = (
        code_cells(each.notebook)[1].outputs[0].text.splitlines() for each in runs
    )
    assert (rest, int(me)) == (same, os.getpid())
    assert parent != me
    forked, alone = (each.error for each in runs)
    assert forked is not None
    assert alone is not None
    assert (forked.message, forked.number) == (alone.message, alone.number)
    assert forked.source == "1 / 0"


def test_libraries_imported_before_the_fork_are_configured_as_in_a_new_kernel(
    runs: tuple[NotebookRun, NotebookRun],
) -> None:
    forked, alone = (code_cells(each.notebook)[2].outputs[0].text.splitlines() for each in runs)
    assert len(forked) == 4
    assert forked == alone


def test_without_a_server_that_was_killed_jupyter_starts_the_kernel(tmp_path: Path) -> None:
    path = written(tmp_path / "a.ipynb", WHO)
    left = tmp_path / "nowhere"
    left.write_text("", encoding="utf-8")  # socket of a server that was killed
    run = run_notebook(path, server=str(left))
    assert run.error is None
    assert code_cells(run.notebook)[-1].outputs[0].text.split()[3] == str(os.getpid())
