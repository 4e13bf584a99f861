"""Stories that tests hunt: small, with bugs that seeds find; and plays as texts."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

from labkit import Lab
from labkit.hunt import Draw, DrawnFault, Played, Promise, Verdict, story
from labkit.hunt.promises.promise import State, StoryEnd

SLOW, LATE = "call delay", "event late"


class Delays:
    """Source of up to `most` faults, each a delay of service calls."""

    def __init__(self, most: int = 4) -> None:
        self._most = most

    def faults(self, draw: Draw, promises: tuple[Promise, ...]) -> tuple[DrawnFault, ...]:
        """Return the faults of a play."""
        count = draw.number(0, self._most, label="faults")
        return tuple(DrawnFault(SLOW, _delay(draw)) for _ in range(count))


def _delay(draw: Draw) -> dict[str, Any]:
    return {"where": draw.choice(["Keystore.get", "Keystore.set", "User.*"]), "delay": draw.seconds(1, 5, 20)}


class InTime(Promise):
    """Promise that a story lasts at most so many seconds of lab time."""

    def __init__(self, name: str, most: float, under: frozenset[str]) -> None:
        self.name = name
        self.most = most
        self.under = under

    def watch(self, lab: Lab) -> InTimeWatch:
        return InTimeWatch(self, lab)


class InTimeWatch:
    """Watch of `InTime`."""

    def __init__(self, promise: InTime, lab: Lab) -> None:
        self._promise = promise
        self._lab = lab
        self._began = lab.clock.time

    def verdict(self, end: StoryEnd) -> Verdict:
        """Return the verdict."""
        taken = self._lab.clock.time - self._began
        state: State = "untested" if taken == 0 else "kept" if taken <= self._promise.most else "broken"
        reason = f"it took {taken:g} s, and not {self._promise.most:g} s" if state == "broken" else ""
        return Verdict(self._promise.name, state, reason, self._lab.clock.time)


IN_TIME = InTime("ends in time", 15, frozenset({SLOW}))
SOON = InTime("ends within the day", 86400, frozenset({SLOW}))
CALM = InTime("is calm", 0.5, frozenset({LATE}))


@story(promises=[IN_TIME, SOON, CALM])
def shop(lab: Lab, draw: Draw, *, customers: int = 3) -> int:
    """Let customers buy: with two slow calls it takes too long."""
    app = lab.solution("shop")
    for number in range(draw.number(1, customers, label="customers")):
        app.Keystore.set(key=f"customer {number}", value=draw.choice(["ä", "b\n"], label="goods"))
        app.Keystore.get(key=f"customer {number}")
    return customers


@story
def odd(lab: Lab, draw: Draw) -> None:
    """Fail in two ways: an assertion of the story, and an error of its code."""
    number = draw.number(0, 1000, label="number")
    if number > 900:
        raise ValueError(f"number {number}")
    assert number < 700, f"too large: {number}"


@story
def deadly(lab: Lab, draw: Draw) -> None:
    """End the process in a third of the plays."""
    if draw.number(0, 2) == 2:
        os._exit(3)


@story
def interrupted(lab: Lab, draw: Draw) -> None:
    """Press Ctrl-C in some play."""
    if draw.number(0, 30, label="number") == 30:
        raise KeyboardInterrupt


def whole(played: Played) -> str:
    """Return all fields of a play as text: its `repr` is short."""
    return repr({each.name: getattr(played, each.name) for each in fields(played)})
