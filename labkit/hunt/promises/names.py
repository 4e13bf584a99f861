"""Names in filters of records that a lab never had, as after a misspelling."""

from __future__ import annotations

import re
from collections.abc import Iterable

from labkit.core.errors import did_you_mean
from labkit.core.journal import Journal
from labkit.faults.patterns import Pattern
from labkit.hunt.promises.filters import JournalFilter
from labkit.lab.lab import Lab
from labkit.lab.observer import LabObserver

OPERATION = re.compile(r"[\w*]+\.[\w*]+")  # service and operation, or patterns of them


def absent_name(lab: Lab, unwanted: JournalFilter) -> str:
    """Return a sentence about the first name of a filter that a lab never had; empty if it had all.

    Names are those of operations, events, products and devices. A name that a record has counts as had.
    """
    observer, names, kind = LabObserver(lab), unwanted.names, unwanted.only_kind
    for each in names.get("summary", ()):
        if kind == "event":
            what, known = "event", observer.event_names()
        elif kind == "call" or (kind is None and OPERATION.fullmatch(each)):
            what, known = "operation", observer.operation_names()
        else:
            continue
        known |= observer.read(lambda journal: _summaries(journal, kind))
        if hint := _absent(what, each, known):
            return hint
    known = observer.product_ids()
    for each in names.get("product", ()):
        if hint := _absent("product", each, known):
            return hint
    known = {
        each.partition("/")[2] for each in (*observer.fleet_devices(), *observer.read(_actors)) if "/" in each
    }
    return next((hint for each in names.get("identity", ()) if (hint := _absent("device", each, known))), "")


def _absent(kind: str, name: str, known: Iterable[str]) -> str:
    pattern = Pattern(name)
    return (
        ""
        if any(map(pattern.matches, known))
        else f"the lab has no {kind} {name!r}{did_you_mean(name, known)}"
    )


def _summaries(journal: Journal, kind: str | None) -> set[str]:
    return {each.summary for each in journal.iterate(kind)}


def _actors(journal: Journal) -> set[str]:
    return {each.actor for each in journal.iterate()}
