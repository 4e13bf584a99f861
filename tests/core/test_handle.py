"""Tracebacks of handles outside of notebooks: the caller's frames, at most one of labkit, and the message."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from labkit import ArgumentError, Lab, LabError, LabWarning, UnknownError
from labkit.core.handle import Handle, short_trace, warn
from tests import plugins
from tests.cases import cases

PACKAGE = str(Path(__file__).parents[2] / "labkit")

SCRIPT = """\
from labkit import Lab

def helper(lab):
    lab.sql("select * from datapint")

with Lab(seed=1) as lab:
    helper(lab)
"""
DOCTEST = '''\
"""
>>> from labkit import Lab
>>> lab = Lab(seed=1)
>>> lab.clock.advance(minute=1)
>>> lab.close()
"""
'''
TEST = """\
from labkit import Lab

def test_a_mistake():
    with Lab(seed=1) as lab:
        lab.solution("acme").call("Usr")
"""


def output(folder: Path, text: str, *command: str, debug: str = "") -> str:
    """Return what a Python process with this file prints."""
    file = folder / "test_mistake.py"
    file.write_text(text)
    environment = {**os.environ, **plugins.ENVIRONMENT, "LABKIT_DEBUG": debug}
    environment.pop("PYTEST_ADDOPTS", None)
    ended = subprocess.run(
        [sys.executable, *command, str(file)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.stdout + ended.stderr


def files(printed: str) -> list[str]:
    """Return the files of the frames in a traceback."""
    return [line.split('"')[1] for line in printed.splitlines() if line.startswith('  File "')]


class TestPlainPython:
    def test_shows_the_callers_frames_and_one_of_labkit(self, tmp_path: Path) -> None:
        printed = output(tmp_path, SCRIPT)
        shown = files(printed)
        assert [each.startswith(PACKAGE) for each in shown] == [False, False, True]
        assert printed.count("Traceback") == 1
        assert len(printed.splitlines()) <= 12  # with the lines of carets
        assert "in helper" in printed
        assert printed.splitlines()[-1].startswith(
            "labkit.core.errors.UnknownError: sql: no table 'datapint'"
        )

    def test_shows_all_with_labkit_debug(self, tmp_path: Path) -> None:
        printed = output(tmp_path, SCRIPT, debug="1")
        assert sum(each.startswith(PACKAGE) for each in files(printed)) > 3
        assert "The above exception was the direct cause" in printed


class TestDoctest:
    def test_shows_one_frame_of_labkit(self, tmp_path: Path) -> None:
        printed = output(tmp_path, DOCTEST, "-m", "doctest")
        assert printed.count(PACKAGE) == 1
        assert (
            "no argument 'minute', there are: seconds, minutes, hours, days; did you mean minutes?" in printed
        )


class TestPytest:
    def test_shows_the_test_alone(self, tmp_path: Path) -> None:
        printed = output(tmp_path, TEST, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull)
        assert "ArgumentError: " in printed
        assert PACKAGE not in printed.replace("labkit.core", "")
        assert "core/handle.py" not in printed

    def test_shows_all_with_labkit_debug(self, tmp_path: Path) -> None:
        options = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull)
        assert "core/handle.py" in output(tmp_path, TEST, *options, debug="1")


class Shelf(Handle):
    """A handle for the tests below."""

    def __init__(self, size: int = 1) -> None:
        self.size = size

    def put(self, book: str, *, shelf: int = 0) -> str:
        return book

    def each(self, function: Any) -> None:
        function()

    def broken(self) -> None:
        len(1)  # type: ignore[arg-type]


def untyped(**arguments: Any) -> Any:
    """Return a shelf whose calls no type checker checks."""
    return Shelf(**arguments)


def frames(error: BaseException) -> list[str]:
    """Return the functions in a traceback."""
    found, trace = [], error.__traceback__
    while trace is not None:
        found.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    return found


class TestHandles:
    @cases(
        ("call", "text"),
        [
            (lambda: untyped(sise=1), "Shelf: no argument 'sise', there are: size; did you mean size?"),
            (
                lambda: untyped().put("a", shelv=1),
                "put: no argument 'shelv', there are: book, shelf; did you mean shelf?",
            ),
            (
                lambda: untyped().put(),
                "missing 1 required positional argument: 'book'; its arguments are: book, shelf",
            ),
            (
                lambda: untyped().put("a", 1, 2),
                "put: 3 values without a name; its arguments are: book, shelf",
            ),
        ],
    )
    def test_arguments_that_do_not_fit_are_named(self, call: Any, text: str) -> None:
        with pytest.raises(ArgumentError) as raised:
            call()
        assert text in str(raised.value)
        assert isinstance(raised.value, TypeError)

    def test_properties_and_class_methods_are_short_too(self) -> None:
        with Lab(seed=1) as lab:
            fault = lab.faults.add("POST /*", status=503)
            lab.faults.clear()
            with pytest.raises(UnknownError) as raised:
                fault.hits  # noqa: B018 - the property raises
        assert frames(raised.value)[1:] == ["call"]
        assert inspect.unwrap(Lab.resumed.__func__) is not Lab.resumed.__func__  # type: ignore[attr-defined]

    def test_a_type_error_of_the_code_itself_stays(self) -> None:
        with pytest.raises(TypeError, match="object of type 'int' has no len") as raised:
            Shelf().broken()
        assert frames(raised.value)[-1] == "broken"

    def test_frames_of_a_callers_function_stay(self) -> None:
        def inner() -> None:
            raise LabError("mine")

        with pytest.raises(LabError) as raised:
            Shelf().each(inner)
        assert frames(raised.value)[-1] == "inner"

    def test_a_method_keeps_its_name_and_signature(self) -> None:
        assert Shelf.put.__name__ == "put"
        assert short_trace(frames).__doc__ == frames.__doc__


def test_a_warning_shows_the_callers_line() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn("perhaps not intended")
    assert [(each.category, each.filename) for each in seen] == [(LabWarning, __file__)]
