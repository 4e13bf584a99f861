"""Faults of the hybrid request."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import patch


@patch("DEV-HYBRID-2", "labkit.devices.state:State.store")
async def reads_first(
    original: Any, self: Any, product: Any, identity: Any, points: Any, received: Any, read: Any = ()
) -> Any:
    """the reads happen before the writes"""
    *_, found = await original(self, product, identity, [], received, read)
    *stored, _ = await original(self, product, identity, points, received)
    return *stored, found
