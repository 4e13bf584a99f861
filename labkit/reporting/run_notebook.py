"""Execution of one notebook, with validated parameters and a new kernel. It is saved also if a cell fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbformat import NotebookNode

from labkit.core.errors import LabkitError
from labkit.core.files import temporary_prefix
from labkit.reporting.parameters import check_values, declared

PATIENCE = 300  # seconds of real time that one cell may take
WIDGET = "application/vnd.jupyter.widget-view+json"
ERROR_MARKER = "papermill-error-cell-tag"


class NotebookError(LabkitError):
    """A file is missing, or is not a notebook."""


@dataclass(frozen=True, slots=True)
class CellError:
    """The error of a cell. number: as in `In [number]`; source: of the cell; traceback: plain text."""

    number: int
    source: str
    message: str
    traceback: str = ""

    def __str__(self) -> str:
        source = "\n".join(f"    {line}" for line in self.source.splitlines())
        return f"cell {self.number}: {self.message}\n{source}"


@dataclass(frozen=True, slots=True)
class NotebookRun:
    """Result of running a notebook. notebook: the executed notebook with its outputs; error: None if no cell raised."""

    path: Path
    notebook: NotebookNode
    error: CellError | None = None

    @property
    def name(self) -> str:
        """The file's name without its suffix: `90_conformance`."""
        return self.path.stem

    @property
    def title(self) -> str:
        """The notebook's first heading, or its name if it has none."""
        lines = (
            line
            for cell in self.notebook.cells
            if cell.cell_type == "markdown"
            for line in cell.source.splitlines()
        )
        return next((line.removeprefix("# ").strip() for line in lines if line.startswith("# ")), self.name)


def read(path: Path) -> NotebookNode:
    """Return the notebook in a file. Raises NotebookError if the file is missing or not a notebook."""
    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)
    except OSError as error:
        raise NotebookError(f"{path}: {error.strerror}") from error
    except Exception as error:  # nbformat raises many kinds of exceptions for an invalid file
        raise NotebookError(f"{path}: is no notebook") from error
    return notebook


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the cells that are executed, in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def run_notebook(
    path: Path,
    output: Path | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    before: Callable[[NotebookNode], object] = lambda cell: None,
    progress: Callable[[], object] = lambda: None,
    server: str = "",
) -> NotebookRun:
    """Run a notebook with papermill, in its own folder and in a kernel of this interpreter.

    output: path for the executed notebook, which is saved also if a cell raises; before: called with each cell before
    it runs, may wait or raise; progress: called after each cell; server: address of a fork server, if any, which
    forks a kernel faster than a new one starts. Raises ParameterError, before anything runs, for a parameter that is
    unknown or has a wrong type.
    """
    notebook = read(path)
    given = check_values(parameters or {}, declared(notebook, path.name), path.name)
    with TemporaryDirectory(prefix=temporary_prefix(), ignore_cleanup_errors=True) as folder:
        saved = Path(folder) / "executed.ipynb"
        with ThreadPoolExecutor(
            1
        ) as own:  # Jupyter needs an event loop, and the caller's thread may run another
            error = own.submit(_execute, path, saved, given, before, progress, Path(folder), server).result()
        executed = _without_papermill(read(saved))
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(executed, output)
    return NotebookRun(path, executed, error)


def _execute(
    path: Path,
    saved: Path,
    parameters: dict[str, Any],
    before: Callable[[NotebookNode], object],
    progress: Callable[[], object],
    folder: Path,
    server: str,
) -> CellError | None:
    from jupyter_core.utils import ensure_event_loop
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill import PapermillExecutionError, execute_notebook
    from papermill.exceptions import strip_color
    from traitlets.config import Config

    from labkit.reporting import engine
    from labkit.reporting.kernel import NAME, Kernel, log

    started: list[str] = []  # the source of each cell that began

    def begun(cell: NotebookNode, **_: object) -> None:
        before(cell)
        started.append(cell.source)

    try:
        execute_notebook(
            str(path.resolve()).replace("{", "{{").replace("}", "}}"),  # papermill formats the path
            str(saved),
            parameters,
            engine_name=engine.NAME,
            kernel_name=NAME,
            language="python",
            progress_bar=False,
            execution_timeout=PATIENCE,
            kernel_manager_class=Kernel,
            coalesce_streams=True,  # otherwise printed text is split at random positions
            config=Config(Kernel=Config(folder=str(folder), server=server)),
            # Not papermill's `cwd`, which changes the folder of this process: two notebooks may run at once.
            resources={"metadata": {"path": str(path.parent.resolve())}},
            on_cell_execute=begun,
            on_cell_executed=lambda **_: progress(),
        )
    except PapermillExecutionError as raised:
        trace = strip_color("\n".join(raised.traceback))
        return CellError(raised.exec_count, raised.source, f"{raised.ename}: {raised.evalue}", trace)
    except DeadKernelError:
        return CellError(
            len(started), started[-1], "the kernel died", log(folder).read_text(errors="replace")
        )
    except CellTimeoutError:
        return CellError(len(started), started[-1], f"took longer than {PATIENCE} s")
    finally:
        ensure_event_loop().close()  # Jupyter has created it for this thread, and does not close it
    return None


def _without_papermill(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook without papermill's additions (times, paths, cells that repeat the error) and without widgets.

    A widget does not work in a stored page, so that only the picture of a live view is kept.
    """
    notebook.cells = [cell for cell in notebook.cells if ERROR_MARKER not in cell.metadata.get("tags", [])]
    for part in (notebook, *notebook.cells):
        part.metadata.pop("papermill", None)
        part.metadata.pop("execution", None)
    notebook.metadata.pop("widgets", None)
    for cell in code_cells(notebook):
        for output in cell.outputs:
            output.get("data", {}).pop(WIDGET, None)
    return notebook
