"""Promises of a story: what must hold in its futures, and the verdicts of a play."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, Protocol

from labkit.lab.lab import Lab

State = Literal["kept", "broken", "untested", "failed"]


@dataclass(frozen=True)
class Verdict:
    """What became of a promise in one play.

    promise: its name; state: `untested` if nothing happened that could have broken it, `failed` if the promise's own
    code raised an error. reason: what was seen and expected, a sentence; at: lab time of the breach, in seconds since
    1970; record: number of the journal's record that shows it; None if there is none.
    """

    promise: str
    state: State
    reason: str = ""
    at: float | None = None
    record: int | None = None


class Watch(Protocol):
    """Interface of what watches over a promise in one play."""

    def verdict(self, quiet_since: float | None) -> Verdict:
        """Return the verdict, once the story is over and its faults are gone; may let lab time pass.

        quiet_since: lab time at which the last fault ended, None without faults.
        """


class Promise(ABC):
    """Interface of a promise.

    name: unique among those of a story; under: kinds of faults under which it must hold. Others are not drawn for it,
    and a play with others does not judge it.
    """

    name: str
    under: frozenset[str]

    @abstractmethod
    def watch(self, lab: Lab) -> Watch:
        """Begin to watch over the promise. lab: of a story that has not begun yet."""
