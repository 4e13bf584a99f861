"""Limits of real time for plays in this process."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any

import pytest

from labkit import Lab, LabError
from labkit.hunt import Draw, hunt, story
from labkit.hunt.workers import time_limit as module
from labkit.hunt.workers.pool import plays_over
from labkit.hunt.workers.time_limit import time_limit
from labkit.hunt.workers.worker import WorkerError

SEARCH = import_module("labkit.hunt.search.hunt")  # whose name in the package is the function
SHORT, LONG = 0.3, 60.0  # real seconds
QUIET: dict[str, Any] = {"workers": 0, "progress": False}


class Said:
    """Replacement of standard error that notices its first line."""

    def __init__(self) -> None:
        self.text = ""
        self.line = threading.Event()

    def write(self, text: str) -> int:
        """Add a text."""
        self.text += text
        if "\n" in text:
            self.line.set()
        return len(text)

    def flush(self) -> None:
        """Do nothing."""


@contextmanager
def listening(monkeypatch: pytest.MonkeyPatch) -> Iterator[Said]:
    """Replace standard error, within the test since pytest replaces it before."""
    said = Said()
    with monkeypatch.context() as replaced:
        replaced.setattr(sys, "stderr", said)
        replaced.setattr(module, "GRACE", 0.05)
        yield said


def spin() -> None:
    while True:
        pass


def wait() -> None:
    threading.Event().wait(LONG)


@pytest.mark.parametrize("body", [spin, wait])
def test_a_call_is_interrupted(body: Callable[[], None]) -> None:
    with pytest.raises(WorkerError, match=r"ended after its limit of 0\.3 s") as raised, time_limit(SHORT):
        body()
    assert raised.value.late


def test_a_call_in_time_is_left_alone() -> None:
    with time_limit(LONG), time_limit(None):
        pass
    with pytest.raises(ZeroDivisionError), time_limit(LONG):
        1 / 0  # noqa: B018
    with pytest.raises(KeyboardInterrupt), time_limit(LONG):
        signal.raise_signal(signal.SIGINT)
    for each in threading.enumerate():
        if each.name == "labkit time limit":
            each.join(LONG)
            assert not each.is_alive()


def test_a_call_that_goes_on_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(monkeypatch) as said, time_limit(SHORT):
        try:
            wait()
        except KeyboardInterrupt:
            assert said.line.wait(LONG)
    assert said.text == (
        "labkit: a play goes on after its limit of 0.3 s, and this process cannot end it: "
        "press Ctrl-C, or use workers=1, which plays in a process that can be ended\n"
    )


def test_ctrl_c_ends_one_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def goes_on(said: Said) -> None:
        try:
            wait()
        finally:
            assert said.line.wait(LONG)
            signal.raise_signal(signal.SIGINT)

    with listening(monkeypatch) as said, pytest.raises(KeyboardInterrupt), time_limit(SHORT):
        goes_on(said)


def test_another_thread_is_not_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[bool] = []

    def work(said: Said) -> None:
        with time_limit(0.01):
            ended.append(said.line.wait(LONG))

    with listening(monkeypatch) as said:
        thread = threading.Thread(target=work, args=[said])
        thread.start()
        thread.join()
    assert ended == [True]


def test_the_outcome_of_a_call_that_was_ended() -> None:
    def work(item: int) -> int:
        if item == 1:
            wait()
        return item

    outcomes = list(plays_over(0, work, range(3), within=SHORT))
    assert [(each.result, each.late) for each in outcomes] == [(0, False), (None, True), (2, False)]
    assert isinstance(outcomes[1].error, WorkerError)


def test_a_hunt_loses_the_play_that_hangs_and_goes_on() -> None:
    @story
    def hangs(lab: Lab, draw: Draw) -> None:
        lab.solution("app")
        if draw.number(0, 3) == 3:
            wait()

    found = hunt(hangs, 12, level="calm", within=3, stop="never", **QUIET)
    assert 0 < len(found.late) < found.seeds == 12
    assert {each.lost for each in found.late} == {"ended after its limit of 3 s"}
    assert (found.lost, found.good, found.as_dict()["late"]) == (
        [],
        True,
        [each.number for each in found.late],
    )
    assert (
        "ended by this machine's limit of real time, which says nothing about the story: play "
        in found.text()
    )
    assert f"nothing broke, but {len(found.late)} play" in found.text()


def test_the_default_limit_grows_with_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float | None] = []

    @story
    def short(lab: Lab, draw: Draw) -> None:
        lab.wait(seconds=1)

    monkeypatch.setattr(SEARCH, "slowness", lambda: 3.0)

    def noted(seconds: float | None) -> AbstractContextManager[None]:
        limits.append(seconds)
        return time_limit(None)

    monkeypatch.setattr(SEARCH, "time_limit", noted)
    hunt(short, 1, **QUIET)
    hunt(short, 1, within=None, **QUIET)
    assert limits == [180.0, None]


def test_cutting_down_leaves_out_plays_that_hang() -> None:
    seen: list[int] = []

    @story
    def small_ones_hang(lab: Lab, draw: Draw) -> None:
        number = draw.number(0, 1000)
        seen.append(number)
        if number == 0:
            wait()
        assert number < 500

    found = hunt(small_ones_hang, 100, level="calm", within=2, **QUIET)
    [failure] = found.failures.values()
    assert failure.smallest is not None
    assert failure.smallest.played.drawn == ((None, 500),)
    assert 0 in seen


def test_a_play_without_faults_that_hangs_is_an_error() -> None:
    @story
    def hangs(lab: Lab, draw: Draw) -> None:
        wait()

    with pytest.raises(LabError, match="hangs: its play without faults, which shows their places, was ended"):
        hunt(hangs, 1, within=SHORT, **QUIET)
    with pytest.raises(LabError, match="within: expected a number of seconds above 0, not -1"):
        hunt(hangs, 1, within=-1, **QUIET)
