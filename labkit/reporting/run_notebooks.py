"""Execution of the notebooks of a report, a few at a time, concurrently with the report's checks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

from nbformat import NotebookNode

from labkit.conformance.fork_server import ForkServer
from labkit.core.errors import LabkitError
from labkit.reporting import html
from labkit.reporting.parameters import is_parameters
from labkit.reporting.run_notebook import NotebookRun, code_cells, read, run_notebook

WORKERS = 3  # notebooks at once: one waits now and then for its kernel, its lab or the wall clock
WORKERS_DURING_CHECKS = 2  # notebooks at once while checks run, which keep this process busy
VERDICTS_FILE = "verdicts_file"  # the notebooks' parameter that gets the path of the verdicts
CHECKS = "checks"  # the notebooks' parameter that gets the folders of one's own checks

Planned = tuple[Path, dict[str, Any]]  # notebook and its parameters


class NotebookSlots:
    """Limit of the notebooks that run at once, and synchronization with the checks.

    A notebook runs without verdicts until a cell uses the parameter VERDICTS_FILE. There it waits until the checks have
    ended. Another notebook runs meanwhile, so that no core is idle during the last checks.
    """

    def __init__(self) -> None:
        self._free = Semaphore(WORKERS_DURING_CHECKS)
        self._checked = Event()
        self._stopped = Event()
        self.running: list[str] = []  # names of the notebooks

    @contextmanager
    def acquire(self, name: str) -> Iterator[None]:
        """Wait for a slot, and hold it within the block. name: of the notebook."""
        with self._free:
            self.running.append(name)
            try:
                yield
            finally:
                self.running.remove(name)

    def before_cell(self, cell: NotebookNode, name: str) -> None:
        """Wait for the verdicts if the cell uses them. Raises LabkitError after `stop`."""
        if VERDICTS_FILE in cell.source and not is_parameters(cell) and not self._checked.is_set():
            self.running.remove(name)
            self._free.release()
            self._checked.wait()
            self._free.acquire()
            self.running.append(name)
        if self._stopped.is_set():
            raise LabkitError("stopped")

    def checks_ended(self) -> None:
        """Let waiting notebooks continue: the verdicts are written."""
        self._free.release(WORKERS - WORKERS_DURING_CHECKS)
        self._checked.set()

    def stop(self) -> None:
        """End all notebooks, running or waiting, before their next cell."""
        self._stopped.set()
        self._checked.set()


def run_notebooks(
    planned: Sequence[Planned],
    output: Path,
    run_checks: Callable[[Callable[[object], object]], object],
    check_count: int,
    server: ForkServer | None = None,
    ended: Callable[[NotebookRun], object] = lambda run: None,
) -> None:
    """Run the checks and the notebooks concurrently, with a progress bar.

    planned: notebooks with their parameters; output: folder for the executed notebooks and their HTML pages;
    run_checks: runs the checks, calls its argument after each, and writes the verdicts to the file that the notebooks
    read; check_count: number of checks; server: fork server, if any; ended: called with each notebook that has run. An
    exception stops all other work.
    """
    from tqdm import tqdm

    slots = NotebookSlots()
    names = {path.stem for path, _ in planned}
    # papermill adds a cell with the given parameters
    total = check_count + sum(len(code_cells(read(path))) + bool(own) for path, own in planned)
    with (
        tqdm(total=total, unit="step", desc="report", mininterval=_update_interval()) as bar,
        ThreadPoolExecutor(len(planned)) as pool,
    ):

        def run(path: Path, parameters: dict[str, Any]) -> None:
            address = server.address if server is not None and server.wait() else ""
            with slots.acquire(path.stem):
                ran = run_notebook(
                    path,
                    output / path.name,
                    parameters,
                    before=lambda cell: slots.before_cell(cell, path.stem),
                    progress=bar.update,
                    server=address,
                )
                (output / f"{ran.name}.html").write_text(html.notebook_page(ran, names), encoding="utf-8")
            ended(ran)

        def report_check(_: object) -> None:
            bar.set_postfix_str(f"checks; {', '.join(sorted(slots.running))}", refresh=False)
            bar.update()

        try:
            # The later notebooks take longer: one that starts last would run alone, with idle cores beside it.
            running = [pool.submit(run, *each) for each in reversed(planned)]
            run_checks(report_check)
            slots.checks_ended()
            _wait_for_all(running, slots, bar)
        except BaseException:
            slots.stop()
            pool.shutdown(cancel_futures=True)
            raise


def _wait_for_all(running: Sequence[Future[None]], slots: NotebookSlots, bar: Any) -> None:
    """Wait for all notebooks, and show the names of the running ones beside the bar. Raises their exceptions."""
    left = set(running)
    while left:
        counted = f"{len(running) - len(left)}/{len(running)} notebooks"
        label = "; ".join(filter(None, (counted, ", ".join(sorted(slots.running)))))
        if label != bar.postfix:
            bar.set_postfix_str(label)
        elif sys.stderr.isatty():  # a log keeps each drawing
            bar.refresh()
        finished, left = wait(left, timeout=0.5, return_when=FIRST_COMPLETED)
        for each in finished:
            each.result()
    bar.set_postfix_str(f"{len(running)}/{len(running)} notebooks")


def _update_interval() -> float:
    """Return the seconds between two updates of the progress bar: longer in a log, which keeps every update."""
    return 0.5 if sys.stderr.isatty() else 10
