"""Cost of an operation among N stored items and among ten times as many: nothing may grow faster than its load.

A page or a single item costs what it holds, so at most PAGE times as much; a count or a scan at most SCAN times.
`measure` compares CPU time; `count` counts work that does not depend on the machine: steps of Python and of SQLite,
and bytes in memory. Child process: `python -m labkit.bench.scaling CORE`.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from types import FrameType
from typing import Any

from labkit.bench import scaling_rows, scaling_stores
from labkit.bench.control import Answer, BenchError, Child, prepare, run, serve_commands
from labkit.bench.measures import Result
from labkit.bench.stage import PAGE, Row, Stage, filled
from labkit.storage.database import driver

CLOCK = 1e-9  # seconds: the clock of CPU time may stand still for a short call
NAME = "scaling"
TITLE = "operations among a number of stored items and among ten times as many, each beside the smaller one"
SIZE, TIMES = 1_000, 10
SECONDS, LEAST = 0.1, 5  # of CPU time, and calls
# Items of which a lab has no more, by what stores them; a timer of one more is set meanwhile, ten items are one fault.
LARGEST = {
    "timers": 9_990,
    "faults": 10_000,
    **dict.fromkeys(("series", "series_of_another", "lines"), 50_000),
}
FEW = 100  # steps that make no difference
LITTLE = 8_192  # bytes that make no difference: other objects of the process come and go meanwhile


def rows_by_fill() -> dict[str, list[Row]]:
    """Return all rows by the name of their filling. Raises BenchError for two rows of one name."""
    found: defaultdict[str, list[Row]] = defaultdict(list)
    names: set[str] = set()
    for row in (*scaling_rows.ROWS, *scaling_stores.ROWS):
        if row.name in names:
            raise BenchError(f"two rows have the name {row.name!r}")
        names.add(row.name)
        found[row.fill.__name__].append(row)
    return dict(found)


# ---- counts


class StepCounter:
    """Counter of the steps of Python's interpreter and of SQLite's."""

    def __init__(self, stage: Stage) -> None:
        self._raw = stage.platform.context.database.read_now(driver)
        self.python = self.sqlite = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the steps of all functions that begin or resume within the block, also in threads that it starts."""
        before, of_threads = sys.gettrace(), threading.gettrace()
        self._raw.set_progress_handler(self._step, 1)
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(before)
            threading.settrace(of_threads)
            self._raw.set_progress_handler(None, 0)

    def _step(self) -> int:
        self.sqlite += 1
        return 0

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code is StepCounter._step.__code__:
            return None
        if event == "call":
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
        elif event == "opcode":
            self.python += 1
        return self._trace


async def count(row: Row, stage: Stage) -> dict[str, int]:
    """Return the steps of Python and of SQLite that a call takes, and the bytes that it takes at most.

    The bytes are the less of two calls, since a table that grows during one of them is no growth by load.
    """
    await row.call(stage)
    counter = StepCounter(stage)
    gc.collect()
    gc.disable()
    try:
        with counter.counting():
            await row.call(stage)
        tracemalloc.start(1)
        try:
            await row.call(stage)
            taken = [await _peak(row, stage) for _ in range(2)]
        finally:
            tracemalloc.stop()
    finally:
        gc.enable()
    return {"python": counter.python, "sqlite": counter.sqlite, "bytes": min(taken)}


async def _peak(row: Row, stage: Stage) -> int:
    """Return the bytes that a call takes at most, while they are traced."""
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    await row.call(stage)
    return tracemalloc.get_traced_memory()[1] - before


def too_much(row: Row, few: Mapping[str, int], many: Mapping[str, int]) -> dict[str, float]:
    """Return the counts that grow by more than the row's limit, each with the times that it has grown."""
    grown = {}
    for name, counted in many.items():
        if name == "bytes" and row.most > PAGE:
            continue
        times = counted / max(few[name], LITTLE if name == "bytes" else FEW)
        if times > row.most:
            grown[name] = round(times, 2)
    return grown


# ---- times


def chosen(names: Sequence[str]) -> dict[str, list[Row]]:
    """Return the rows to measure, by the function that stores their items.

    names: parts of names of rows; all rows without any. Raises BenchError for a part that no row has.
    """
    by_fill = rows_by_fill()
    all_names = [row.name for rows in by_fill.values() for row in rows]
    if unknown := [each for each in names if not any(each in name for name in all_names)]:
        raise BenchError(
            f"no row of {NAME} has {unknown[0]!r} in its name; expected a part of: {'; '.join(all_names)}"
        )
    found = {
        fill: [row for row in rows if not names or any(each in row.name for each in names)]
        for fill, rows in by_fill.items()
    }
    return {fill: rows for fill, rows in found.items() if rows}


def measure(size: int, names: Sequence[str], progress: Callable[[str], object]) -> Iterator[Result]:
    """Measure each chosen row among `size` items and among ten times as many, as far as so many can be stored."""
    by_fill = chosen(names)
    count, done = sum(map(len, by_fill.values())), 0
    with (
        Child("labkit.bench.scaling", core=0) as small,
        Child("labkit.bench.scaling", core=0) as large,
    ):
        for fill, rows in by_fill.items():
            smaller = min(size, LARGEST.get(fill, size * TIMES) // TIMES)
            progress(f"{NAME}: {done} of {count} rows, stores {fill}")
            small.ask("fill", fill=fill, size=smaller)
            large.ask("fill", fill=fill, size=smaller * TIMES)
            for row in rows:
                progress(f"{NAME}: {done} of {count} rows, {row.name}")
                few, many = (each.ask("measure", row=row.name)["micros"] for each in (small, large))
                yield _result(row, smaller, few, many)
                done += 1


def _result(row: Row, size: int, few: float, many: float) -> Result:
    required = 1 / row.most
    title = f"{row.name}, among {size * TIMES:,} items, beside: among {size:,}"
    details = {"times": many / few}
    return Result.judge(NAME, title, "µs of CPU", many, few, required, details)


async def micros(row: Row, stage: Stage) -> float:
    """Return the CPU microseconds of a call: the fastest, after a tenth for which the clock may have stood still."""
    await row.call(stage)
    spent: list[float] = []
    gc.collect()
    gc.disable()
    try:
        while len(spent) < LEAST or sum(spent) < SECONDS:
            began = time.process_time()
            await row.call(stage)
            spent.append(time.process_time() - began)
    finally:
        gc.enable()
    return max(sorted(spent)[len(spent) // 10], CLOCK) * 1e6


async def serve() -> None:
    """Store the items of a filling, and measure a row among them, on command until standard input ends."""
    by_name = {row.name: row for rows in rows_by_fill().values() for row in rows}
    fills = {row.fill.__name__: row.fill for row in by_name.values()}
    async with AsyncExitStack() as stack:
        stage: Stage

        async def fill(fill: str, size: int) -> Answer:
            nonlocal stage
            await stack.aclose()
            stage = await stack.enter_async_context(filled(fills[fill], size))
            return {}

        async def measure(row: str) -> Answer:
            return {"micros": await micros(by_name[row], stage)}

        await serve_commands({}, {"fill": fill, "measure": measure})


def main() -> None:
    """Run the child process with the arguments of the command line."""
    prepare(int(sys.argv[1]))
    run(serve())


if __name__ == "__main__":
    main()
