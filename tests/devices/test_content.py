"""Content: items that the devices of a product list and download."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.core.errors import LabError
from labkit.devices.content import LARGEST, PIECE, Content
from labkit.labtime.clock import Clock
from labkit.storage.database import Database
from labkit.storage.schema import metadata

LONG = bytes(range(256)) * (3 * PIECE // 256) + b"the end"


async def test_an_item_is_listed_described_and_read(content: Content) -> None:
    added = await content.add("p", "fw.bin", b"12345", "text/plain", "firmware, 1.2")
    assert (added.id, added.type, added.size, added.updated, added.description, added.sha256) == (
        "fw.bin",
        "text/plain",
        5,
        1000,
        "firmware, 1.2",
        hashlib.sha256(b"12345").hexdigest(),
    )
    await content.add("p", "a", b"")
    await content.add("q", "b", b"other")
    assert [item.id for item in await content.list("p")] == ["a", "fw.bin"]
    assert await content.info("p", "fw.bin") == added
    assert await content.info("q", "fw.bin") is None
    assert await content.read("p", "fw.bin", 0, 4) == b"12345"
    assert await content.read("p", "a", 0, 0) == b""


@given(st.integers(0, len(LONG) - 1), st.integers(0, len(LONG) - 1))
async def test_any_part_of_an_item_can_be_read(one: int, other: int) -> None:
    first, last = sorted((one, other))
    database = Database()
    database.start(metadata)
    content = Content(database, Clock(0))
    await content.add("p", "long", LONG)
    assert await content.read("p", "long", first, last) == LONG[first : last + 1]
    database.close()


@pytest.mark.parametrize("edge", [0, PIECE - 1, PIECE, 2 * PIECE, len(LONG) - 1])
async def test_parts_that_end_at_the_edge_of_a_piece(content: Content, edge: int) -> None:
    await content.add("p", "long", LONG)
    for first, last in ((0, edge), (edge, edge), (edge, len(LONG) - 1)):
        assert await content.read("p", "long", first, last) == LONG[first : last + 1]


async def test_an_item_is_replaced_as_a_whole(content: Content, clock: Clock) -> None:
    first = await content.add("p", "fw", LONG, "text/plain", "long")
    await clock.advance(60)
    second = await content.add("p", "fw", b"short")
    assert await content.list("p") == [second]
    assert (second.size, second.type, second.description, second.updated) == (
        5,
        "application/octet-stream",
        "",
        1060,
    )
    assert await content.read("p", "fw", 0, first.size) == b"short"


async def test_contents_that_differ_only_in_their_bytes_are_distinct(content: Content) -> None:
    first, second = await content.add("p", "fw", b"11"), await content.add("p", "fw", b"22")
    assert first != second
    assert replace(first, sha256="") == replace(second, sha256="")


async def test_a_removed_item_leaves_no_row(content: Content, database: Database) -> None:
    await content.add("p", "fw", LONG)
    await content.remove("p", "fw")
    assert await content.list("p") == []
    assert await content.read("p", "fw", 0, 10) == b""
    assert not (await database.select("select * from content_piece")).rows
    with pytest.raises(LabError, match="product 'p' has no content 'fw'"):
        await content.remove("p", "fw")


class Vast(bytes):
    """Content of any length, in little memory."""

    def __len__(self) -> int:
        return LARGEST + 1


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"id": ""}, "1 to 256 printable"),
        ({"id": "x" * 257}, "1 to 256 printable"),
        ({"id": "a\nb"}, "1 to 256 printable"),
        ({"type": ""}, "no content type"),
        ({"type": "text/plain\r\nX-Injected: 1"}, "no content type"),
        ({"type": "téxt"}, "no content type"),
        ({"data": Vast()}, f"at most {LARGEST}"),
    ],
)
async def test_an_invalid_item_is_refused(content: Content, values: dict[str, Any], reason: str) -> None:
    with pytest.raises(LabError, match=reason):
        await content.add(**{"product": "p", "id": "fw", "data": b"", **values})
    assert await content.list("p") == []
