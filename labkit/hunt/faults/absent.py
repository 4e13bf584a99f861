"""Products and devices that a fault names, and that the lab of its play does not have."""

from __future__ import annotations

from collections.abc import Iterable

from labkit.core.errors import unknown
from labkit.core.journal import Journal
from labkit.faults.patterns import Pattern
from labkit.lab.lab import Lab
from labkit.lab.observer import LabObserver

Names = str | int | Iterable[str | int] | None  # ids, identities or patterns; numbers of devices are no names

MOST = 20  # names that a sentence lists


def absent_product(lab: Lab, names: Names) -> str:
    """Return a sentence about the first of these products that a lab does not have; empty if it has all."""
    return "" if names is None else _absent("product", names, LabObserver(lab).product_ids())


def absent_device(lab: Lab, names: Names) -> str:
    """Return a sentence about the first of these devices that a lab does not have; empty if it has all.

    Devices are those of fleets, and those that the journal names, of any product.
    """
    if names is None:
        return ""
    observer = LabObserver(lab)

    def actors(journal: Journal) -> set[str]:
        return {each.actor for each in journal.iterate()}

    known = {
        each.partition("/")[2] for each in {*observer.fleet_devices(), *observer.read(actors)} if "/" in each
    }
    return _absent("device", names, known)


def _absent(kind: str, names: str | int | Iterable[str | int], known: set[str]) -> str:
    several = (names,) if isinstance(names, str | int) else tuple(names)
    for each in several:
        if isinstance(each, str) and not any(map(Pattern(each).matches, known)):
            return unknown(kind, each, sorted(known)[:MOST])
    return ""
