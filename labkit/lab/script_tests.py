"""Runs of a solution's tests in Lua, each in a fork of its lab."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from labkit.core.errors import LabError
from labkit.lab.clock import LabClock
from labkit.lab.device import Device, new_device
from labkit.lab.faults import LabFaults
from labkit.lab.futures import Future, fork_lab
from labkit.lab.journal import LabJournal
from labkit.lab.mailbox import LabMailbox
from labkit.lab.runtime import Runtime
from labkit.lab.script_coverage import fork_covered
from labkit.script_tests.coverage import ScriptCoverage
from labkit.script_tests.results import ScriptTestResults
from labkit.script_tests.suite import ScriptTest, ScriptTestResult, chosen, collect, run_test

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labkit.lab.solution import Solution


class TestedLab:
    """The part of a lab that tests in Lua use: clock, journal, mailbox, faults and a few calls."""

    __test__ = False  # no class of tests for pytest

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.clock = LabClock(runtime)
        self.journal = LabJournal(runtime)
        self.mailbox = LabMailbox(runtime)
        self.faults = LabFaults(runtime)

    def settle(self) -> None:
        """Wait as `Lab.settle` does."""
        self._runtime.run(self._runtime.control.lab.settle)

    def restart(self) -> None:
        """Restart the platform as `Lab.restart` does."""
        self._runtime.run(self._runtime.control.lab.restart, 0)

    def device(self, product: str, identity: str) -> Device:
        """Return a device of a product. Raises UnknownError."""
        return new_device(
            self._runtime, self._runtime.run(self._runtime.control.products.get, product), identity
        )

    def service(self, name: str, **functions: Callable[..., object]) -> None:
        """Add a service as `Lab.service` does."""
        self._runtime.run(self._runtime.control.functions.service, name, functions)


def find_tests(runtime: Runtime, solution: str, words: str | None) -> list[ScriptTest]:
    """Return the tests of a solution's folders that have `words` in their name or file. Raises LabError for none."""
    folders = runtime.run(runtime.control.functions.folders, solution)
    found = [test for folder in folders for test in collect(folder)]
    tests = chosen(found, words)
    if not found:
        raise LabError(f"solution {solution!r} has no tests: expected tests/*.lua, *_test.lua or *_spec.lua")
    if not tests:
        raise LabError(f"no test has {words!r} in its name or file; there are {len(found)} tests")
    return tests


def run_tests(
    runtime: Runtime,
    solution: Solution,
    tests: Sequence[ScriptTest],
    *,
    workers: int = 2,
    within: float = 60,
    progress: bool | None = None,
    coverage: bool | ScriptCoverage = False,
) -> ScriptTestResults:
    """Run tests of a solution: see `Solution.test`."""
    run = partial(run_test, TestedLab(runtime), solution)
    calls = [(test, partial(run, test)) for test in tests]
    if coverage is not False:
        covered, found = fork_covered(
            runtime, solution.id, calls, coverage, workers=workers, within=within, progress=progress
        )
        return ScriptTestResults(map(_result, covered), found)
    futures = fork_lab(runtime, calls, workers=workers, within=within, check=False, progress=progress)
    return ScriptTestResults(map(_result, futures))


def _result(future: Future[ScriptTest, ScriptTestResult]) -> ScriptTestResult:
    if future.result is not None:
        return future.result
    return ScriptTestResult(
        future.value, "failed", f"{future.value.file}: {future.error}", seconds=future.seconds
    )
