"""Kinds of faults that a play can draw, and groups of them, by which promises name the faults that they bear."""

from __future__ import annotations

from collections.abc import Iterable

from labkit.core.errors import LabError, UnknownError, unknown

GROUPS: dict[str, tuple[str, ...]] = {
    "requests": (
        "request delay",
        "request lost",
        "request cut inside",
        "request cut after",
        "request error",
        "request error after",
    ),
    "calls": ("call delay", "call error", "call error after"),
    "events": ("event lost", "event doubled", "event late", "event delay"),
    "outgoing": ("outgoing delay", "outgoing cut", "outgoing error"),
    "providers": ("provider error", "provider delay"),
    "platform": ("restart", "restart at call", "restart at event"),
    "devices": ("wrong clock", "lost credential", "late start", "cut off"),
    "quotas": ("full quota",),
    "order": ("overlap", "handler order"),
}

KINDS = frozenset(kind for kinds in GROUPS.values() for kind in kinds)

Under = str | Iterable[str]  # names of kinds and groups


def kinds_of(names: Under, except_for: Under = ()) -> frozenset[str]:
    """Return the kinds of faults that these names mean.

    names: of kinds and groups, such as `("requests", "event late")`, or a single one; except_for: names of those that
    are left out. Raises UnknownError for an unknown name, LabError for what is no name.
    """
    return frozenset(_kinds(names)) - frozenset(_kinds(except_for))


def _kinds(names: Under) -> Iterable[str]:
    try:
        given = (names,) if isinstance(names, str) else tuple(names)
    except TypeError:
        raise LabError(f"expected names of kinds of faults, not {names!r:.100}") from None
    for name in given:
        if name in GROUPS:
            yield from GROUPS[name]
        elif name in KINDS:
            yield name
        elif isinstance(name, str):
            raise UnknownError(unknown("kind of fault", name, (*GROUPS, *sorted(KINDS))))
        else:
            raise LabError(f"expected the name of a kind of faults, not {name!r:.100}")
