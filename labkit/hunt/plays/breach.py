"""Breaches of promises in one play, errors of the story's own function, and crashes of devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from labkit.core.code_lines import defined_at, raised_at, with_line
from labkit.hunt.plays.future import Played
from labkit.hunt.story import Story

OWN = "the story's own checks"  # title of what the function asserts
OWN_CODE = "the story's own code ("
CRASHED = "a behaviour that crashed ("
PROMISE_CODE = " (its own code failed)"


@dataclass(frozen=True)
class Breach:
    """Something that went wrong in a play.

    promise: name of the promise, None if the story's function or a device's behaviour raised an error; state: `broken`,
    or `failed` if the code of the promise or of the story raised another error than an AssertionError; reason: a
    sentence; at: lab time in seconds since 1970, record: name of the record in the play's journal, both None if
    unknown; error: name of the raised error's class, empty for a promise; place: as `file:line`, or `line 3` of a cell:
    of an error the last line of the story's or the behaviour's file that ran, of a promise where its function begins,
    or that of the story for one without; is_crash: whether it is the error of a device's behaviour.
    """

    promise: str | None
    state: str
    reason: str
    at: float | None = None
    record: str | None = None
    error: str = ""
    place: str = ""
    is_crash: bool = False

    @property
    def title(self) -> str:
        """Name under which failures of this kind are counted."""
        if self.is_crash:
            return f"{CRASHED}{self.error})"
        if self.promise is None:
            return OWN if self.state == "broken" else f"{OWN_CODE}{self.error})"
        return self.promise if self.state == "broken" else f"{self.promise}{PROMISE_CODE}"

    @property
    def is_own_error(self) -> bool:
        """Whether the code of the story or of the promise failed, so that the play says nothing about what it tests."""
        return self.state == "failed"

    def is_same_as(self, other: Breach | None) -> bool:
        """Return whether another play broke the same promise, in the same way."""
        return other is not None and (self.title, self.place) == (other.title, other.place)

    def __str__(self) -> str:
        return f"{self.title}: {self.reason}"


def promise_of(title: str) -> str | None:
    """Return the name of the promise in a breach's title; None for an error of anyone's code."""
    is_own = title == OWN or title.startswith((OWN_CODE, CRASHED)) or title.endswith(PROMISE_CODE)
    return None if is_own else title


def breach_of(story: Story, played: Played) -> Breach | None:
    """Return the first of `breaches_of` a play, None if nothing went wrong."""
    return next(iter(breaches_of(story, played)), None)


def breaches_of(story: Story, played: Played) -> tuple[Breach, ...]:
    """Return what went wrong in a play, each once.

    The error of the story, or else the promises that did not hold, and then the crashes of devices.
    """
    found = [_of_error(story, played.error)] if played.error is not None else [*_of_promises(story, played)]
    found += [
        Breach(None, "broken", str(each), each.at, error=each.kind, place=each.place, is_crash=True)
        for each in played.crashes
    ]
    return tuple({(each.title, each.place): each for each in reversed(found)}.values())[::-1]


def _of_error(story: Story, error: BaseException) -> Breach:
    """Return what the story's own function raised."""
    place, line = raised_at(story.function, error)
    is_check = isinstance(error, AssertionError)
    # of an assertion the first line: pytest adds others
    text = _line(error, is_check)
    reason = text or line or type(error).__name__
    if not is_check:
        reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return Breach(
        None,
        "broken" if is_check else "failed",
        with_line(reason, place),
        error=type(error).__name__,
        place=place,
    )


def _of_promises(story: Story, played: Played) -> Iterator[Breach]:
    """Yield the promises that did not hold."""
    for each in played.verdicts:
        if each.state in ("broken", "failed"):
            place = _place_of_promise(story, each.promise)
            yield Breach(each.promise, each.state, each.reason, each.at, each.record_name, place=place)


def _place_of_promise(story: Story, name: str) -> str:
    """Return where the function of a promise begins; of a promise without one, where that of its story does."""
    own = next((defined_at(each.function) for each in story.promises if each.name == name), "")
    return own or defined_at(story.function)


def _line(error: BaseException, first: bool) -> str:
    """Return the text of an error as one line. first: whether its first line is enough."""
    lines = str(error).strip().splitlines()
    return " ".join(" ".join(lines[:1] if first else lines).split())
