"""Headers that an answer must not have, since they belong to other answers."""

from __future__ import annotations

from labkit.conformance import endpoints, expect
from labkit.conformance.check import check
from labkit.conformance.endpoints import ALIAS, CONTENT, DOWNLOAD, GUARDED, PRODUCTS, RECORD, TIMESTAMP, Call
from labkit.conformance.target import Target

WHOLE = f"{DOWNLOAD}?id={CONTENT}"
POLL = {"Request-Timeout": "0"}
SINCE = {**POLL, "If-Modified-Since": "0"}
WITH = {"long poll": ["Last-Modified"], "download": ["Transfer-Encoding"]}
RANGED = ("Accept-Ranges", "Content-Range", "Transfer-Encoding")
CALLS: tuple[tuple[Call, tuple[str, ...]], ...] = (
    (Call("range", "GET", WHOLE, 200, None, {"Range": "bytes=1-3"}), RANGED),
    (Call("range of the end", "GET", WHOLE, 200, None, {"Range": "bytes=-1"}), RANGED),
    (Call("range beyond", "GET", WHOLE, 416, None, {"Range": "bytes=99-"}), ("Content-Range",)),
    (Call("no range", "GET", WHOLE, 200, None, {"Range": "lines=1-3"}), ("Transfer-Encoding",)),
    (Call("no content", "GET", f"{DOWNLOAD}?id=x", 404), ()),
    (Call("info with a range", "GET", f"{WHOLE}&info=true", 200, None, {"Range": "bytes=1-3"}), ()),
    (Call("list with a range", "GET", DOWNLOAD, 200, None, {"Range": "bytes=1-3"}), ()),
    (Call("read with a range", "GET", f"{ALIAS}?text", 200, None, {"Range": "bytes=1-3"}), ()),
    (Call("read since", "GET", f"{ALIAS}?text", 200, None, {"If-Modified-Since": "0"}), ()),
    (Call("read of nothing", "GET", f"{ALIAS}?number", 204), ()),
    (Call("poll of nothing", "GET", f"{ALIAS}?number", 304, None, SINCE), ()),
    (Call("poll without a new value", "GET", f"{ALIAS}?text", 304, None, POLL), ()),
    (Call("hybrid with a time", "POST", f"{ALIAS}?text", 200, (("text", "written"),), SINCE), ()),
    (Call("conflict", "POST", RECORD, 409, (("alias", "text"), ("5", "a"), ("5", "b"))), ()),
    (Call("no pairs", "POST", ALIAS, 400, (("level", "x"),)), ()),
    (Call("wrong method", "PUT", ALIAS, 405), ("Allow",)),
    (Call("options", "OPTIONS", ALIAS, 204), ("Allow",)),
    (Call("no path", "GET", "/nowhere", 404), ()),
    (Call("time", "GET", TIMESTAMP, 200, None, {"Range": "bytes=1-3", **SINCE}), ()),
)  # fmt: skip


@check("DEV-HTTP-19 DEV-CONT-14 DEV-POLL-4", "an answer has no header that belongs to another")
async def headers_of_others(target: Target) -> None:
    for product in PRODUCTS.values():
        device = await target.activated(product)
        for call in GUARDED:
            response = expect.status(await call.send_from(device), call.served)
            expect.only_headers(response, *WITH.get(call.title, ()))
            stranger = expect.status(await call.send_from(target.client(product)), 401)
            expect.only_headers(stranger, "WWW-Authenticate")
        for call, present in CALLS:
            response = expect.status(await call.send_from(device), call.served)
            expect.only_headers(response, *present)
            if call.served in (204, 304):
                expect.body(response, b"")
    for product in ("token-open", "password-open"):
        identity = target.identity()
        for status in (200, 204), (409,):
            fields = {"id": identity, "password": "x" * 20}
            response = expect.status(await endpoints.activate(target.client(product), fields), *status)
            expect.only_headers(response)
