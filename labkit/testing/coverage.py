"""Coverage of solutions by their tests in Lua, summed over a session, also over the processes of pytest-xdist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labkit.core.errors import LabkitError
from labkit.core.files import shown_path
from labkit.script_tests.coverage import ScriptCoverage, decoded, encoded, failure_of
from labkit.script_tests.covered_files import no_coverage
from labkit.testing.marker import COVERAGE_MIN_OPTION, COVERAGE_OPTION

OUTPUT = "labkit_coverage"


class CoverageReport:
    """Plugin that adds up the coverage of each solution, writes its pages, and fails a session with too little.

    coverages: by the solution's folder.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._problems: list[str] = []
        self.coverages: dict[Path, ScriptCoverage] = {}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Add the counts of a process of pytest-xdist."""
        for name, text in getattr(node, "workeroutput", {}).get(OUTPUT, {}).items():
            folder = Path(name)
            if folder not in self.coverages:
                self.coverages[folder] = no_coverage([folder])
            self.coverages[folder] = self.coverages[folder].plus(decoded(text))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand the counts to the main process of pytest-xdist, or write the pages and check the least coverage."""
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[OUTPUT] = {str(folder): encoded(each) for folder, each in self.coverages.items()}
            return
        least = self._config.getoption(COVERAGE_MIN_OPTION) or 0
        for folder, coverage in self.coverages.items():
            problem = failure_of(coverage, least)
            if problem:
                self._problems.append(f"{shown_path(folder)}: {problem}")
        self._write()
        if self._problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _write(self) -> None:
        """Write the pages: of a single solution into the folder of the option, of several into folders below it."""
        if self._config.getoption(COVERAGE_OPTION) is None:
            return
        pages = Path(self._config.getoption(COVERAGE_OPTION))
        names: set[str] = set()
        for folder, coverage in self.coverages.items():
            name = folder.name
            while name.lower() in names:  # of two folders with the same name
                name += "_"
            names.add(name.lower())
            try:
                coverage.write(pages if len(self.coverages) == 1 else pages / name)
            except LabkitError as error:
                self._problems.append(str(error))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print a table for each solution, and what failed."""
        for folder, coverage in self.coverages.items():
            terminalreporter.section(f"coverage of {shown_path(folder)}")
            terminalreporter.write_line(str(coverage))
        for each in self._problems:
            terminalreporter.write_line(each, red=True)
