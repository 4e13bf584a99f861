"""Tags of devices: names with values, which solutions give them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, Index, Table

from labkit.storage.database import execute, execute_many
from labkit.storage.schema import metadata, texts

tag_table = Table(
    "identity_tag",
    metadata,
    *texts("product", "identity", "name", "value", key=True),
    Index("identity_by_tag", "product", "name", "value", "identity"),  # in the order of a page of devices
    sqlite_with_rowid=False,
)

DEVICE = "product = ? AND identity = ?"
READ = "SELECT name, value FROM identity_tag WHERE product = ? AND identity = ? ORDER BY name, value"
_NEXT = "(SELECT min(name) FROM identity_tag WHERE product = ?1 AND name > found.name)"
NAMES = (  # a step of the index for each, however many devices have it
    f"WITH RECURSIVE found(name) AS (VALUES ('') UNION ALL SELECT {_NEXT} FROM found WHERE name IS NOT NULL "
    "LIMIT ?2 + 1) SELECT name FROM found WHERE name > ''"
)
ADD = "INSERT OR IGNORE INTO identity_tag (product, identity, name, value) VALUES (?, ?, ?, ?)"
REMOVE_NAME = f"DELETE FROM identity_tag WHERE {DEVICE} AND name = ?"
REMOVE = f"DELETE FROM identity_tag WHERE {DEVICE} AND name = ? AND value = ?"


class Tag(NamedTuple):
    """A tag. value: None in a selection means any value."""

    name: str
    value: str | None


def read_tags(connection: Connection, product: str, identity: str) -> list[Tag]:
    """Return the tags of a device, by name and value."""
    return [Tag(name, value) for name, value in execute(connection, READ, (product, identity))]


def tag_names(connection: Connection, product: str, limit: int) -> list[str]:
    """Return the names of the tags that devices of a product have, in order."""
    return [name for (name,) in execute(connection, NAMES, (product, limit))]


def add_tags(connection: Connection, product: str, identity: str, tags: Iterable[Tag], replace: bool) -> None:
    """Add tags to a device. replace: first remove its other tags of the same names."""
    rows = [(product, identity, tag.name, tag.value) for tag in tags]
    if replace:
        execute_many(connection, REMOVE_NAME, [row[:3] for row in rows])
    execute_many(connection, ADD, rows)


def remove_tags(connection: Connection, product: str, identity: str, tags: Iterable[Tag]) -> None:
    """Remove tags of a device; those that it does not have are ignored."""
    for name, value in tags:
        if value is None:
            execute(connection, REMOVE_NAME, (product, identity, name))
        else:
            execute(connection, REMOVE, (product, identity, name, value))
