"""Promises of a story: what must hold in its futures, and the verdicts of a play."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from labkit.control.clock import number_of
from labkit.core.errors import LabError
from labkit.hunt.fault_choice import FaultChoice, FaultLimit
from labkit.hunt.kinds import KINDS, Under
from labkit.lab.lab import Lab

State = Literal["kept", "broken", "untested", "failed"]


@dataclass(frozen=True)
class Verdict:
    """Verdict on a promise in one play.

    promise: its name; state: `untested` if nothing happened that could have broken it, `failed` if the promise's own
    code raised an error. reason: what was seen and expected, a sentence; at: lab time of the breach, in seconds since
    1970; record: number of the journal's record that shows it; record_name: its name in the journal of the play, such
    as `acme#12`; None if there is none.
    """

    promise: str
    state: State
    reason: str = ""
    at: float | None = None
    record: int | None = None
    record_name: str | None = None


class StoryEnd(NamedTuple):
    """End of the story of a play.

    at: lab time; quiet_since: lab time at which the last fault ended, None if none has hit; last_hit: number of the
    journal's newest record when that fault hit for the last time, or ended, since records of one moment have an order.
    """

    at: float
    quiet_since: float | None = None
    last_hit: int = 0


class Watch(Protocol):
    """Interface of what watches over a promise in one play."""

    def verdict(self, end: StoryEnd) -> Verdict:
        """Return the verdict, once the story is over and its faults are gone; may let lab time pass."""


class Promise(ABC):
    """Interface of a promise.

    name: unique among those of a story; under: kinds of faults under which it must hold; limits: of their settings.
    Others are not drawn for it, and a play with others does not judge it. function: of one's own that judges, whose
    file and line a failure names; None without one. meaning: what a ready promise says, in plain words; empty for one
    of one's own.
    """

    name: str
    under: frozenset[str]
    limits: tuple[FaultLimit, ...] = ()
    meaning: str = ""
    function: Callable[..., object] | None = None

    def _take(self, name: object, under: Under | None, default: frozenset[str] = KINDS) -> None:
        """Set name and kinds of faults. Raises LabError for a wrong name or kind. default: without `under`."""
        if not isinstance(name, str) or not name:
            raise LabError(f"name: expected a text, not {name!r:.100}")
        self.name = name
        choice = FaultChoice(default) if under is None else FaultChoice.of(under)
        self.under, self.limits = choice.kinds, choice.limits

    @property
    def choice(self) -> FaultChoice:
        """Faults under which it must hold."""
        return FaultChoice(self.under, self.limits)

    def bears(self, kind: str, settings: Mapping[str, Any]) -> bool:
        """Return whether it must hold under a fault."""
        return self.choice.allows(kind, settings)

    @abstractmethod
    def watch(self, lab: Lab) -> Watch:
        """Begin to watch over the promise. lab: of a story that has not begun yet."""

    def __repr__(self) -> str:
        return f"<promise {self.name}>"


def checked_seconds(value: object, what: str, *, zero: bool = False) -> float:
    """Return a time in seconds. Raises LabError for another value.

    what: name of the argument; zero: whether 0 is allowed.
    """
    seconds = number_of(value, what)
    if seconds < 0 or not (seconds or zero):
        raise LabError(f"{what}: expected seconds, {'0 or more' if zero else 'above 0'}, not {value!r}")
    return seconds
