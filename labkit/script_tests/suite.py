"""Tests of a solution's folder: each file is read into a Lua state once, and each test runs in a copy of that state."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from labkit.core.errors import LabError, did_you_mean
from labkit.script_tests.state import Ask, BlockingState, FileModule
from labkit.services.timeseries.service import TEXTS
from labkit.solutions.checking.test_files import STANDARD_MODULES, read_test_file, test_files
from labkit.solutions.folders import folder as folders
from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.lua.errors import LuaError, LuaSyntaxError, innermost
from labkit.solutions.lua.program import Module
from labkit.solutions.lua.syntax import usage

Status = Literal["passed", "failed", "pending"]
LINES = 200  # printed lines of a test that are kept
SERVICE = "Labkit"  # under this name the tables `lab` and `solution` of a test make their calls
PLACED = re.compile(r"[^\n]*?:\d+: |[^\n:]+\.lua: ")
PARTS = ("places", "assertions", "describe", "lab")


class ScriptTest(NamedTuple):
    """A test in a file of a solution's folder. number: its place in the file, from 1; line: 0 if unknown.

    problem: why the file cannot be read; it has one such test then, which fails.
    """

    folder: Path
    file: str
    number: int
    name: str
    line: int
    pending: bool
    problem: str = ""


@dataclass(frozen=True)
class ScriptTestResult:
    """Result of a test. message: what failed, or why it is pending; printed: lines of it.

    errors: of the solution's scripts that failed meanwhile; refused: calls of its scripts that services refused;
    warnings: likely mistakes in calls of the test and of the
    solution's scripts; seconds: real time.
    """

    test: ScriptTest
    status: Status
    message: str = ""
    printed: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


class TestSuite:
    """The tests of a solution's folder, whose files are read once.

    now: lab seconds, the only time that tests see; covers: whether the states count the lines that run. Raises
    SettingsError for a folder that is wrong.
    """

    __test__ = False  # no class of tests for pytest

    def __init__(self, folder: Path, now: Callable[[], float], *, covers: bool = False) -> None:
        self._folder = folder
        self._covers = covers
        self._now = now
        self._files = [each.relative_to(folder).as_posix() for each in test_files(folder)]
        self._modules: list[Module] = [
            FileModule(name, text, f"[labkit]/{name}.lua") for name, text in STANDARD_MODULES.items()
        ]
        self._modules += [
            FileModule(name, source.source, source.file)
            for name, source in folders.read(folder).modules.items()
        ]
        self._modules += [_helper(folder, name) for name in self._files]
        self._loaded: dict[str, TestFile] = {}

    def file(self, name: str) -> TestFile:
        """Return a file, read at its first use. name: its path below the folder."""
        if name not in self._loaded:
            self._loaded[name] = TestFile(self._folder, name, self._modules, self._now, self._covers)
        return self._loaded[name]

    def tests(self) -> list[ScriptTest]:
        """Return all tests, by file and in their order; one that fails for a file that is wrong."""
        return [test for name in self._files for test in self.file(name).tests]


class TestFile:
    """A file with tests, in a Lua state that has read it, for the thread that made it.

    tests: those of the file, or one that fails if it does not compile, or raises an error outside of a test;
    state: None then.
    """

    __test__ = False

    def __init__(
        self,
        folder: Path,
        name: str,
        modules: Iterable[Module],
        now: Callable[[], float],
        covers: bool,
    ) -> None:
        self._printed: list[str] = []
        self.state: BlockingState | None = None
        try:
            state = BlockingState(_outside, write=self._write, now=now, seed=name)
            if covers:
                state.cover()
            self._read(state, read_test_file(folder, name), name, modules)
            listed = state.run("return labkit_listed()", "[labkit]/list.lua")
        except LuaError as error:
            text = _failure(error, name)
            self.tests = [ScriptTest(folder, name, 0, name, _line(text), pending=False, problem=text)]
        else:
            self.state = state
            self.tests = [
                ScriptTest(
                    folder, name, number, each["name"], _line(each["place"]), bool(each.get("pending"))
                )
                for number, each in enumerate(listed or (), 1)
            ]

    def _read(self, state: BlockingState, text: str, name: str, modules: Iterable[Module]) -> None:
        """Have a state read the file. Raises LuaError."""
        sources = [ScriptSource(name, 1, text)]
        for module in modules:
            sources.append(ScriptSource(module.file, 1, module.source))
            try:
                state.add_module(module)
            except LuaSyntaxError as error:  # of another file with tests: for who requires it
                state.add_module(FileModule(module.name, _raising(str(error)), module.file))
        for part in PARTS:
            state.own(part)
        for service in sorted({service for each in sources for service in _services(each)}):
            state.run("labkit_service(name)", "[labkit]/service.lua", ["name"], [service])
        state.run("labkit_service = nil", "[labkit]/service.lua")
        state.run(text, name)
        self._printed.clear()

    def run(self, test: ScriptTest, ask: Ask) -> ScriptTestResult:
        """Run a test, which changes the state: each in a fork of this process. ask: makes its calls."""
        if test.pending:
            return ScriptTestResult(test, "pending")
        if self.state is None or not 0 < test.number <= len(self.tests):
            problem = test.problem or f"{test.file}: has no test {test.number} any more"
            return ScriptTestResult(test, "failed", problem)
        began = time.perf_counter()
        self.state.ask = ask
        found: dict[str, Any]
        try:
            arguments = ["number"], [test.number]
            found = self.state.run("return labkit_run(number)", "[labkit]/run.lua", *arguments)
        except LuaError as error:
            found = {"status": "failed", "message": _failure(error, f"{test.file}:{test.line}")}
        seconds = time.perf_counter() - began
        return ScriptTestResult(
            test, found["status"], found["message"], tuple(self._printed), seconds=seconds
        )

    def _write(self, text: str) -> None:
        if len(self._printed) < LINES:
            self._printed.append(text)


def chosen(tests: Iterable[ScriptTest], words: str | None, without: str | None = None) -> list[ScriptTest]:
    """Return tests whose file or name contains `words` (all if None), and files that cannot be read.

    without: a text that they do not have.
    """

    def has(test: ScriptTest, text: str) -> bool:
        return text.lower() in f"{test.file} {test.name}".lower()

    return [
        each
        for each in tests
        if each.problem or ((not words or has(each, words)) and not (without and has(each, without)))
    ]


def similar(arguments: Any) -> dict[str, str]:
    """Answer a test's question for the end of an error about an unknown name."""
    known = list(arguments["known"] or ())
    return {"value": did_you_mean(arguments["name"], known) or f"; there are: {', '.join(known)}"}


def _outside(service: str, operation: str, given: Any) -> object:
    """Refuse a call that a file makes beside its tests."""
    if (service, operation) == (SERVICE, "similar"):
        return similar(given["arguments"])
    name = f"{service}.{operation}"
    if service == SERVICE:
        arguments = given.get("arguments") or {}
        name = f"{arguments['service']}.{arguments['operation']}" if operation == "call" else operation
    text = f"{name}: belongs into a test, not beside it"
    if service == SERVICE:
        return {"problem": text}
    raise LabError(text)


def _helper(folder: Path, name: str) -> Module:
    """Return a file with tests as a module for others."""
    try:
        text = read_test_file(folder, name)
    except LuaError as error:
        text = _raising(str(error))
    return FileModule(".".join(Path(name).with_suffix("").parts), text, name)


def _raising(text: str) -> str:
    """Return Lua that raises an error."""
    quoted = "".join(f"\\{each:03d}" for each in text.encode("utf-8", "surrogateescape"))
    return f'error("{quoted}", 0)'


def describes_product(folder: Path) -> bool:
    """Return whether a solution's folder has a services/device2.yaml."""
    return "device2" in map(str.lower, folders.read_partly(folder).configuration)


def named(service: str, operation: str, text: str) -> dict[str, str]:
    """Return the arguments of a call with a text alone. Raises LabError where the operation takes none."""
    if (service, operation) not in TEXTS:
        raise LabError(f'{service}.{operation}: arguments must be a table, not "{text}"')
    return {TEXTS[service, operation]: text}


def _services(script: ScriptSource) -> Iterator[str]:
    """Yield the names by which a script may call services: capitalised globals that it does not assign."""
    used = usage(script)
    written = {each.name for each in used.written} | {SERVICE}
    return (
        name for name in used.globals if name[:1].isascii() and name[:1].isupper() and name not in written
    )


def _failure(error: LuaError, place: str) -> str:
    """Return the text of an error that ended a run, with a place in the solution's or the test's own code."""
    text = str(error)
    return text if PLACED.match(text) else f"{innermost(error.traceback) or place}: {text}"


def _line(place: str) -> int:
    """Return the line in `file:line` or `file:line: text`, 0 without one."""
    parts = place.partition(": ")[0].rpartition(":")
    return int(parts[2]) if parts[2].isdecimal() else 0
