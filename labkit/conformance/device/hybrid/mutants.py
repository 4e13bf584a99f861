"""Faults of the hybrid request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.devices.state import Datapoint, State, Stored

STORE = "labkit.devices.state:State.store"

Points = Sequence[Datapoint]
Kept = tuple[list[Stored], list[tuple[str, str]]]  # and what is read


@mutant("DEV-HYBRID-1", STORE)
def writes_come_back(original: Any) -> Any:
    """what was written comes back too"""

    async def broken(
        self: State, product: str, identity: str, points: Points, received: int, read: Sequence[str] = ()
    ) -> Kept:
        aliases = [*read, *(each.alias for each in points if read)]
        kept: Kept = await original(self, product, identity, points, received, aliases)
        return kept

    return broken


@mutant("DEV-HYBRID-1 DEV-HYBRID-2 DEV-HYBRID-3", STORE)
def reads_alone(original: Any) -> Any:
    """a request that reads as well stores nothing"""

    async def broken(
        self: State, product: str, identity: str, points: Points, received: int, read: Sequence[str] = ()
    ) -> Kept:
        kept: Kept = await original(self, product, identity, [] if read else points, received, read)
        return kept

    return broken


@mutant("DEV-HYBRID-2", STORE)
def reads_first(original: Any) -> Any:
    """the reads happen before the writes"""

    async def broken(
        self: State, product: str, identity: str, points: Points, received: int, read: Sequence[str] = ()
    ) -> Kept:
        _, found = await original(self, product, identity, [], received, read)
        stored, _ = await original(self, product, identity, points, received)
        return stored, found

    return broken
