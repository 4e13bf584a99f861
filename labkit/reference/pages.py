"""All of the reference: pages for the book, and entries by name for the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from labkit.core.errors import UnknownError, did_you_mean
from labkit.reference import (
    api,
    control,
    faults,
    hunt_faults,
    modules,
    promises,
    requirements,
    services,
    settings,
    testing,
)
from labkit.reference.entry import ReferenceEntry, ReferencePage

# Requirements import all checks and mutants, which takes longest, so the terminal looks there last.
PARTS = (services.pages, settings.pages, faults.pages, control.pages, modules.pages)
LAST = (testing.pages, promises.pages, hunt_faults.pages, requirements.pages)
KEYS = ("setting", "fault", "page")  # kinds of entries that are found by the last part of their names, too


@cache
def pages(
    parts: tuple[Callable[[], Iterator[ReferencePage]], ...] = (*PARTS, *LAST),
) -> tuple[ReferencePage, ...]:
    """Return the pages of parts of the reference that are Markdown, by default of all."""
    return tuple(page for part in parts for page in part())


def generated() -> Iterator[tuple[str, str]]:
    """Yield the path in the book and the text of each file that is made from the code."""
    yield from api.pages()
    yield from ((f"{page.path}.md", page.markdown()) for page in pages())
    yield "_static/lab.schema.json", json.dumps(settings.schema(), indent=1, ensure_ascii=False)


def find(name: str, further: Iterable[ReferenceEntry] = ()) -> list[ReferenceEntry]:
    """Return the entries with a name or an alias: those in the same letter case, else those in any.

    Else return the keys of settings and faults whose last part is the name: `faults[].cut` for `cut`.

    further: entries that the caller adds, such as commands. Raises UnknownError, suggesting the most similar name.
    """
    known: list[ReferenceEntry] = []
    for parts in (PARTS, LAST):
        found = [*further, *api.entries(), *_entries(parts)] if parts is PARTS else _entries(parts)
        known += found
        for fold in (str, str.lower):
            for names in (_name, _aliases):
                if matching := [each for each in found if fold(name) in map(fold, names(each))]:
                    return matching
    if matching := [each for each in known if each.kind in KEYS and each.name.rpartition(".")[2] == name]:
        return matching
    hint = did_you_mean(name, [text for each in known for text in (each.name, *each.aliases)])
    hint = hint or "; `labkit docs Keystore` lists the operations of a service"
    raise UnknownError(f"the reference has no entry {name!r}{hint}")


def _name(entry: ReferenceEntry) -> tuple[str, ...]:
    return (entry.name, *entry.aliases) if entry.kind == "command" else (entry.name,)


def _aliases(entry: ReferenceEntry) -> tuple[str, ...]:
    return entry.aliases


def _entries(parts: tuple[Callable[[], Iterator[ReferencePage]], ...]) -> list[ReferenceEntry]:
    """Return the entries of these parts, and one for each page that lists its entries."""
    found = pages(parts)
    return [*map(_contents, found), *(entry for page in found for entry in page.entries)]


def _contents(page: ReferencePage) -> ReferenceEntry:
    width = max(len(each.name) for each in page.entries)
    lines = [f"  {each.name:{width}}  {each.body.strip().splitlines()[0]}" for each in page.entries]
    return ReferenceEntry("page", page.title, "\n".join([page.intro, "", *lines]))
