"""Faults of the hybrid request."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from labkit.conformance.mutant import mutant

STORE = "labkit.devices.state:store_points"

Found = list[tuple[str, str]]


@mutant("DEV-HYBRID-1", STORE)
def writes_come_back(original: Any) -> Any:
    """what was written comes back too"""

    def broken(connection: Connection, product: str, identity: str, points: Any, read: Any) -> Found:
        aliases = [*read, *(each.alias for each in points if read)]
        found: Found = original(connection, product, identity, points, aliases)
        return found

    return broken


@mutant("DEV-HYBRID-1 DEV-HYBRID-2 DEV-HYBRID-3", STORE)
def reads_alone(original: Any) -> Any:
    """a request that reads as well stores nothing"""

    def broken(connection: Connection, product: str, identity: str, points: Any, read: Any) -> Found:
        found: Found = original(connection, product, identity, [] if read else points, read)
        return found

    return broken


@mutant("DEV-HYBRID-2", STORE)
def reads_first(original: Any) -> Any:
    """the reads happen before the writes"""

    def broken(connection: Connection, product: str, identity: str, points: Any, read: Any) -> Found:
        found: Found = original(connection, product, identity, [], read)
        original(connection, product, identity, points, [])
        return found

    return broken
