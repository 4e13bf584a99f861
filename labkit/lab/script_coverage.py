"""Measure of the lines of a solution's scripts that run, in forks of its lab."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from labkit.core.code_lines import LineCounts, summed
from labkit.core.errors import LabkitError
from labkit.lab.futures import Future, fork_lab
from labkit.lab.runtime import Runtime
from labkit.script_tests.coverage import ScriptCoverage
from labkit.script_tests.covered_files import no_coverage
from labkit.script_tests.state import BlockingState

V = TypeVar("V")
T = TypeVar("T")


def fork_covered(
    runtime: Runtime,
    solution: str,
    functions: Sequence[tuple[V, Callable[[list[BlockingState]], T]]],
    coverage: ScriptCoverage | bool,
    *,
    workers: int,
    within: float | None,
    progress: bool | None,
) -> tuple[list[Future[V, T]], ScriptCoverage]:
    """Call functions in forks of a lab, as `fork_lab` does; return the futures, and the coverage of a solution's files.

    functions: each with the value that it is for; it gets a list, to which it adds its own states that count lines.
    coverage: an earlier one, to which the result adds; otherwise a further fork runs the solution's set-up anew, since
    modules ran before lines were counted. A function that is ended after `within` adds nothing. Raises SettingsError
    for a folder that is wrong, and as `fork_lab` does.
    """
    calls: list[tuple[V | None, Callable[[], tuple[T | None, LineCounts]]]]
    calls = [(value, partial(_covered, runtime, solution, function)) for value, function in functions]
    if not isinstance(coverage, ScriptCoverage):
        coverage = no_coverage(runtime.run(runtime.control.functions.folders, solution))
        calls.append((None, partial(_covered, runtime, solution, partial(_set_up, runtime, solution))))
    futures = fork_lab(
        runtime, calls, workers=workers, within=within, check=False, progress=progress, unit="test"
    )
    total = summed(each.result[1] for each in futures if each.result is not None)
    own = [
        Future(value, each.result and each.result[0], each.journal, each.error, each.seconds)
        for (value, _), each in zip(functions, futures, strict=False)
    ]
    return own, coverage.plus(total)


def _covered(
    runtime: Runtime, solution: str, run: Callable[[list[BlockingState]], T]
) -> tuple[T, LineCounts]:
    """In a fork: call a function, and return its result, and how often the lines of the solution's files ran."""
    states: list[BlockingState] = []
    functions = runtime.control.functions
    runtime.run(functions.cover, solution)
    result = run(states)
    with suppress(LabkitError):
        runtime.run(runtime.control.lab.settle)  # a state cannot be read while a run is in it
    return result, summed([runtime.run(functions.covered, solution), *(each.covered() for each in states)])


def _set_up(runtime: Runtime, solution: str, _: list[BlockingState]) -> None:
    with suppress(LabkitError):  # the folder has an error by now
        runtime.run(runtime.control.solutions.reload, solution)
