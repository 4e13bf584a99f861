"""Collection of a solution's tests in Lua, and the run of one of them in its lab."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from labkit.core.errors import LabError
from labkit.script_tests.bridge import Bridge
from labkit.script_tests.files import test_files
from labkit.script_tests.state import Ask, BlockingState
from labkit.solutions import folder as folders
from labkit.solutions.lua.errors import LuaError

if TYPE_CHECKING:
    from labkit.lab.script_tests import TestedLab
    from labkit.lab.solution import Solution

Status = Literal["passed", "failed", "pending"]
LONGEST = 2 * 1024 * 1024  # bytes of a test file
FAILED = 500  # the least status of a run that failed
LINES = 200  # printed lines of a test that are kept


class ScriptTest(NamedTuple):
    """A test in a file of a solution's folder. number: its place in the file, from 1; line: 0 if unknown."""

    folder: Path
    file: str
    number: int
    name: str
    line: int
    pending: bool


@dataclass(frozen=True)
class ScriptTestResult:
    """Result of a test. message: what failed, or why it is pending; printed: lines of it.

    errors: of the solution's scripts that failed meanwhile; seconds: real time.
    """

    test: ScriptTest
    status: Status
    message: str = ""
    printed: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    seconds: float = 0.0


def collect(folder: Path) -> list[ScriptTest]:
    """Return the tests of a solution's folder, by file and in their order. Raises LabError for a file that is wrong."""
    return [test for file in test_files(folder) for test in collect_file(folder, file)]


def collect_file(folder: Path, file: Path) -> list[ScriptTest]:
    """Return the tests of one file. Raises LabError if it does not compile, or raises an error outside of a test."""
    name = file.relative_to(folder).as_posix()
    try:
        state = _state(_refused, [], lambda: 0.0, folder, file)
        listed = state.run("return labkit_listed()", "[labkit]/list.lua")
    except LuaError as error:
        raise LabError(f"{folder}: {error}") from None
    return [
        ScriptTest(folder, name, number, each["name"], _line(each["place"]), bool(each.get("pending")))
        for number, each in enumerate(listed or (), 1)
    ]


def run_test(
    lab: TestedLab, solution: Solution, test: ScriptTest, covered: list[BlockingState] | None = None
) -> ScriptTestResult:
    """Run a test in a lab of its own, which it changes. covered: list for the test's state, which counts lines then."""
    if test.pending:
        return ScriptTestResult(test, "pending")
    printed: list[str] = []
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of handles are for cells
        try:
            ask = Bridge(lab, solution).ask
            state = _state(
                ask, printed, lambda: lab.clock.time, test.folder, test.folder / test.file, covered
            )
            found: dict[str, Any] = state.run(
                "return labkit_run(number)", "[labkit]/run.lua", ["number"], [test.number]
            )
        except LuaError as error:
            text = f"{error}\n{error.traceback}".replace(
                " (guard.script_cpu)", ""
            )  # which is for the platform's scripts
            found = {"status": "failed", "message": text.rstrip()}
        errors = () if found["status"] != "failed" else _script_errors(solution)
    seconds = time.perf_counter() - began
    return ScriptTestResult(test, found["status"], found["message"], tuple(printed), errors, seconds)


def _script_errors(solution: Solution) -> tuple[str, ...]:
    """Return the errors of a solution's scripts that failed, oldest first."""
    logs = solution.logs
    failed = logs[(logs.level == "run") & (logs.status >= FAILED)]
    return tuple(f"{run}: {text}" for run, text in zip(failed.run, failed.text, strict=True))


def _state(
    ask: Ask,
    printed: list[str],
    now: Callable[[], float],
    folder: Path,
    file: Path,
    covered: list[BlockingState] | None = None,
) -> BlockingState:
    """Return a state that has read a test file. Raises LuaError."""

    def write(text: str) -> None:
        if len(printed) < LINES:
            printed.append(text)

    name = file.relative_to(folder).as_posix()
    state = BlockingState(ask, write=write, now=now, seed=name)
    if covered is not None:
        state.cover()
        covered.append(state)
    for module, source in folders.read(folder).modules.items():
        state.add_module(module, source.source, source.file)
    for helper in test_files(folder):
        path = helper.relative_to(folder)
        state.add_module(
            ".".join(path.with_suffix("").parts), _text(helper, path.as_posix()), path.as_posix()
        )
    for part in ("assertions", "describe", "lab"):
        state.own(part)
    state.run(_text(file, name), name)
    return state


def _text(file: Path, name: str) -> str:
    try:
        data = file.read_bytes()
        if len(data) > LONGEST:
            raise LuaError(f"{name}: has {len(data)} bytes, more than {LONGEST}")
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise LuaError(f"{name}: cannot be read: {error}") from None


def _refused(service: str, operation: str, arguments: Any) -> object:
    raise LabError(f"{service}.{operation}: belongs into a test, not beside it")


def _line(place: str) -> int:
    line = place.rpartition(":")[2]
    return int(line) if line.isdecimal() else 0


def chosen(tests: Iterable[ScriptTest], words: str | None) -> list[ScriptTest]:
    """Return the tests whose file and name have a text in them, or all without one."""
    return [each for each in tests if not words or words.lower() in f"{each.file} {each.name}".lower()]
