"""Faults of the hybrid request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.devices.state import Datapoint, State, Stored

STORE = "labkit.devices.state:State.store"

Points = Sequence[Datapoint]
Kept = tuple[list[Stored], list[tuple[str, str]]]  # and what is read


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
