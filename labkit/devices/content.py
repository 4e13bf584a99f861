"""Content: files that the devices of a product list and download (document 1, Resources: content item)."""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    Table,
    select,
)

from labkit.core.errors import LabError, UnknownError
from labkit.labtime.clock import Clock
from labkit.storage.database import Database, execute
from labkit.storage.schema import metadata, numbers, texts

LARGEST = 128 * 1024 * 1024
PIECE = 64 * 1024

content_table = Table(
    "content",
    metadata,
    *texts("product", "id", key=True),
    *texts("type"),
    *numbers("size"),
    *numbers("updated"),  # Unix seconds of lab time
    *texts("description", "sha256"),
)
META = [content_table.c[name] for name in ("id", "type", "size", "updated", "description", "sha256")]

# In pieces, because SQLite reads a value from its beginning even for a part in its middle.
piece_table = Table(
    "content_piece",
    metadata,
    *texts("product", "id", key=True),
    Column("number", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    ForeignKeyConstraint(["product", "id"], ["content.product", "content.id"], ondelete="CASCADE"),
)


@dataclass(frozen=True, slots=True)
class ContentInfo:
    """Meta fields of a content item; `size` in bytes, `updated` in Unix seconds, `sha256` in hex digits."""

    id: str
    type: str
    size: int
    updated: int
    description: str
    sha256: str


class Content:
    """The content of all products."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(
        self,
        product: str,
        id: str,
        data: bytes,
        type: str = "application/octet-stream",
        description: str = "",
    ) -> ContentInfo:
        """Add or replace an item.

        Raises LabError for an id that cannot be listed, an invalid type, and data that is too large.
        """
        if not id or not id.isprintable() or len(id) > 256:
            raise LabError(f"a content id has 1 to 256 printable characters, not {id!r}")
        if len(data) > LARGEST:
            raise LabError(f"content {id!r} has {len(data)} bytes, at most {LARGEST} are taken")
        if not type.strip() or not type.isprintable() or not type.isascii():
            raise LabError(f"content {id!r}: {type!r} is no content type")
        sha256 = hashlib.sha256(data).hexdigest()
        info = ContentInfo(id, type, len(data), self._clock.seconds(), description, sha256)
        await self._database.run(put_item, product, info, data)
        return info

    async def remove(self, product: str, id: str) -> None:
        """Remove an item. Raises UnknownError where there is none with this id."""
        if not await self._database.run(_remove, product, id):
            there = ", ".join(each.id for each in await self.list(product)) or "none"
            raise UnknownError(f"product {product!r} has no content {id!r}, there are: {there}")

    async def list(self, product: str) -> list[ContentInfo]:
        """Return the items of a product, sorted by id."""
        return await self._database.read(item_ids, product)

    async def info(self, product: str, id: str) -> ContentInfo | None:
        """Return the meta fields of an item, or None."""
        return await self._database.read(item_info, product, id)

    async def read(self, product: str, id: str, first: int, last: int) -> bytes:
        """Return the bytes of an item from position `first` to `last`, both 0-based and included."""
        return await self._database.read(_read, product, id, first, last)


def _row(product: str, id: str) -> ColumnElement[bool]:
    return (content_table.c.product == product) & (content_table.c.id == id)


def put_item(connection: Connection, product: str, info: ContentInfo, data: bytes) -> None:
    """Store an item with its data, in place of any with the same id."""
    _remove(connection, product, info.id)
    connection.execute(content_table.insert().values((product, *astuple(info))))
    for number, start in enumerate(range(0, len(data), PIECE)):
        execute(
            connection,
            "INSERT INTO content_piece (product, id, number, data) VALUES (?, ?, ?, ?)",
            (product, info.id, number, data[start : start + PIECE]),
        )


def _remove(connection: Connection, product: str, id: str) -> int:
    return connection.execute(content_table.delete().where(_row(product, id))).rowcount


def item_ids(connection: Connection, product: str) -> list[ContentInfo]:
    """Return the meta fields of a product's items, sorted by id."""
    query = select(*META).where(content_table.c.product == product).order_by(content_table.c.id)
    return [ContentInfo(*row) for row in connection.execute(query)]


def item_info(connection: Connection, product: str, id: str) -> ContentInfo | None:
    """Return the meta fields of an item, or None."""
    row = connection.execute(select(*META).where(_row(product, id))).first()
    return None if row is None else ContentInfo(*row)


def _read(connection: Connection, product: str, id: str, first: int, last: int) -> bytes:
    rows = execute(
        connection,
        "SELECT data FROM content_piece WHERE product = ? AND id = ? AND number BETWEEN ? AND ? "
        "ORDER BY number",
        (product, id, first // PIECE, last // PIECE),
    )
    start = first % PIECE
    return b"".join(row[0] for row in rows)[start : start + last - first + 1]
