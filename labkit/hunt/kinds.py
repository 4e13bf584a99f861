"""Kinds of faults that a play can draw, and groups of them, by which promises name the faults that they bear."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    "messages": ("message delay", "message lost", "message doubled", "message cut"),
    "outgoing": ("outgoing delay", "outgoing cut", "outgoing error"),
    "providers": ("provider error", "provider delay"),
    "platform": ("restart", "restart at call", "restart at event"),
    "devices": ("wrong clock", "lost credential", "late start", "cut off"),
    "programs": ("program restart", "program power cut", "program credential lost"),
    "quotas": ("full quota",),
    "order": ("overlap", "handler order"),
}

MEANINGS: dict[str, str] = {  # what happens
    "request delay": "a request of a device is delayed",
    "request lost": "the connection is cut before the platform gets a request",
    "request cut inside": "the connection is cut within the answer",
    "request cut after": "the connection is cut after the work, before the answer",
    "request error": "a device gets an error instead of the work",
    "request error after": "the work is done, and the device gets an error",
    "call delay": "a script's service call is delayed",
    "call error": "a script's service call fails",
    "call error after": "a script's service call works, and returns an error",
    "event lost": "an event never arrives",
    "event doubled": "an event arrives twice, at once or later",
    "event late": "an event is late, and others overtake it",
    "event delay": "an event is delayed, and so are those behind it",
    "message delay": "a message of a websocket is delayed",
    "message lost": "a message of a websocket never arrives",
    "message doubled": "a message of a websocket arrives twice",
    "message cut": "a websocket is cut at a message, before or after it",
    "outgoing delay": "a request that the platform sends is delayed",
    "outgoing cut": "a request that the platform sends gets no answer, before or after the work",
    "outgoing error": "a request that the platform sends gets an error",
    "provider error": "a provider fails: an error, broken JSON, no answer, and others that it knows",
    "provider delay": "a provider answers late",
    "restart": "the platform loses its power at a moment",
    "restart at call": "the platform loses its power at a script's service call",
    "restart at event": "the platform loses its power at an event",
    "wrong clock": "the clocks of devices jump",
    "lost credential": "the platform loses the credentials of devices",
    "late start": "devices start later than their fleet",
    "cut off": "devices have no connection for a time",
    "program restart": "a program of `lab.firmware` is killed, and starts again",
    "program power cut": "the device of a program loses its power for a time, and its connections fall silent",
    "program credential lost": "the platform loses the credential of a program",
    "full quota": "a quota is full for a time: that of a solution's keys, or of its calls of another one",
    "overlap": "service calls of handlers take lab time, so that handlers overlap, and devices act in step",
    "handler order": "the order in which several solutions handle one event is drawn",
}

KINDS = frozenset(kind for kinds in GROUPS.values() for kind in kinds)

# Names of kinds and groups; as a mapping with limits of their settings, which `FaultChoice.of` explains.
Under = str | Iterable[str] | Mapping[str, Mapping[str, object]]


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
