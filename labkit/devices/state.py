"""Device state: the datapoints of each alias (document 1, Resources: datapoint).

A datapoint is a value at a timestamp in whole seconds; a second value at the same timestamp replaces the
first. The newest datapoint of an alias is its current value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Column, Connection, Integer, String, Table

from labkit.core.database import Database, execute
from labkit.core.tables import metadata

datapoint_table = Table(
    "datapoint",
    metadata,
    Column("product", String, primary_key=True),
    Column("identity", String, primary_key=True),
    Column("alias", String, primary_key=True),
    Column("timestamp", Integer, primary_key=True),
    Column("value", String, nullable=False),
    sqlite_with_rowid=False,
)

# The statements of every write and read go straight to the driver: around one of them, SQLAlchemy's result
# objects cost several times what SQLite itself does.
STORE = "INSERT OR REPLACE INTO datapoint (product, identity, alias, timestamp, value) VALUES (?, ?, ?, ?, ?)"
LATEST = (
    "SELECT value FROM datapoint WHERE product = ? AND identity = ? AND alias = ? "
    "ORDER BY timestamp DESC LIMIT 1"
)
AFTER = (
    "SELECT timestamp, value FROM datapoint WHERE product = ? AND identity = ? AND alias = ? "
    "AND timestamp > ? ORDER BY timestamp LIMIT 1"
)


class Datapoint(NamedTuple):
    """A value of an alias at a time (Unix seconds)."""

    alias: str
    timestamp: int
    value: str


class State:
    """The datapoints of all devices. Newest values that were read stay in memory until their device writes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._newest: dict[tuple[str, str], dict[str, str | None]] = {}  # of a device: alias → value, if any

    async def store(
        self, product: str, identity: str, points: Sequence[Datapoint], read: Iterable[str] = ()
    ) -> list[tuple[str, str]]:
        """Store datapoints; then, in the same transaction, read the newest values as `latest` does."""
        self._newest.pop((product, identity), None)
        return await self._database.run(_store, product, identity, points, read)

    async def latest(self, product: str, identity: str, aliases: Sequence[str]) -> list[tuple[str, str]]:
        """(alias, newest value) of each alias that has one, in the order given."""
        # A write in the meantime takes this dict away, so that what is read below is not kept for later.
        newest = self._newest.setdefault((product, identity), {})
        missing = [alias for alias in aliases if alias not in newest]
        if missing:
            found = dict(await self._database.read(_latest, product, identity, missing))
            newest.update((alias, found.get(alias)) for alias in missing)
        return [(alias, value) for alias in aliases if (value := newest[alias]) is not None]

    def forget_all(self) -> None:
        """Read every value anew: the database was emptied."""
        self._newest.clear()

    async def first_after(self, product: str, identity: str, alias: str, since: int) -> Datapoint | None:
        """The earliest datapoint later than `since` (Unix seconds)."""
        return await self._database.read(_first_after, product, identity, alias, since)


def _store(
    connection: Connection, product: str, identity: str, points: Sequence[Datapoint], read: Iterable[str]
) -> list[tuple[str, str]]:
    for point in points:
        execute(connection, STORE, (product, identity, point.alias, point.timestamp, point.value))
    return _latest(connection, product, identity, read)


def _latest(
    connection: Connection, product: str, identity: str, aliases: Iterable[str]
) -> list[tuple[str, str]]:
    found = []
    for alias in aliases:
        row = execute(connection, LATEST, (product, identity, alias)).fetchone()
        if row is not None:
            found.append((alias, row[0]))
    return found


def _first_after(
    connection: Connection, product: str, identity: str, alias: str, since: int
) -> Datapoint | None:
    row = execute(connection, AFTER, (product, identity, alias, since)).fetchone()
    return None if row is None else Datapoint(alias, row[0], row[1])
