"""Sizes of drawn faults by level: recipes, the reference, the book and `labkit hunt --kinds help` read them here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from labkit.hunt.draw import LADDER
from labkit.hunt.kinds import GROUPS, MEANINGS
from labkit.lab.arguments import shown_duration

SHORTEST = LADDER[0]  # seconds
FEWEST, MOST_TIMES = 2, 10  # bounds of a burst of hits, and of `every`
CHANCES = tuple(number / 10 for number in range(1, 10))
CLOCKS = (1.0, 30.0, 300.0)

HEAD = ("level", "faults", "an outage", "a part fails for", "a delay", "clocks are wrong by")
OFTEN = (
    f"How often a fault hits is drawn, too: once, the next {FEWEST} to {MOST_TIMES} times, or each time. Or a part "
    f"fails: every {FEWEST}nd to {MOST_TIMES}th time, or each time with a chance of {CHANCES[0]} to {CHANCES[-1]}."
)


@dataclass(frozen=True)
class Level:
    """Sizes of the faults that a menu draws.

    most: number of faults; longest: seconds of a fault that hits each time; partial: of one that hits by `every` or
    `chance`; clocks: seconds by which clocks are wrong, in either direction.
    """

    most: int = 0
    longest: float = 0.0
    partial: float = 0.0
    clocks: tuple[float, ...] = CLOCKS

    @property
    def delays(self) -> tuple[float, ...]:
        """Seconds of a delay."""
        return steps(min(self.longest, LADDER[-1]))

    @property
    def cells(self) -> tuple[str, ...]:
        """The sizes as cells of a table, below `HEAD` from its second column on."""
        if not self.most:
            return ("none", *"-" * 4)
        lengths = (steps(self.longest), steps(self.partial), self.delays, self.clocks)
        shown = (
            ", ".join("1 µs" if each == SHORTEST else shown_duration(each) for each in row) for row in lengths
        )
        return (f"up to {self.most}", *shown)


LEVELS: Mapping[str, Level] = {
    "calm": Level(),
    "rough": Level(3, 60.0, 1800.0),
    "wild": Level(8, 3600.0, 3600.0, (*CLOCKS, 3600.0, 6 * 3600.0, 86400.0)),
}


def steps(longest: float) -> tuple[float, ...]:
    """Return the possible lengths of a fault in seconds, the shortest first. longest: the last of them."""
    return (*(each for each in LADDER if each < longest), max(round(longest, 6), SHORTEST))


def size_table() -> str:
    """Return a table of what each level draws, in Markdown."""
    rows = [HEAD, ["---"] * len(HEAD), *((f"`{name}`", *level.cells) for name, level in LEVELS.items())]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def help_text() -> str:
    """Return what each level draws, and all kinds of faults by group, as lines of text."""
    kinds = (
        line
        for group, names in GROUPS.items()
        for line in (f"\n{group}", *(f"  {each}: {MEANINGS[each]}" for each in names))
    )
    return "\n".join((size_table(), "", OFTEN, *kinds))
