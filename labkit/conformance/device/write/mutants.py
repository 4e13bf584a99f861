"""Faults of the write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.devices.state import Datapoint, State, Stored
from labkit.settings import LabSettings, Wire

STORE = "labkit.devices.state:State.store"
PARSE = "labkit.device_api.forms:parse_body"

Form = list[tuple[str, str]]
Points = Sequence[Datapoint]
Kept = tuple[list[Stored], list[tuple[str, str]]]  # and what is read


@mutant("DEV-ALIAS-2 DEV-REC-2", STORE)
def hour_off(original: Any) -> Any:
    """datapoints are stored an hour late"""
    return _stored(
        original, lambda points: [each._replace(timestamp=each.timestamp + 3600) for each in points]
    )


@mutant("DEV-ALIAS-2 DEV-POLL-4", STORE)
def microseconds(original: Any) -> Any:
    """datapoints are stored under microseconds"""
    return _stored(
        original, lambda points: [each._replace(timestamp=each.timestamp * 1_000_000) for each in points]
    )


@mutant("DEV-ALIAS-3", STORE)
def stamps_differ(original: Any) -> Any:
    """each alias of a write gets a timestamp of its own"""

    def spread(points: list[Datapoint]) -> list[Datapoint]:
        return [each._replace(timestamp=each.timestamp + index) for index, each in enumerate(points)]

    return _stored(original, spread)


@mutant("DEV-ALIAS-5", PARSE)
def ascii_only(original: Any) -> Any:
    """letters beyond ASCII are lost"""
    return lambda body: [(n, value.encode("ascii", "ignore").decode()) for n, value in original(body)]


@mutant("DEV-ALIAS-8", PARSE)
def bare_names_dropped(original: Any) -> Any:
    """a name without = is left out"""

    def broken(body: bytes) -> Form:
        pairs: Form = original(b"&".join(part for part in body.split(b"&") if b"=" in part))
        return pairs

    return broken


@mutant("DEV-ALIAS-10 DEV-REC-9", STORE)
def first_of_a_second(original: Any) -> Any:
    """of two values of one second the first one stays"""
    taken: set[tuple[str, str, str, int]] = set()

    async def broken(self: State, product: str, identity: str, points: Points, *rest: Any) -> Kept:
        fresh = [each for each in points if (product, identity, each.alias, each.timestamp) not in taken]
        taken.update((product, identity, each.alias, each.timestamp) for each in fresh)
        kept: Kept = await original(self, product, identity, fresh, *rest)
        return kept

    return broken


@mutant("DEV-ALIAS-11 DEV-REC-1", "labkit.settings:LabSettings.wires", from_start=True)
def no_length(original: Any) -> Any:
    """a 204 has no Content-Length"""

    def broken(self: LabSettings) -> Wire:
        wire: Wire = original(self)
        return wire.model_copy(update={"empty_length": False})

    return broken


def _stored(original: Any, change: Any) -> Any:
    async def broken(self: State, product: str, identity: str, points: Points, *rest: Any) -> Kept:
        kept: Kept = await original(self, product, identity, change(list(points)), *rest)
        return kept

    return broken
