"""Reference of the kinds of faults that a play of a story can draw."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.hunt.faults.sizes import OFTEN, size_table
from labkit.hunt.kinds import GROUPS, MEANINGS
from labkit.reference.entry import ReferenceEntry, ReferencePage

PATH = "reference/hunt/faults"
INTRO = """Faults that a play of a story draws at the places of the story: `play(story, seed=7, level="rough")`, from
`labkit.hunt`. Promises name them, or groups of them, by `under`, and so does `Menu(kinds=…)`."""


def pages() -> Iterator[ReferencePage]:
    """Yield the page of the kinds of faults."""
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
    yield ReferencePage(PATH, "Faults of plays", f"{INTRO}\n\n{size_table()}\n\n{OFTEN}", entries)
