"""Reference of the kinds of faults that a play of a story can draw."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.hunt.faults.menu import LEVELS
from labkit.hunt.kinds import GROUPS, MEANINGS
from labkit.reference.entry import ReferenceEntry, ReferencePage, bullets

PATH = "reference/hunt/faults"
INTRO = """Faults that a play of a story draws at the places of the story: `play(story, seed=7, level="rough")`, from
`labkit.hunt`. Promises name them, or groups of them, by `under`, and so does `Menu(kinds=…)`."""


def pages() -> Iterator[ReferencePage]:
    """Yield the page of the kinds of faults."""
    levels = bullets(
        (
            name,
            f"at most {each.most} faults" if each.most else "no faults",
            f"each at most {each.longest:g} s long",
        )
        for name, each in LEVELS.items()
    )
    entries = tuple(
        ReferenceEntry(
            "kind of drawn fault",
            kind,
            f"{MEANINGS[kind][:1].upper()}{MEANINGS[kind][1:]}. Group: `{group}`.",
            (f"drawn {kind}",),
        )
        for group, kinds in GROUPS.items()
        for kind in kinds
    )
    yield ReferencePage(PATH, "Faults of plays", f"{INTRO}\n\nLevels:\n\n{levels}", entries)
