"""Written plays that are played again, and what that says about the failure that they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.core.errors import LabError
from labkit.core.handle import short_trace
from labkit.hunt.draw import OtherValueError
from labkit.hunt.faults.drawn_faults import DrawnFault
from labkit.hunt.plays.breach import Breach, breaches_of, promise_of
from labkit.hunt.plays.future import Played, failure_of
from labkit.hunt.plays.loading import is_of_module, load_story
from labkit.hunt.plays.play import play
from labkit.hunt.plays.written import WrittenPlay, digest, play_of
from labkit.hunt.promises.promise import State
from labkit.hunt.story import Story

SCOPE = (
    "where",
    "solution",
    "product",
    "identity",
    "products",
    "devices",
)  # settings that say what a fault hits


@dataclass(frozen=True)
class ReplayOutcome:
    """Outcome of a written play that was played again.

    written: the play as data; played: its play now; breach: what it breaks now, best what it
    broke when it was written, None if nothing; is_exact: whether the
    journal is the same, byte for byte. `str()` is the outcome as a sentence.
    """

    written: WrittenPlay
    played: Played
    breach: Breach | None
    is_exact: bool

    @property
    def state(self) -> State:
        """Result of the replay: `broken`, `kept` if nothing breaks any more, `failed` or `untested`.

        `failed`: the code of the story or of a promise raised an error. `untested`: a fault that did hit when the play
        was written names what the lab does not have now, as after the renaming of a solution; or the story does not
        judge the promise any more; or no fault hits, or a handler fails in all its runs, and nothing happened that
        could have broken the promise. What a mended solution merely avoids leaves the play `kept`.
        """
        if self.breach is not None:
            return "failed" if self.breach.is_own_error else "broken"
        is_gone = any(absent for _, absent in self._missed())
        if is_gone or self._promised is None:
            return "untested"
        is_idle = self._hits_nothing or bool(self._failing)
        return "untested" if is_idle and self._promised == "untested" else "kept"

    @property
    def missed(self) -> tuple[str, ...]:
        """The faults that did hit when the play was written and hit nothing now, with what the lab lacks, as text."""
        return tuple(_fault_text(*each) for each in self._missed())

    @property
    def text(self) -> str:
        """The outcome as a sentence."""
        title, breach, state = self.written.breaks, self.breach, self.state
        if breach is not None and breach.title == title:
            how = "byte for byte as written" if self.is_exact else "with another journal than written"
            return f"breaks again, {how}: {breach}"
        if state == "failed":
            return f"cannot tell whether it still breaks {title}; mend this first: {breach}"
        if breach is not None:
            return f"no longer breaks: {title}; but breaks {breach}"
        if self._promised is None:
            why = "its story has no promise of this name, or not under these faults"
            return f"cannot tell whether it still breaks {title}: {why}; delete the file, and hunt again"
        missed = "; ".join(self.missed)
        if state == "untested" and self._failing and not self._hits_nothing:
            what = f"{' and '.join(self._failing)} failed in all runs, and nothing else could break it"
            return f"cannot tell whether it still breaks {title}: {what}"
        if state == "untested":
            advice = "if they are avoided on purpose, delete the file and hunt again"
            if any(absent for _, absent in self._missed()):
                advice = "name their new places in the file, or delete it and hunt again"
            what = f"faults of the file hit nothing now: {missed}"
            return f"cannot tell whether it still breaks {title}: {what}; {advice}"
        if self._hits_nothing:
            return (
                f"no longer breaks: {title}; but none of its faults hits anything now: {missed}; hunt again"
            )
        return f"no longer breaks: {title}" + (f"; faults that hit nothing now: {missed}" if missed else "")

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome as data for JSON."""
        hits = self.played.hits or (0,) * len(self.played.faults)
        return {
            "state": self.state,
            "breaks": None if self.breach is None else self.breach.title,
            "exact": self.is_exact,
            "faults": [
                {"kind": each.kind, **each.settings, "hits": count}
                for each, count in zip(self.played.faults, hits, strict=True)
            ],
            "missed": list(self.missed),
            "warnings": list(self.played.warnings),
            "text": self.text,
        }

    @property
    def _hits_nothing(self) -> bool:
        """Whether faults did hit when the play was written, and none does now."""
        missed = self._missed()
        return bool(missed) and len(missed) == len(self._due())

    @property
    def _failing(self) -> list[str]:
        """Handlers and fleets that failed in all their runs."""
        return [name for name, state in self.played.parts.items() if state == "failed"]

    @property
    def _promised(self) -> State | None:
        """Verdict now on the promise that the play broke; None if it was not judged."""
        promise = promise_of(self.written.breaks)
        if promise is None:
            return "kept"  # the code of story and promises has passed
        return {each.promise: each.state for each in self.played.verdicts}.get(promise)

    def _due(self) -> list[int]:
        """Return the numbers of the faults that did hit when the play was written."""
        hits = self.written.hits or (1,) * len(self.written.faults)
        return [number for number, count in enumerate(hits) if count]

    def _missed(self) -> list[tuple[DrawnFault, str]]:
        """Return the faults that hit nothing now, with what the lab lacks."""
        played = self.played
        return [
            (played.faults[number], played.absent[number])
            for number in self._due()
            if number < len(played.hits) and not played.hits[number]
        ]

    def __str__(self) -> str:
        return self.text


@short_trace
def replay(
    written: WrittenPlay | Mapping[str, Any],
    *,
    beside: str | Path | None = None,
    story: Story | None = None,
    check: bool = True,
) -> ReplayOutcome:
    """Play a written play again, and return the outcome.

    written: the play, as data; beside: file to which the story's place is relative, by default the current folder;
    story: to be used instead; check: whether to raise the error if the play still breaks anything, and a LabError if
    its faults hit nothing any more, so that it tests nothing. Raises LabError for other data, a story that is not
    found, and one that draws other values than those written.
    """
    data = written if isinstance(written, WrittenPlay) else play_of(written)
    told = story or _story_of(data, beside)
    place = told.name if beside is None else f"{beside}: {told.name}"
    options: Any = {"parameters": data.parameters, "faults": data.faults, "values": data.values}
    options["limits"] = data.limits
    try:
        played = play(told, data.seed, check=False, **options)
    except OtherValueError as error:
        raise LabError(
            f"{place}: {error}; delete the file, which repeats nothing now, and hunt again"
        ) from None
    except LabError as error:
        raise LabError(f"{place}: {error}") from None
    breaches = breaches_of(told, played)
    breach = next((each for each in breaches if each.title == data.breaks), next(iter(breaches), None))
    found = ReplayOutcome(data, played, breach, digest(played) == data.journal)
    failed = failure_of(played)
    if check and failed is not None:
        failed.add_note(found.text)
        raise failed
    if check and found.state == "untested":
        raise LabError(found.text)
    return found


def _story_of(written: WrittenPlay, beside: str | Path | None) -> Story:
    """Return the story of a written play. Raises LabError, naming the file that refers to it, if it is not found."""
    try:
        return load_story(written.story, beside)
    except LabError as error:
        if beside is None:
            raise
        where = "" if is_of_module(written.story) else ", which is relative to its folder"
        raise LabError(f"{beside}: it plays {written.story!r}{where}; {error}") from None


def _fault_text(fault: DrawnFault, absent: str) -> str:
    """Return a fault as text: its kind and what it hits. absent: what the lab lacks."""
    scope = [f"{name} {_listed(fault.settings[name])}" for name in SCOPE if name in fault.settings]
    return ", ".join([fault.kind, *scope]) + (f" ({absent})" if absent else "")


def _listed(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
