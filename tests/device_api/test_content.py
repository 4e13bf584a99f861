"""Downloads of content: odd ranges, framing across pieces, and concurrent changes."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from labkit.device_api.content import requested_range
from labkit.devices.content import PIECE
from labkit.http.error import HttpError
from labkit.settings import Wire
from tests.device_api.rig import DOWNLOAD, Client, DeviceRig

TEN = b"0123456789"
LONG = bytes(range(256)) * (2 * PIECE // 256) + b"the end"


async def download(client: Client, requested: str | None = None, id: str = "fw") -> Any:
    headers = [] if requested is None else [("Range", requested)]
    return await client.ask("GET", f"{DOWNLOAD}?id={id}", headers=headers)


# --- downloads ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requested", "body", "range"),
    [
        ("BYTES= 2 - 5 ", b"2345", "bytes 2-5/10"),
        (f"bytes=5-{'9' * 5000}", b"56789", "bytes 5-9/10"),
        (f"bytes={'0' * 99}5-{'0' * 99}6", b"56", "bytes 5-6/10"),
        (f"bytes={'9' * 20}-5", TEN, None),
        ("bytes=٣-", TEN, None),
    ],
)
async def test_a_range(rig: DeviceRig, requested: str, body: bytes, range: str | None) -> None:
    client = await rig.device()
    await rig.platform.devices.content.add("token", "fw", TEN)
    answer = await download(client, requested)
    assert (answer.status, answer.body, answer.header("Content-Range")) == (200, body, range)
    assert answer.header("Accept-Ranges") == ("bytes" if range else None)
    assert answer.header("Content-Length") == str(len(body))


@pytest.mark.parametrize(
    "requested", [f"bytes={PIECE - 2}-{PIECE + 1}", f"bytes={PIECE}-", "bytes=-9", "bytes=1-"]
)
async def test_a_range_across_pieces(rig: DeviceRig, requested: str) -> None:
    client = await rig.device()
    await rig.platform.devices.content.add("token", "fw", LONG)
    answer = await download(client, requested)
    first, last = map(int, re.findall(r"\d+", answer.header("Content-Range"))[:2])
    assert answer.body == LONG[first : last + 1]


async def test_two_ranges_are_ignored(rig: DeviceRig) -> None:
    client = await rig.device()
    await rig.platform.devices.content.add("token", "fw", TEN)
    headers = [("Range", "bytes=0-1"), ("Range", "bytes=2-3")]
    assert (await client.ask("GET", f"{DOWNLOAD}?id=fw", headers=headers)).body == TEN


@pytest.mark.parametrize("change", ["replaced", "removed"])
async def test_a_content_that_changes_ends_its_download(rig: DeviceRig, change: str) -> None:
    client, content = await rig.device(), rig.platform.devices.content
    await content.add("token", "fw", b"a" * 100 * PIECE)
    original = content.read
    pieces = 0

    async def read(product: str, id: str, first: int, last: int) -> bytes:
        nonlocal pieces
        pieces += 1
        if pieces == 2:
            if change == "removed":
                await content.remove("token", "fw")
            else:
                await content.add("token", "fw", b"b" * 100 * PIECE)
        return await original(product, id, first, last)

    content.read = read  # type: ignore[method-assign]
    client.send("GET", f"{DOWNLOAD}?id=fw")
    came = await client.rest()  # the connection ends: the client can detect that the content is incomplete
    assert came.count(b"a") < 3 * PIECE
    assert b"bbb" not in came
    assert not came.endswith(b"0\r\n\r\n")
    [error] = rig.platform.context.journal.select("error")
    assert "was changed while a device downloaded it" in error.summary
    rig.platform.context.journal.clear()  # the one intended error


# --- ranges against a model ---------------------------------------------------------------------------------

NUMBER = st.sampled_from(["", "0", "1", "4", "5", "6", "007", "99", "9" * 18, "9" * 19, "1" + "0" * 30])


@given(NUMBER, NUMBER, st.integers(0, 7))
def test_ranges_against_a_model(x: str, y: str, size: int) -> None:
    data = bytes(range(size))
    exchange: Any = SimpleNamespace(
        request=SimpleNamespace(headers=CIMultiDict(Range=f"bytes={x}-{y}")),
        context=SimpleNamespace(wire=Wire()),
    )
    expected: bytes | int | None
    if not x and not y:
        expected = 400
    elif x and y and int(x) > int(y):
        expected = None  # ignored
    else:
        expected = data[int(x) : int(y) + 1 if y else None] if x else data[-int(y) :] if int(y) else b""
        expected = expected or 416
    if isinstance(expected, int):
        with pytest.raises(HttpError) as refused:
            requested_range(exchange, size)
        assert refused.value.status == expected
        assert expected == 400 or refused.value.headers == {"Content-Range": f"bytes */{size}"}
    else:
        part = requested_range(exchange, size)
        assert (part and data[part[0] : part[1] + 1]) == expected
        assert part is None or 0 <= part[0] <= part[1] < size
