"""Runs of a solution's tests in Lua, each in a fork of its lab."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.control.solutions import NOT_YET
from labkit.core.errors import LabError
from labkit.core.words import counted
from labkit.lab.futures import Future, fork_lab
from labkit.lab.runtime import Runtime
from labkit.lab.script_bridge import Bridge, TestedLab, refused_calls, script_errors
from labkit.lab.script_coverage import fork_covered
from labkit.lab.services import SolutionCalls
from labkit.script_tests.coverage import ScriptCoverage
from labkit.script_tests.results import ScriptTestResults
from labkit.script_tests.state import BlockingState
from labkit.script_tests.suite import ScriptTest, ScriptTestResult, TestFile, TestSuite, chosen

if TYPE_CHECKING:
    from collections.abc import Sequence


class SolutionTests:
    """The tests of a solution's folders, whose files are read once. covers: whether they count the lines that run."""

    def __init__(self, runtime: Runtime, solution: SolutionCalls, *, covers: bool = False) -> None:
        self._covers = covers
        self._runtime = runtime
        self._solution = solution
        self._lab = TestedLab(runtime)
        self._suites: dict[Path, TestSuite] = {}

    def find(self, words: str | None = None, without: str | None = None) -> list[ScriptTest]:
        """Return the tests that have `words` in their name or file, and not `without`. Raises LabError for none."""
        name = self._solution.id
        folders = self._runtime.run(self._runtime.control.functions.folders, name)
        found = [test for folder in folders for test in self._suite(folder).tests()]
        tests = chosen(found, words, without)
        if not found:
            raise LabError(f"solution {name!r} has no tests: expected tests/*.lua, *_test.lua or *_spec.lua")
        if not tests:
            wanted = f"has {words!r}" if words else f"is without {without!r}"
            raise LabError(f"no test {wanted} in its name or file, of {counted(len(found), 'test')}")
        return tests

    def warnings(self) -> tuple[str, ...]:
        """Return likely mistakes in the solution's folder."""
        info = self._runtime.run(self._runtime.control.solutions.get, self._solution.id)
        found = [
            each for each in info.warnings if not each.startswith(NOT_YET)
        ]  # tests may stub the services
        return tuple(dict.fromkeys([*found, *self._runtime.take_mistakes()]))

    def run(
        self,
        tests: Sequence[ScriptTest],
        *,
        workers: int = 2,
        within: float = 60,
        progress: bool | None = None,
        coverage: ScriptCoverage | None = None,
    ) -> ScriptTestResults:
        """Run tests, each in a fork of the lab: see `Solution.test`. coverage: an earlier one, to which these add."""
        runtime = self._runtime
        calls = [(each, partial(self._run, self._suite(each.folder).file(each.file), each)) for each in tests]
        if self._covers:
            covered, found = fork_covered(
                runtime,
                self._solution.id,
                calls,
                coverage or True,
                workers=workers,
                within=within,
                progress=progress,
            )
            return ScriptTestResults(map(_result, covered), found)
        futures = fork_lab(
            runtime, calls, workers=workers, within=within, check=False, progress=progress, unit="test"
        )
        return ScriptTestResults(map(_result, futures))

    def _suite(self, folder: Path) -> TestSuite:
        if folder not in self._suites:
            self._suites[folder] = TestSuite(folder, lambda: self._lab.clock.time, covers=self._covers)
        return self._suites[folder]

    def _run(
        self, file: TestFile, test: ScriptTest, states: list[BlockingState] | None = None
    ) -> ScriptTestResult:
        """Run a test in this process, a fork. states: list for the state in which it runs."""
        if states is not None and file.state is not None and not test.pending:
            states.append(file.state)
        self._lab.keep_warnings()
        bridge = Bridge(self._lab, self._solution)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about refused calls whose result nobody reads
            result = file.run(test, bridge.ask)
            if result.status == "failed" and not test.problem:
                errors, refused = script_errors(self._solution), refused_calls(self._lab, self._solution)
                result = replace(result, errors=errors, refused=(*bridge.refused, *refused))
        return replace(result, warnings=tuple(dict.fromkeys(bridge.warnings)))


def _result(future: Future[ScriptTest, ScriptTestResult]) -> ScriptTestResult:
    if future.result is not None:
        return future.result
    test = future.value
    return ScriptTestResult(
        test, "failed", f"{test.file}:{test.line}: {future.error}", seconds=future.seconds
    )
