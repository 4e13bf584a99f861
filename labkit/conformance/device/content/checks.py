"""Content: GET /provision/download, as list, as info and as the content itself."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

from labkit.conformance import device_client, expect, raw
from labkit.conformance.check import check, model_check
from labkit.conformance.target import Target
from labkit.core.errors import LabError
from labkit.fleet.device import VirtualDevice
from labkit.settings import ContentFile

if TYPE_CHECKING:
    import httpx

    from labkit.conformance.models.game import Game


PRODUCT = "content"
EMPTY = "token-other"  # a product without content
PATH = "/provision/download"
CSV = re.compile(r"text/csv; ?charset=utf-8", re.IGNORECASE)
SMALL, LARGE, QUOTED = "alphabet.txt", "plain.bin", "quoted.txt"


@check("DEV-CONT-1", "the list has the id of each content on a line of its own")
async def listed(target: Target) -> None:
    device = await target.activated(PRODUCT)
    response = expect.status(await device.request("GET", PATH), 200)
    expect.header(response, "Content-Type", CSV)
    expect.equal("the ids", sorted(response.text.splitlines()), sorted(_offered(target)), response)


@check("DEV-CONT-2", "every line of the list ends with CRLF; without content the list is empty")
async def line_ends(target: Target) -> None:
    device = await target.activated(PRODUCT)
    response = expect.status(await device.request("GET", PATH), 200)
    lines = response.text.split("\r\n")
    expect.equal("the lines", sorted(lines), sorted(["", *_offered(target)]), response)
    expect.equal("what follows the last CRLF", lines[-1], "", response)
    other = await target.activated(EMPTY)
    response = expect.status(await other.request("GET", PATH), 200)
    expect.header(response, "Content-Type", CSV)
    expect.body(response, b"")


@check("DEV-CONT-3", "info has content type, size, time of update and description")
async def info(target: Target) -> None:
    device = await target.activated(PRODUCT)
    response = expect.status(await _info(device, SMALL), 200)
    expect.header(response, "Content-Type", CSV)
    lines = response.text.splitlines()
    expect.equal("how many lines there are", len(lines), 1, response)
    fields = lines[0].split(",")
    expect.equal("the fields but the time", [*fields[:2], *fields[3:]], ["text/plain", "26", "the alphabet"])
    now = await device_client.now(device)
    expect.true(
        f"the time is in Unix seconds, none later than {now}",
        re.fullmatch("[1-9][0-9]{8,9}", fields[2]) and int(fields[2]) <= now,
        fields[2],
        response,
    )


@check("DEV-CONT-3", "info of another content is another")
async def info_of_another(target: Target) -> None:
    device = await target.activated(PRODUCT)
    size = len(_data(target, LARGE))
    pattern = re.compile(rf"application/octet-stream,{size},[0-9]+,.*\r?\n?")
    expect.body(expect.status(await _info(device, LARGE), 200), pattern)


@check(
    "DEV-CONT-4",
    "a replaced content shows its new size and time; a removed one is gone",
    needs={"settings", "clock"},
)
async def changed(target: Target) -> None:
    device = await target.activated(PRODUCT)
    content, fresh = target.lab.product(PRODUCT).content, f"{device.identity}.bin"
    try:
        for data in (b"12345", b"12345678"):
            await target.advance(10)
            added = await device_client.now(device)
            await target.in_lab(content.add, fresh, data, "text/x-new", "changes")
            await target.advance(5)
            response = expect.status(await _info(device, fresh), 200)
            expect.body(response, re.compile(rf"text/x-new,{len(data)},{added},changes\r?\n?"))
            expect.body(expect.status(await _get(device, fresh), 200), data)
            expect.equal("how often it is listed", (await device.content()).count(fresh), 1)
    finally:
        with suppress(LabError):  # it was not added
            await target.in_lab(content.remove, fresh)
    expect.equal("how often it is listed", (await device.content()).count(fresh), 0)


@check("DEV-CONT-5", "without description the line ends with a comma; a difficult one is quoted")
async def descriptions(target: Target) -> None:
    device = await target.activated(PRODUCT)
    size = len(_data(target, LARGE))
    plain = expect.status(await _info(device, LARGE), 200)
    expect.body(plain, re.compile(rf"application/octet-stream,{size},[0-9]+,(\r\n)?"))
    quoted = expect.status(await _info(device, QUOTED), 200)
    expect.body(quoted, re.compile(r'text/plain,26,[0-9]+,"one, two ""three"""(\r\n)?'))


@check("DEV-CONT-5", "a line end in a description is quoted", needs={"settings"})
async def line_end_in_description(target: Target) -> None:
    device = await target.activated(PRODUCT)
    content, fresh = target.lab.product(PRODUCT).content, f"{device.identity}.bin"
    await target.in_lab(content.add, fresh, b"1", "text/plain", "one\ntwo")
    response = expect.status(await _info(device, fresh), 200)
    await target.in_lab(content.remove, fresh)
    expect.body(response, re.compile(r'text/plain,1,[0-9]+,"one\ntwo"(\r\n)?'))


@check("DEV-CONT-6", "info other than true is taken as absent")
async def other_info(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for info in ("false", "", "1", "yes", "TRUE"):
        response = expect.status(await device.request("GET", f"{PATH}?id={SMALL}&info={info}"), 200)
        expect.body(response, _data(target, SMALL))


@check("DEV-CONT-7", "a download brings exactly the bytes of the content")
async def whole(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for item in (SMALL, LARGE):
        response = expect.status(await _get(device, item), 200)
        expect.true(
            f"the bytes are those of {item}", response.content == _data(target, item), len(response.content)
        )
        expect.header(response, "Content-Range", None)


@check(
    "DEV-CONT-7",
    "a download brings exactly the bytes of the content for ids of every kind of characters, too",
    needs={"settings"},
)
async def odd_ids(target: Target) -> None:
    device = await target.activated(PRODUCT)
    content = target.lab.product(PRODUCT).content
    ids = [f"{device.identity}{odd}" for odd in ("a b", "A B", "100%+1", "grün", "温&id=度", "a/../b", "#?=")]
    held = {id: bytes(range(256)) * 2 + id.encode() for id in ids}
    for id, data in held.items():
        await target.in_lab(content.add, id, data)
    try:
        for id, data in held.items():
            response = expect.status(await _get(device, quote(id, safe="")), 200)
            expect.true(f"the bytes are those of {id}", response.content == data, response.content, response)
    finally:
        for id in held:
            await target.in_lab(content.remove, id)


@check(
    "DEV-CONT-7 DEV-CONT-11", "contents and ranges whose sizes lie around powers of two", needs={"settings"}
)
async def sizes(target: Target) -> None:
    device = await target.activated(PRODUCT)
    content = target.lab.product(PRODUCT).content
    for size in (1, 2**12 + 1, 2**16 - 1, 2**16, 2**16 + 1, 3 * 2**20 + 3):
        id, data = f"{device.identity} {size}", (bytes(range(251)) * (size // 251 + 1))[:size]
        await target.in_lab(content.add, id, data)
        try:
            response = expect.status(await _get(device, quote(id)), 200)
            expect.true(f"the bytes are those of {size}", response.content == data, len(response.content))
            for end in {each + more for each in (2**12, 2**16, 2**18, 2**20) for more in (-1, 0, 1)}:
                for first in {0, end - 1, end, end // 2}:
                    if end < size:
                        response = expect.status(await _get(device, quote(id), f"bytes={first}-{end}"), 200)
                        same = response.content == data[first : end + 1]
                        expect.true(f"the bytes are those from {first} to {end}", same, len(response.content))
        finally:
            await target.in_lab(content.remove, id)


@check("DEV-CONT-8", "the content type of a download is the one that info shows")
async def content_type(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for item in (SMALL, LARGE):
        shown = expect.status(await _info(device, item), 200).text.split(",")[0]
        for part in (None, "bytes=0-9"):
            response = expect.status(await _get(device, item, part), 200)
            expect.header(response, "Content-Type", shown)
        expect.equal("the type of lab.yaml", shown, _offered(target)[item].type)


@check("DEV-CONT-9", "Content-Length is the number of bytes received")
async def content_length(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for item, part, size in (
        (SMALL, None, 26),
        (LARGE, None, len(_data(target, LARGE))),
        (SMALL, "bytes=3-7", 5),
    ):
        response = await _get(device, item, part)
        expect.equal("bytes that came", len(response.content), size)
        expect.header(response, "Content-Length", str(size))


@check("DEV-CONT-10", "a download says that it is chunked, and it is")
async def chunked(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for item, headers, expected in (
        (SMALL, [], _data(target, SMALL)),
        (LARGE, [], _data(target, LARGE)),
        (SMALL, [("Range", "bytes=3-7")], b"defgh"),
    ):
        async with raw.connect(target, device.domain) as line:
            token = ("X-Platform-CIK", device.token or "")
            response = await line.ask("GET", f"{PATH}?id={item}", [token, *headers])
        expect.header(response, "Transfer-Encoding", "chunked")  # the client reads it by chunks then
        expect.true("the chunks make the content", response.content == expected, len(response.content))


@check("DEV-CONT-11", "bytes=X-Y brings the bytes from X to Y, both included, with 200")
async def from_to(target: Target) -> None:
    device = await target.activated(PRODUCT)
    data = _data(target, LARGE)
    for first, last in ((0, 0), (0, 9), (5, 5), (3, 7), (65_530, 65_545), (len(data) - 3, len(data) - 1)):
        response = expect.status(await _get(device, LARGE, f"bytes={first}-{last}"), 200)
        expect.body(response, data[first : last + 1])
    expect.body(await _get(device, SMALL, "bytes=3-7"), b"defgh")


@check("DEV-CONT-12", "bytes=-Y brings the last Y bytes")
async def last_bytes(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for part, expected in (("bytes=-1", b"z"), ("bytes=-5", b"vwxyz"), ("bytes=-26", _data(target, SMALL))):
        expect.body(expect.status(await _get(device, SMALL, part), 200), expected)
    for size in (65_536, 65_537):
        expect.body(
            expect.status(await _get(device, LARGE, f"bytes=-{size}"), 200), _data(target, LARGE)[-size:]
        )


@check("DEV-CONT-13", "bytes=X- brings the bytes from X to the end")
async def to_the_end(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for part, expected in (("bytes=25-", b"z"), ("bytes=21-", b"vwxyz"), ("bytes=0-", _data(target, SMALL))):
        expect.body(expect.status(await _get(device, SMALL, part), 200), expected)
    for first in (1, 65_535, 65_536):
        expect.body(
            expect.status(await _get(device, LARGE, f"bytes={first}-"), 200), _data(target, LARGE)[first:]
        )


@check(
    "DEV-CONT-14", "the answer to a range has the positions of its bytes and the size of the whole content"
)
async def positions(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for part, shown in (
        ("bytes=3-7", "3-7"),
        ("bytes=-5", "21-25"),
        ("bytes=20-", "20-25"),
        ("bytes=0-25", "0-25"),
    ):
        response = expect.status(await _get(device, SMALL, part), 200)
        expect.header(response, "Content-Range", f"bytes {shown}/26")
        expect.header(response, "Accept-Ranges", "bytes")


@check("DEV-CONT-15", "bytes=- is refused")
async def no_positions(target: Target) -> None:
    response = await _get(await target.activated(PRODUCT), SMALL, "bytes=-")
    expect.true("it is the client's error", 400 <= response.status_code < 500, response.status_code, response)


@check("DEV-CONT-16", "the refusal of bytes=- is 400")
async def no_positions_400(target: Target) -> None:
    expect.refusal(await _get(await target.activated(PRODUCT), SMALL, "bytes=-"), 400)


@check("DEV-CONT-17", "a range that is malformed, turned round, one of several or of another unit is ignored")
async def ignored(target: Target) -> None:
    device = await target.activated(PRODUCT)
    ignored = (
        "bytes=7-3",
        "bytes=1-2,5-6",
        "bytes=a-b",
        "bytes=3",
        "bytes=",
        "bytes 3-7",
        "bytes=3-7-9",
        "3-7",
    )
    for part in (*ignored, "lines=3-7", "bytes=--7", "bytes=3.0-7", "bytes=-3-7", ""):
        response = expect.status(await _get(device, SMALL, part), 200)
        expect.body(response, _data(target, SMALL))
        expect.header(response, "Content-Range", None)


@check("DEV-CONT-17", "a range with If-Range is ignored, since no answer names a version")
async def if_range(target: Target) -> None:
    device, whole = await target.activated(PRODUCT), _data(target, SMALL)
    for condition in ('"a"', 'W/"a"', "Thu, 01 Jan 2026 00:00:00 GMT", "*"):
        for part in ("bytes=1-2", "bytes=-", "bytes=99-"):
            headers = {"Range": part, "If-Range": condition}
            response = await device.request("GET", f"{PATH}?id={SMALL}", headers=headers)
            expect.body(expect.status(response, 200), whole)
            expect.header(response, "Content-Range", None)


@check("DEV-CONT-18", "positions beyond the end stop at the last byte, and a long suffix is all of it")
async def clamped(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for part, shown, expected in (
        ("bytes=21-26", "21-25", b"vwxyz"),
        ("bytes=21-99999", "21-25", b"vwxyz"),
        ("bytes=-27", "0-25", _data(target, SMALL)),
        ("bytes=-99999", "0-25", _data(target, SMALL)),
        ("bytes=21-9223372036854775808", "21-25", b"vwxyz"),
        (f"bytes=21-{'9' * 40}", "21-25", b"vwxyz"),
        (f"bytes=-{'9' * 40}", "0-25", _data(target, SMALL)),
    ):
        response = expect.status(await _get(device, SMALL, part), 200)
        expect.body(response, expected)
        expect.header(response, "Content-Range", f"bytes {shown}/26")


@check("DEV-CONT-19", "a range that starts at the end or beyond, or a suffix of 0, is answered 416")
async def unsatisfiable(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for part in ("bytes=26-", "bytes=26-30", "bytes=99999-", "bytes=-0"):
        response = await _get(device, SMALL, part)
        expect.refusal(response, 416)
        expect.header(response, "Content-Range", "bytes */26")
    for item in (SMALL, LARGE):
        size = len(_data(target, item))
        for digits in (f"{size}", "9" * 17, "9" * 18, f"1{'0' * 18}", "9" * 20, "9" * 40, "9" * 3000):
            for part in (f"bytes={digits}-", f"bytes=000{digits}-{digits}"):
                response = await _get(device, item, part)
                expect.refusal(response, 416)
                expect.header(response, "Content-Range", f"bytes */{size}")
    for zeros in ("", "0" * 20, "0" * 3000):
        part = f"bytes={zeros}25-{zeros}25"
        expect.body(expect.status(await _get(device, SMALL, part), 200), b"z")


@check("DEV-CONT-20", "info and download of an unknown id are answered 404")
async def unknown_id(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for item in ("nothing.bin", "ALPHABET.TXT", "", "../alphabet.txt"):
        expect.refusal(await _info(device, item), 404)
        expect.refusal(await _get(device, item), 404)
        expect.refusal(await _get(device, item, "bytes=0-1"), 404)


@check("DEV-CONT-21", "vendor and model of the product are ignored, others refused")
async def vendor_and_model(target: Target) -> None:
    device = await target.activated(PRODUCT)

    async def ask(fields: str) -> list[httpx.Response]:
        queries = (f"?{fields}", f"?id={SMALL}&{fields}", f"?id={SMALL}&info=true&{fields}")
        return [await device.request("GET", PATH + query) for query in queries]

    own = await ask(f"vendor={PRODUCT}&model={PRODUCT}")
    plain = [await device.request("GET", PATH), await _get(device, SMALL), await _info(device, SMALL)]
    for with_fields, without in zip(own, plain, strict=True):
        expect.body(expect.status(with_fields, 200), without.content)
    for wrong in ("vendor=other", f"vendor={PRODUCT}&model=other", f"model={EMPTY}"):
        for response, status in zip(await ask(wrong), (403, 403, 400), strict=True):
            expect.refusal(response, status)


def _offered(target: Target) -> dict[str, ContentFile]:
    """Return the contents that lab.yaml offers, by id."""
    return {item.id or item.file.name: item for item in target.product(PRODUCT).settings.content}


def _data(target: Target, id: str) -> bytes:
    return _offered(target)[id].file.read_bytes()


async def _info(device: VirtualDevice, id: str) -> httpx.Response:
    return await device.request("GET", f"{PATH}?id={id}&info=true")


async def _get(device: VirtualDevice, id: str, range: str | None = None) -> httpx.Response:
    headers = {} if range is None else {"Range": range}
    return await device.request("GET", f"{PATH}?id={id}", headers=headers)


@model_check(
    "DEV-CONT-1 DEV-CONT-2 DEV-CONT-3 DEV-CONT-4 DEV-CONT-5 DEV-CONT-7 DEV-CONT-8 DEV-CONT-9 DEV-CONT-11 DEV-CONT-12 "
    "DEV-CONT-13 DEV-CONT-14 DEV-CONT-15 DEV-CONT-17 DEV-CONT-18 DEV-CONT-19 DEV-CONT-20 DEV-TLS-1",
    "contents of two products, whole and in any range, while they change, as a model has them",
)
def model() -> type[Game]:
    """Return the game of contents."""
    from labkit.conformance.device.content.contents import Contents

    return Contents
