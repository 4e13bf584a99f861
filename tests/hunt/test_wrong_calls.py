"""Wrong calls of stories, promises, draws and forks: errors that say what was expected."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import labkit.hunt
from labkit import Lab, LabError
from labkit.core.errors import ArgumentError
from labkit.hunt import Draw, always, nothing_lost, play, recovers_within, requests_bounded, story

LIBRARY: Any = labkit.hunt  # whose types are not checked here: the calls are wrong


def plain(lab: Lab, draw: Draw) -> None:
    """Do nothing."""


def stock_ok(lab: Lab) -> bool:
    return True


async def waits(lab: Lab, draw: Draw) -> None:
    """Be async."""


def yields(lab: Lab, draw: Draw) -> Iterator[int]:
    yield 1


async def yields_later(lab: Lab, draw: Draw) -> AsyncIterator[int]:
    yield 1


class Waits:
    """Callable that is async."""

    async def __call__(self, lab: Lab, draw: Draw) -> None: ...


DRAW: Any = Draw(lambda strategy, label=None: 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: LIBRARY.never(produkt="x"),
            "never: no argument 'produkt', there are: kind, .*; did you mean product?",
        ),
        (
            lambda: LIBRARY.eventually(stock_ok, timeout=3),
            "eventually: no argument 'timeout', there are: check, within,",
        ),
        (
            LIBRARY.always,
            "always.. missing 1 required .*'check'; its arguments are: check, every, name, under",
        ),
        (lambda: LIBRARY.nothing_lost(1), "1 value without a name; its arguments are: name, under"),
        (LIBRARY.seen_within, "missing .*'seconds'; its arguments are: seconds, name, under"),
        (
            lambda: LIBRARY.recovers_within(60, nam="x"),
            "recovers_within: no argument 'nam', .*; did you mean name?",
        ),
        (lambda: LIBRARY.requests_bounded(1, 2, 3), "its arguments are: most, per, name, under"),
        (lambda: DRAW.number(name="x"), "number: no argument 'name', there are: low, high, label"),
        (lambda: DRAW.number(1), "missing 1 required .*'high'; its arguments are: low, high, label"),
        (lambda: DRAW.choice(["a"], lable="x"), "choice: no argument 'lable', .*; did you mean label?"),
        (DRAW, "missing .*'strategy'; its arguments are: strategy, label"),
        (
            lambda: LIBRARY.play(plain, 1, sed=2),
            "play: no argument 'sed', there are: story, seed, .*; did you mean seed?",
        ),
        (lambda: LIBRARY.hunt(story(plain), sedes=2), "hunt: no argument 'sedes', .*; did you mean seeds?"),
        (lambda: LIBRARY.compare(1), "its arguments are: a, b"),
        (LIBRARY.sweep, "its arguments are: story, seeds, "),
        (LIBRARY.load_story, "its arguments are: place, beside"),
        (lambda: LIBRARY.Menu(levl="wild"), "no argument 'levl', there are: level, .*; did you mean level?"),
        (
            lambda: LIBRARY.story(plain, 3),
            "story: 2 values without a name; its arguments are: function, promises, ",
        ),
        (
            lambda: LIBRARY.story(past="x", seed=9)(plain),
            r"story: seed: each play has a seed of its own: play\(story, seed=7\)",
        ),
        (
            lambda: LIBRARY.story(promise=[])(plain),
            "story: no argument 'promise', .*; did you mean promises?",
        ),
        (lambda: LIBRARY.story(domian="x")(plain), "story: no argument 'domian', .*; did you mean domain?"),
    ],
)
def test_arguments_that_do_not_fit_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(LabError, match=message):
        call()


def test_an_argument_error_is_a_type_error_of_the_callers_line() -> None:
    with pytest.raises(ArgumentError) as raised:
        LIBRARY.never(produkt="x")
    assert isinstance(raised.value, TypeError)
    assert [Path(each.path).name for each in raised.traceback] == ["test_wrong_calls.py", "handle.py"]


def test_a_type_error_of_a_storys_own_code_is_its_own() -> None:
    @story
    def adds(lab: Lab, draw: Draw) -> None:
        1 + "x"  # type: ignore[operator]  # noqa: B018

    with pytest.raises(TypeError, match="unsupported operand") as raised:
        play(adds, 1)
    assert not isinstance(raised.value, LabError)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (waits, r"story: waits is async: expected `def waits\(lab, draw\)`"),
        (yields_later, "story: yields_later is async: expected "),
        (Waits(), "story: story is async: expected "),
        (lambda lab: None, r"expected `def <lambda>\(lab, draw\)`, not `def <lambda>\(lab\)`"),
        (yields, "story: yields is a generator: expected a function without yield"),
    ],
)
def test_async_functions_and_generators_are_no_stories(function: Any, message: str) -> None:
    with pytest.raises(LabError, match=message):
        story(function)
    with pytest.raises(LabError, match=message):
        story(promises=[nothing_lost()])(function)


@pytest.mark.parametrize(
    ("promises", "message"),
    [
        ([nothing_lost], r"not the function nothing_lost: call it, nothing_lost\(\)$"),
        (
            [nothing_lost(), requests_bounded],
            r"not the function requests_bounded: call it, requests_bounded\(most\)$",
        ),
        ([always], r"not the function always: call it, always\(check\)$"),
        (recovers_within, r"not the function recovers_within: call it, recovers_within\(seconds\)$"),
        ([stock_ok], r"not the function stock_ok; did you mean always\(stock_ok\)\?$"),
        ("nothing_lost", "not 'nothing_lost'$"),
        ([3], "not 3$"),
        (3, "not 3$"),
    ],
)
def test_what_is_no_promise_says_what_to_write(promises: Any, message: str) -> None:
    with pytest.raises(
        LabError, match=f"story: promises: expected promises such as always.check., {message}"
    ):
        story(promises=promises)(plain)


def test_a_single_promise_needs_no_list() -> None:
    assert [each.name for each in LIBRARY.story(promises=nothing_lost())(plain).promises] == ["nothing_lost"]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("stories.py:outage", r"^stories\.py:outage: expected two colons after a file: stories\.py::outage$"),
        ("my folder/é.py:outage", "expected two colons after a file: my folder/é.py::outage$"),
        ("stories.py:", "expected two colons after a file: stories.py::$"),
    ],
)
def test_one_colon_after_a_file_gives_a_hint(place: str, message: str) -> None:
    with pytest.raises(LabError, match=message):
        labkit.hunt.load_story(place)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "missing .*'function'.*; its arguments are: function, over, workers, "),
        ((plain, 90), r"fork: over: expected values, such as over=\[1, 2\], not 90"),
        ((plain, "2.0"), "not '2.0'"),
        ((3, [1]), "fork: expected a function of the lab and a value, not 3"),
    ],
)
def test_wrong_arguments_of_a_fork(lab: Lab, arguments: tuple[Any, ...], message: str) -> None:
    fork: Any = lab.fork
    with pytest.raises(LabError, match=message):
        fork(*arguments)
    with pytest.raises(LabError, match=r"fork: no argument 'ovr', there are: .*; did you mean over\?"):
        fork(plain, ovr=[1])
