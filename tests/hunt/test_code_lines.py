"""Lines that failures of promises name: of the function that judges, or else of the story."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab
from labkit.core.code_lines import defined_at, raised_at
from labkit.hunt import (
    Draw,
    HuntFailure,
    Promise,
    Story,
    always,
    eventually,
    hunt,
    never,
    no_unexpected_status,
    story,
)
from tests.hunt.hunted import InTime

LINES = Path(__file__).read_text(encoding="utf-8").splitlines()


def line_of(text: str) -> str:
    """Return the place of the only line of this file that begins with a text."""
    [number] = [number for number, line in enumerate(LINES, 1) if line.strip().startswith(text)]
    return f"test_code_lines.py:{number}"


def never_true(lab: Lab) -> bool:
    return False


def misspelt(lab: Lab) -> None:
    lab.solutoin("app")  # type: ignore[attr-defined]


def odd_record(record: Any) -> bool:
    return bool(record.no_such_column)


class Checks:
    """Checks as a method and as an object."""

    def of_method(self, lab: Lab) -> bool:
        return False

    def __call__(self, lab: Lab) -> bool:
        return False


def with_argument(number: int, lab: Lab) -> bool:
    return False


def acts(lab: Lab, draw: Draw) -> None:
    app = lab.solution("app")
    app.Keystore.set(key="k", value="v")
    app.get("/nowhere")
    lab.wait(seconds=1)


def failure_of(promise: Promise) -> HuntFailure:
    told = Story(acts, {}, [promise])
    [failure] = hunt(told, seeds=1, workers=0, level="calm", progress=False).failures.values()
    return failure


@pytest.mark.parametrize(
    ("promise", "line"),
    [
        (always(never_true), "def never_true"),
        (eventually(never_true, within=0), "def never_true"),
        (always(Checks().of_method), "def of_method"),
        (always(Checks()), "def __call__"),
        (always(partial(with_argument, 3), name="partial"), "def with_argument"),
        (never(kind="call", where=lambda each: each.actor == "app"), '(never(kind="call", where=lambda'),
        (never(status=404), "def acts"),
        (no_unexpected_status(), "def acts"),
        (InTime("ends at once", 0.5, frozenset()), "def acts"),
    ],
)
def test_a_broken_promise_names_where_it_is_defined(promise: Promise, line: str) -> None:
    failure = failure_of(promise)
    assert failure.lines()[0].startswith(f"{promise.name} (play 0; promised in {line_of(line)}): ")
    assert failure.breach.place == line_of(line)


@pytest.mark.parametrize(
    ("promise", "raised", "defined"),
    [
        (eventually(misspelt), "lab.solutoin(", "def misspelt"),
        (never(kind="call", where=odd_record), "return bool(record.no_such", "def odd_record"),
        (always(lambda lab: 7), "(always(lambda lab: 7)", "(always(lambda lab: 7)"),
    ],
)
def test_a_promise_whose_code_fails_names_the_line(promise: Promise, raised: str, defined: str) -> None:
    failure = failure_of(promise)
    assert failure.breach.is_own_error
    assert failure.breach.reason.endswith(f" ({line_of(raised)})")
    assert failure.breach.place == line_of(defined)


def test_a_check_of_the_story_names_its_line_once() -> None:
    @story
    def asserts(lab: Lab, draw: Draw) -> None:
        assert lab.closed, "open"

    [failure] = hunt(asserts, seeds=1, workers=0, level="calm", progress=False).failures.values()
    assert failure.lines()[0] == f"the story's own checks (play 0): open ({line_of('assert lab.closed')})"


def test_a_cell_has_lines_alone() -> None:
    space: dict[str, Any] = {}
    exec(compile("\n\ndef check(lab):\n    return lab.nothing\n", "<ipython-input-1>", "exec"), space)
    assert defined_at(space["check"]) == "line 3"
    with pytest.raises(AttributeError) as raised:
        space["check"](3)
    assert raised_at(space["check"], raised.value) == ("line 4", "")


@pytest.mark.parametrize("function", [len, None, 3, Lab, re.compile("x").match])
def test_what_is_no_function_of_python_has_no_line(function: object) -> None:
    assert defined_at(function) == ""
    assert raised_at(function, ValueError()) == ("", "")
