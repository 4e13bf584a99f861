"""Tests in Lua as pytest's items: those of the solutions' folders that the option `labkit_solutions` names."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.core.errors import LabkitError, LabWarning, did_you_mean
from labkit.core.record_lines import visible
from labkit.lab.folder_lab import FolderLab, lab_of_folder
from labkit.script_tests.results import failure_text
from labkit.script_tests.suite import ScriptTest, TestSuite
from labkit.solutions.checking.test_files import test_files
from labkit.testing.coverage import CoverageReport
from labkit.testing.marker import SEED_OPTION

FOLDERS, CONFIG = "labkit_solutions", "labkit_config"
LABS = pytest.StashKey[dict[Path, FolderLab]]()  # of a session, by the solution's folder
SUITES = pytest.StashKey[dict[Path, TestSuite]]()  # the same, for the collection


class ScriptTestFailed(LabkitError):
    """A test in Lua that failed; its text is the whole failure."""


class LuaFile(pytest.File):
    """The collector of a file's tests. suite: of the solution's folder."""

    def __init__(self, *, suite: TestSuite, name: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._suite = suite
        self._name = name

    def collect(self) -> Iterator[LuaItem]:
        for each in self._suite.file(self._name).tests:
            yield LuaItem.from_parent(self, name=visible(each.name), script_test=each)


class LuaItem(pytest.Item):
    """A test in Lua, which runs in a fork of a lab that the session has for the solution."""

    def __init__(self, *, script_test: ScriptTest, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._test = script_test

    def runtest(self) -> None:
        if self._test.pending:
            pytest.skip("pending")
        report = self._coverage()
        before = None if report is None else report.coverages.get(self._test.folder)
        results = self._folder_lab().tests.run([self._test], workers=1, progress=False, coverage=before)
        if report is not None and results.coverage is not None:
            report.coverages[self._test.folder] = results.coverage
        [result] = results
        for text in result.warnings:
            self._warn(text)
        if result.status == "failed":
            raise ScriptTestFailed(failure_text(result))
        if result.status == "pending":
            pytest.skip(result.message or "pending")

    def _folder_lab(self) -> FolderLab:
        labs = self.session.stash.setdefault(LABS, {})
        folder = self._test.folder
        if folder not in labs:
            seed = self.config.getoption(SEED_OPTION)
            config, covers = _config_file(self.config), self._coverage() is not None
            labs[folder] = lab_of_folder(folder, config, 1 if seed is None else seed, covers=covers)
            self.config.add_cleanup(labs[folder].lab.close)
            for text in labs[folder].warnings:
                self._warn(text)
        return labs[folder]

    def _coverage(self) -> CoverageReport | None:
        found: CoverageReport | None = self.config.pluginmanager.get_plugin("labkit-coverage")
        return found

    def _warn(self, text: str) -> None:
        warnings.warn_explicit(text, LabWarning, str(self.path), self._test.line)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, LabkitError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str], int | None, str]:
        return self.path, self._test.line - 1 if self._test.line else None, self.name


def lua_file(file: Path, parent: pytest.Collector) -> LuaFile | None:
    """Return the collector of a test file of a folder that the ini file names; None for any other file.

    Raises CollectError for a folder that is wrong.
    """
    suites = parent.session.stash.setdefault(SUITES, {})
    for folder in _folders(parent.config):
        if not file.is_relative_to(folder) or file not in test_files(folder):
            continue
        try:
            if folder not in suites:
                suites[folder] = TestSuite(folder, lambda: 0.0)
        except LabkitError as error:
            raise parent.CollectError(str(error)) from None
        name = file.relative_to(folder).as_posix()
        return LuaFile.from_parent(parent, path=file, suite=suites[folder], name=name)
    return None


def check_options(config: pytest.Config) -> None:
    """Raise UsageError if a named folder or file does not exist, and warn of a folder without tests."""
    for name, folder in zip(config.getini(FOLDERS), _folders(config), strict=True):
        if not folder.is_dir():
            known = [each.name for each in folder.parent.glob("*") if each.is_dir()]
            similar = did_you_mean(folder.name, known)
            raise pytest.UsageError(f"{FOLDERS}: {name}: no such folder below {config.rootpath}{similar}")
        if not test_files(folder):
            text = f"{FOLDERS}: {name}: has no tests: expected tests/*.lua, *_test.lua or *_spec.lua"
            config.issue_config_time_warning(LabWarning(text), stacklevel=2)
    file = _config_file(config)
    if file is not None and not file.is_file():
        raise pytest.UsageError(f"{CONFIG}: {file}: no such file")


def _folders(config: pytest.Config) -> list[Path]:
    return [(config.rootpath / each).resolve() for each in config.getini(FOLDERS)]


def _config_file(config: pytest.Config) -> Path | None:
    named = config.getini(CONFIG)
    return config.rootpath / named if named else None
