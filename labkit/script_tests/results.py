"""Results of a solution's tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

from labkit.core.extras import needs
from labkit.core.record_lines import visible
from labkit.core.words import counted
from labkit.script_tests.coverage import ScriptCoverage
from labkit.script_tests.suite import ScriptTestResult

if TYPE_CHECKING:
    import pandas

SHOWN = 10  # last lines of a failed test


class ScriptTestResults(Sequence[ScriptTestResult]):
    """Results of a solution's tests, by file and in their order. As text: failures, warnings, and numbers.

    coverage: of the solution's lines by the tests; None if it was not asked for.
    """

    def __init__(self, results: Iterable[ScriptTestResult], coverage: ScriptCoverage | None = None) -> None:
        self._results = tuple(results)
        self.coverage = coverage

    @property
    def failed(self) -> list[ScriptTestResult]:
        """Results of the tests that failed."""
        return [each for each in self._results if each.status == "failed"]

    @property
    def warnings(self) -> list[str]:
        """Likely mistakes in calls of the tests and of the solution's scripts, each once."""
        return list(dict.fromkeys(text for each in self._results for text in each.warnings))

    def frame(self) -> pandas.DataFrame:
        """Return a DataFrame with one row per test: file, line, name, status, message, warnings and real seconds."""
        with needs("tables"):
            import pandas

        rows = [
            (
                *(each.test.file, each.test.line, each.test.name, each.status, each.message),
                *("\n".join(each.warnings), each.seconds),
            )
            for each in self._results
        ]
        columns = ["file", "line", "name", "status", "message", "warnings", "seconds"]
        return pandas.DataFrame(rows, columns=columns)

    @overload
    def __getitem__(self, index: int) -> ScriptTestResult: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ScriptTestResult]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._results[index]

    def __len__(self) -> int:
        return len(self._results)

    def __repr__(self) -> str:
        warnings = [f"warning: {each}" for each in self.warnings]
        return "\n".join([*(failure_text(each) for each in self.failed), *warnings, self.summary])

    @property
    def summary(self) -> str:
        """A line with the number of tests by status, and of warnings."""
        counts = Counter(each.status for each in self._results)
        parts = [f"{counts[each]} {each}" for each in ("passed", "failed", "pending") if counts[each]]
        if count := len(self.warnings):
            parts.append(counted(count, "warning"))
        return ", ".join(parts)


def failure_text(result: ScriptTestResult) -> str:
    """Return a failed test as text: its name, what failed, and the last lines that it printed."""
    lines = [f"FAILED {result.test.name}", *result.message.splitlines()]
    lines += [f"printed: {each}" for each in result.printed[-SHOWN:]]
    lines += [f"a script failed: {each}" for each in result.errors[-SHOWN:]]
    lines += [f"a call was refused: {each}" for each in result.refused[-SHOWN:]]
    return "\n    ".join(map(visible, lines)) + "\n"


def plain_results(results: ScriptTestResults) -> dict[str, Any]:
    """Return results as a dict for JSON: tests, each with its fields, and the coverage if it was measured."""
    tests = [
        {
            "file": each.test.file,
            "line": each.test.line,
            "name": each.test.name,
            "status": each.status,
            "message": each.message,
            "printed": list(each.printed),
            "errors": list(each.errors),
            "refused": list(each.refused),
            "warnings": list(each.warnings),
            "seconds": each.seconds,
        }
        for each in results
    ]
    return {
        "tests": tests,
        **({"coverage": results.coverage.plain()} if results.coverage is not None else {}),
    }
