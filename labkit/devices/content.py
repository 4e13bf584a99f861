"""Content: files that the devices of a product list and download (document 1, Resources: content item)."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Column, Connection, Integer, LargeBinary, String, Table, select
from sqlalchemy.dialects.sqlite import insert

from labkit.core.clock import Clock
from labkit.core.database import Database
from labkit.core.errors import LabError
from labkit.core.tables import metadata

LARGEST = 128 * 1024 * 1024

content_table = Table(
    "content",
    metadata,
    Column("product", String, primary_key=True),
    Column("id", String, primary_key=True),
    Column("type", String, nullable=False),
    Column("size", Integer, nullable=False),
    Column("updated", Integer, nullable=False),  # Unix seconds of lab time
    Column("description", String, nullable=False),
    Column("data", LargeBinary, nullable=False),
)
META = [content_table.c[name] for name in ("id", "type", "size", "updated", "description")]


@dataclass(frozen=True, slots=True)
class ContentInfo:
    """Meta fields of a content item; `size` in bytes, `updated` in Unix seconds."""

    id: str
    type: str
    size: int
    updated: int
    description: str


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
        """Add an item or replace it. Raises LabError where the id cannot be listed or the data is too large."""
        if not id or not id.isprintable() or len(id) > 256:
            raise LabError(f"a content id has 1 to 256 printable characters, not {id!r}")
        if len(data) > LARGEST:
            raise LabError(f"content {id!r} has {len(data)} bytes, at most {LARGEST} are taken")
        if not type.isprintable() or not type.isascii():
            raise LabError(f"content {id!r}: {type!r} is no content type")
        info = ContentInfo(id, type, len(data), self._clock.seconds(), description)
        await self._database.run(_put, product, info, data)
        return info

    async def remove(self, product: str, id: str) -> None:
        """Raises LabError where there is no such item."""
        if not await self._database.run(_remove, product, id):
            raise LabError(f"product {product!r} has no content {id!r}")

    async def list(self, product: str) -> list[ContentInfo]:
        """The items of a product by id."""
        return await self._database.read(_list, product)

    async def info(self, product: str, id: str) -> ContentInfo | None:
        """The meta fields of an item."""
        return await self._database.read(_info, product, id)

    async def read(self, product: str, id: str, first: int, last: int) -> bytes:
        """The bytes of an item from position `first` to `last`, both 0-based and included."""
        return await self._database.read(_read, product, id, first, last)


def _row(product: str, id: str) -> object:
    return (content_table.c.product == product) & (content_table.c.id == id)


def _put(connection: Connection, product: str, info: ContentInfo, data: bytes) -> None:
    values = {
        "type": info.type,
        "size": info.size,
        "updated": info.updated,
        "description": info.description,
        "data": data,
    }
    connection.execute(
        insert(content_table)
        .values(product=product, id=info.id, **values)
        .on_conflict_do_update(index_elements=["product", "id"], set_=values)
    )


def _remove(connection: Connection, product: str, id: str) -> int:
    return connection.execute(content_table.delete().where(_row(product, id))).rowcount  # type: ignore[arg-type]


def _list(connection: Connection, product: str) -> list[ContentInfo]:
    query = select(*META).where(content_table.c.product == product).order_by(content_table.c.id)
    return [ContentInfo(*row) for row in connection.execute(query)]


def _info(connection: Connection, product: str, id: str) -> ContentInfo | None:
    row = connection.execute(select(*META).where(_row(product, id))).first()  # type: ignore[arg-type]
    return None if row is None else ContentInfo(*row)


def _read(connection: Connection, product: str, id: str, first: int, last: int) -> bytes:
    row = connection.exec_driver_sql(
        "SELECT substr(data, ?, ?) FROM content WHERE product = ? AND id = ?",
        (first + 1, last - first + 1, product, id),
    ).first()
    return bytes(row[0]) if row is not None else b""
