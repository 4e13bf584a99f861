"""Breach of a promise in one play, or an error of the story's own function."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.hunt.code_lines import defined_at, raised_at, with_line
from labkit.hunt.plays.future import Played
from labkit.hunt.story import Story

OWN = "the story's own checks"  # title of what the function asserts
OWN_CODE = "the story's own code ("
PROMISE_CODE = " (its own code failed)"


@dataclass(frozen=True)
class Breach:
    """First thing that went wrong in a play.

    promise: name of the promise, None if the story's function raised an error; state: `broken`, or `failed` if the
    code of the promise or of the story raised another error than an AssertionError; reason: a sentence; at: lab time in
    seconds since 1970, record: name of the record in the play's journal, both None if unknown; error: name of the
    raised error's class, empty for a promise; place: as `file:line`, or `line 3` of a cell: of an error the last line
    of the story's file that ran, of a promise where its function begins, or that of the story for one without.
    """

    promise: str | None
    state: str
    reason: str
    at: float | None = None
    record: str | None = None
    error: str = ""
    place: str = ""

    @property
    def title(self) -> str:
        """Name under which failures of this kind are counted."""
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
    """Return the name of the promise in a breach's title; None for an error of the story's or the promise's code."""
    is_own = title == OWN or title.startswith(OWN_CODE) or title.endswith(PROMISE_CODE)
    return None if is_own else title


def breach_of(story: Story, played: Played) -> Breach | None:
    """Return what went wrong first in a play: the error of the story, else the first promise that did not hold."""
    error = played.error
    if error is not None:
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
    for each in played.verdicts:
        if each.state in ("broken", "failed"):
            place = _place_of_promise(story, each.promise)
            return Breach(each.promise, each.state, each.reason, each.at, each.record_name, place=place)
    return None


def _place_of_promise(story: Story, name: str) -> str:
    """Return where the function of a promise begins; of a promise without one, where that of its story does."""
    own = next((defined_at(each.function) for each in story.promises if each.name == name), "")
    return own or defined_at(story.function)


def _line(error: BaseException, first: bool) -> str:
    """Return the text of an error as one line. first: whether its first line is enough."""
    lines = str(error).strip().splitlines()
    return " ".join(" ".join(lines[:1] if first else lines).split())
