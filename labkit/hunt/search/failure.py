"""Failure that a hunt found: a broken promise, and the smallest play that breaks it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path

from labkit.core.errors import LabError
from labkit.core.progress import Progress
from labkit.core.words import counted
from labkit.hunt.faults.menu import Menu
from labkit.hunt.literals import is_literal
from labkit.hunt.plays.breach import Breach
from labkit.hunt.plays.future import Played, PlayPlan
from labkit.hunt.plays.player import play_seed
from labkit.hunt.plays.written import WrittenPlay, literal, write, written_play
from labkit.hunt.search.cause import FailureCause, cause_of, settings_text
from labkit.hunt.search.play_records import seconds_text
from labkit.hunt.search.shrink import Shrunk
from labkit.lab.show import card, table

MAX_VALUES = 12  # drawn values that a text shows
LONGEST = 200  # characters of a line about a fault


@dataclass(frozen=True)
class HuntFailure:
    """Failure of a story, in one or more plays of a hunt.

    plan: of the plays; breach: what the first of them broke; numbers: of the plays that broke it, which are
    their seeds; smallest: the smallest play that breaks it, None if there was no time to search; note: why there is
    none; broke_calm: whether the play without faults, which comes before a hunt, broke it, too.
    """

    plan: PlayPlan
    breach: Breach
    numbers: tuple[int, ...]
    smallest: Shrunk | None = None
    note: str = ""
    broke_calm: bool = False

    @property
    def in_calm(self) -> bool:
        """Whether the promise also breaks in a play without any fault, in a hunt that draws faults."""
        if isinstance(self.plan.faults, Menu) and not self.plan.faults.most:
            return False
        return self.broke_calm or (self.smallest is not None and not self.smallest.played.faults)

    @property
    def title(self) -> str:
        """Name of the promise that broke."""
        return self.breach.title

    def play(self) -> Played:
        """Play the smallest play again or, without one, the first play that failed, and return it."""
        if self.smallest is not None:
            return self.smallest.played
        seed = self.numbers[0]
        played = play_seed(self.plan, seed)
        if played is None:
            raise LabError(f"{self.plan.story.name}: the play {seed} has ended otherwise than before")
        return played

    @cached_property
    def cause(self) -> FailureCause:
        """Way to the breach, by the journal of the smallest play, and by that without its last fault.

        The first use plays, up to two times. Raises LabError as `play`.
        """
        breach = self.breach if self.smallest is None else self.smallest.breach
        with Progress(f"cause of {self.title}"):
            return cause_of(self.plan, self.play(), breach)

    def written(self) -> WrittenPlay:
        """Return the smallest play as data. Raises LabError for values that are no Python literals."""
        breach = self.breach if self.smallest is None else self.smallest.breach
        story = self.plan.story
        return written_play(story, story.name, self.play(), breach, self.plan.parameters)

    def cell(self) -> str:
        """Return a call of `play` that repeats the smallest play. Raises LabError as `written`."""
        return self.written().cell()

    def save(self, folder: str | Path) -> Path:
        """Write the smallest play to a folder, as a file with a pytest function, and return the file.

        folder: made if needed. Raises LabError as `written`, for a story of a notebook, and for a file that cannot be
        written.
        """
        return write(self.plan.story, self.written(), Path(folder))

    def lines(self) -> list[str]:
        """Return the failure as lines of text."""
        first, *others = self.numbers
        where = f"play {first}" + (f" and {len(others)} more" if others else "")
        if self.in_calm:
            where += "; also broken in calm, without any fault"
        if promised := self._promised():
            where += f"; promised{promised}"
        shown = self.smallest
        if shown is None:
            return [f"{self.title} ({where}): {self.breach.reason}", f"  {self.note or 'not cut down'}"]
        how = f"{counted(shown.plays, 'play')}, in {shown.seconds:.1f} s{'' if shown.is_complete else ', not ended'}"
        lines = [
            f"{self.title} ({where}): {shown.breach.reason}",
            f"  smallest of {how}: seed {shown.played.seed}",
        ]
        lines += [
            f"  fault: {each.kind}, {settings_text(each.settings)}"[:LONGEST] for each in shown.played.faults
        ]
        lines += [f"  fleets: at most {limits}"] if (limits := str(shown.played.limits)) else []
        lines += [f"  drawn: {values_text(shown.played)}"]
        return [*lines, *(f"  {each}" for each in self.cause.lines())] if shown.played.faults else lines

    def _promised(self) -> str:
        """Return where the promise is, or what it means if it is one of labkit's own story of a program."""
        breach, story = self.breach, self.plan.story
        if breach.promise is None:  # of the story's own checks the reason has the line
            return ""
        if str(story.function.__module__).startswith("labkit."):
            meaning = next((each.meaning for each in story.promises if each.name == breach.promise), "")
            return f": {meaning}" if meaning else ""
        return f" in {breach.place}" if breach.place else ""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        reason = (self.smallest or self).breach.reason
        return f"<failure of {self.plan.story.name}: {self.title}: {reason}>"

    def _repr_html_(self) -> str:
        shown = self.smallest
        facts: dict[str, object] = {"what happened": self.breach.reason, "plays": len(self.numbers)}
        if shown is not None:
            facts["what happened"] = shown.breach.reason
            for number, each in enumerate(shown.played.faults, 1):
                facts[f"fault {number}"] = f"{each.kind}, {settings_text(each.settings)}"
            if limits := str(shown.played.limits):
                facts["fleets"] = f"at most {limits}"
            facts["drawn"] = values_text(shown.played)
        found = self.cause
        facts |= {f"hit {number}": text for number, text in enumerate(found.hits, 1)}
        rows = [(each.number, seconds_text(each.seconds), each.text, each.links) for each in found.steps]
        way = table(("step", "lab time (s)", "record", "depends on"), rows, "no records")
        without = "".join(f"<p>{escape(each)}</p>" for each in found.difference)
        return card(f"broken: {self.title}", facts) + way + without


def values_text(played: Played) -> str:
    """Return the values that a story drew as text."""
    shown = [
        f"{literal(value) if is_literal(value) else repr(value):.60}"
        if label is None
        else f"{label} {literal(value) if is_literal(value) else repr(value):.60}"
        for label, value in played.drawn[:MAX_VALUES]
    ]
    more = len(played.drawn) - MAX_VALUES
    return (", ".join(shown) or "nothing") + (f", and {more} more" if more > 0 else "")
