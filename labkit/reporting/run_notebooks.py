"""Running the notebooks of a report, a few at a time, while its checks are played."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

from nbformat import NotebookNode

from labkit.core.errors import LabkitError
from labkit.reporting import html
from labkit.reporting.kernel_server import KernelServer
from labkit.reporting.parameters import is_parameters
from labkit.reporting.run_notebook import NotebookRun, code_cells, read, run_notebook

WORKERS = 3  # notebooks at once: one waits now and then for its kernel, its lab or the clock on the wall
MEANWHILE = 2  # ... while checks are played: the rest keeps this process busy, and would pile up
PLAYED = "played"  # the parameter that gets the file of the verdicts

Planned = tuple[Path, dict[str, Any]]


class Slots:
    """Who may run. A notebook needs no verdicts until a cell asks for them by the parameter `played`.

    It waits there until the checks are played, and another one runs meanwhile, so that no core idles while the last
    checks are played.
    """

    def __init__(self) -> None:
        self._free = Semaphore(MEANWHILE)
        self._played = Event()
        self._stopped = Event()
        self.under_way: list[str] = []  # who runs

    @contextmanager
    def one(self, name: str) -> Iterator[None]:
        """Run, as soon as there is room."""
        with self._free:
            self.under_way.append(name)
            try:
                yield
            finally:
                self.under_way.remove(name)

    def before(self, cell: NotebookNode, name: str) -> None:
        """Wait, where the cell needs what is not there yet. Raises LabkitError once the run is stopped."""
        if PLAYED in cell.source and not is_parameters(cell) and not self._played.is_set():
            self.under_way.remove(name)
            self._free.release()
            self._played.wait()
            self._free.acquire()
            self.under_way.append(name)
        if self._stopped.is_set():
            raise LabkitError("stopped")

    def played(self) -> None:
        """The verdicts are there."""
        self._free.release(WORKERS - MEANWHILE)
        self._played.set()

    def stop(self) -> None:
        """Whoever runs or waits comes to its end before the next cell."""
        self._stopped.set()
        self._played.set()


def run_notebooks(
    planned: Sequence[Planned],
    output: Path,
    play: Callable[[Callable[[object], object]], object],
    checks: int,
    server: KernelServer | None = None,
) -> tuple[NotebookRun, ...]:
    """Play the checks and run the notebooks, side by side, with a progress bar.

    planned: each with its parameters; output: where each is saved as it was executed, and as a page; play: plays the
    checks and writes their verdicts where the notebooks read them; calls what it gets after each of so many checks;
    server: forks the kernels. What raises stops the rest.
    """
    from tqdm import tqdm

    slots = Slots()
    # papermill adds a cell with what was given
    total = checks + sum(len(code_cells(read(path))) + bool(own) for path, own in planned)
    with (
        tqdm(total=total, unit="step", desc="report", mininterval=_often()) as bar,
        ThreadPoolExecutor(len(planned)) as pool,
    ):

        def one(path: Path, parameters: dict[str, Any]) -> NotebookRun:
            address = server.address if server is not None and server.wait() else ""
            with slots.one(path.stem):
                ran = run_notebook(
                    path,
                    output / path.name,
                    parameters,
                    before=lambda cell: slots.before(cell, path.stem),
                    progress=bar.update,
                    server=address,
                )
                (output / f"{ran.name}.html").write_text(html.notebook_page(ran), encoding="utf-8")
            return ran

        def checked(_: object) -> None:
            bar.set_postfix_str(f"checks; {', '.join(sorted(slots.under_way))}", refresh=False)
            bar.update()

        try:
            # the later ones take longer: begun last, one of them would keep the others' cores idle
            running = [pool.submit(one, *each) for each in reversed(planned)]
            play(checked)
            slots.played()
            done = _watch(running, slots, bar)
        except BaseException:
            slots.stop()
            pool.shutdown(cancel_futures=True)
            raise
    return tuple(sorted(done, key=lambda run: run.name))


def _watch(running: Sequence[Future[NotebookRun]], slots: Slots, bar: Any) -> list[NotebookRun]:
    """Wait for all, with the names of those under way beside the bar."""
    left = set(running)
    while left:
        counted = f"{len(running) - len(left)}/{len(running)} notebooks"
        label = "; ".join(filter(None, (counted, ", ".join(sorted(slots.under_way)))))
        if label != bar.postfix:
            bar.set_postfix_str(label)
        finished, left = wait(left, timeout=1, return_when=FIRST_COMPLETED)
        for each in finished:
            each.result()
    bar.set_postfix_str(f"{len(running)}/{len(running)} notebooks")
    return [each.result() for each in running]


def _often() -> float:
    """Seconds between two states of a progress bar: fewer where a log keeps each of them."""
    return 0.5 if sys.stderr.isatty() else 10
