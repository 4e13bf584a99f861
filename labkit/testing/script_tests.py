"""Tests in Lua as pytest's items: those of the solutions' folders that the option `labkit_solutions` names."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.core.errors import LabkitError, LabWarning
from labkit.lab.folder_lab import lab_of_folder
from labkit.lab.lab import Lab
from labkit.lab.solution import Solution
from labkit.script_tests.files import test_files
from labkit.script_tests.results import failure_text
from labkit.script_tests.suite import ScriptTest, collect_file
from labkit.testing.coverage import CoverageReport
from labkit.testing.marker import SEED_OPTION

FOLDERS, CONFIG = "labkit_solutions", "labkit_config"
LABS = pytest.StashKey[dict[Path, tuple[Lab, Solution]]]()  # of a session, by the solution's folder


class ScriptTestFailed(LabkitError):
    """A test in Lua that failed; its text is the whole failure."""


class LuaFile(pytest.File):
    """The collector of a file's tests. folder: of the solution."""

    def __init__(self, *, folder: Path, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.folder = folder

    def collect(self) -> Iterator[LuaItem]:
        try:
            tests = collect_file(self.folder, self.path)
        except LabkitError as error:
            raise self.CollectError(str(error)) from None
        for each in tests:
            yield LuaItem.from_parent(self, name=each.name, script_test=each)


class LuaItem(pytest.Item):
    """A test in Lua, which runs in a fork of a lab that the session has for the solution."""

    def __init__(self, *, script_test: ScriptTest, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._test = script_test

    def runtest(self) -> None:
        if self._test.pending:
            pytest.skip("pending")
        report: CoverageReport | None = self.config.pluginmanager.get_plugin("labkit-coverage")
        before = False if report is None else report.coverages.get(self._test.folder, True)
        results = self._solution().test([self._test], workers=1, progress=False, coverage=before)
        if report is not None and results.coverage is not None:
            report.coverages[self._test.folder] = results.coverage
        [result] = results
        if result.status == "failed":
            raise ScriptTestFailed(failure_text(result))
        if result.status == "pending":
            pytest.skip(result.message or "pending")

    def _solution(self) -> Solution:
        labs = self.session.stash.setdefault(LABS, {})
        folder = self._test.folder
        if folder not in labs:
            seed = self.config.getoption(SEED_OPTION)
            named = self.config.getini(CONFIG)
            config = self.config.rootpath / named if named else None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LabWarning)  # `labkit check` is for these
                labs[folder] = lab_of_folder(folder, config, 1 if seed is None else seed)
            self.config.add_cleanup(labs[folder][0].close)
        return labs[folder][1]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, LabkitError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str], int | None, str]:
        return self.path, self._test.line - 1 if self._test.line else None, self._test.name


def lua_file(file: Path, parent: pytest.Collector) -> LuaFile | None:
    """Return the collector of a test file of a folder that the ini file names; None for any other file."""
    for name in parent.config.getini(FOLDERS):
        folder = (parent.config.rootpath / name).resolve()
        if file.is_relative_to(folder) and file in test_files(folder):
            return LuaFile.from_parent(parent, path=file, folder=folder)
    return None
