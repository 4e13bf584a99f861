"""Malicious and senseless requests: none is answered with a 5xx or left unanswered."""

from __future__ import annotations

import re

from labkit.conformance import device_client, endpoints, expect, raw
from labkit.conformance.check import check
from labkit.conformance.device.http.checks import READS, device_with_text
from labkit.conformance.endpoints import ACTIVATE, ALIAS, CONTENT, DOWNLOAD, RECORD, TIMESTAMP
from labkit.conformance.target import Target
from labkit.fleet.device import FORM


@check("DEV-HTTP-12", "no request to an endpoint is answered with a 5xx or hangs")
async def hostile_requests(target: Target) -> None:
    device = await device_with_text(target, "content")
    client = target.client("content")
    for method, path, headers, content in _hostile():
        if path != ACTIVATE:  # there it would replace the token
            headers.append(("X-Platform-CIK", device.token or ""))
        given = raw.encoded(headers)
        response = await client.request(
            method, path, headers=given, content=content, patience=endpoints.PATIENCE
        )
        expect.true("the status is below 500", response.status_code < 500, response.status_code, response)
    expect.status(await device_client.read(device, "text"), 200)  # the refusals were not due to the token


@check(
    "DEV-HTTP-12",
    "no request of an older version, odd framing, or without HTTP is answered with a 5xx or hangs",
)
async def hostile_connections(target: Target) -> None:
    device = await device_with_text(target, "content")
    domain = target.product("content").domain
    common = f"Host: {domain}\r\nX-Platform-CIK: {device.token}\r\nConnection: close\r\n"
    heads = [f"GET {path} HTTP/1.0\r\n{common}" for path in READS]
    heads += [f"POST {ALIAS} HTTP/1.1\r\n{common}{each}\r\n\r\n0\r\n" for each in FRAMINGS]
    heads += [f"{line}\r\n{common}" for line in ("GET", "GET / HTTP/9.9", "GET\0/ HTTP/1.1", "é / HTTP/1.1")]
    heads += [f"{method} {TIMESTAMP} HTTP/1.1\r\n{common}" for method in ("TRACE", "CONNECT", "PRI", "get")]
    for sent in (*heads, ": x\r\n", "\x16\x03\x01\r\n"):
        async with raw.connect(target, domain) as connection:
            connection.send(f"{sent}\r\n")
            came = await connection.rest()
            expect.true(
                "an answer is below 500, or 501 for a framing that nobody knows",
                re.match(rb"HTTP/1\.[01] ([1-4]|501 )", came) or not came,
                came[:200],
            )


FRAMINGS = (
    "Content-Length: -1",
    "Content-Length: x",
    "Content-Length: 5\r\nContent-Length: 6",
    "Content-Length: 5\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: chunked\r\nContent-Encoding: gzip",
    "Transfer-Encoding: nonsense",
    "Transfer-Encoding: chunked\r\nTrailer: X",
    "Content-Length: 5\r\nExpect: 100-continue",
    "Content-Length: 5\r\nExpect: miracles",
    "Content-Length: 5\r\nUpgrade: websocket\r\nConnection: upgrade",
)


def _hostile() -> list[tuple[str, str, list[tuple[str, str]], bytes]]:
    zeros = "0" * 5000
    bodies = [b"=", b"&", b"&&&", b"==", b"\0=\0", b"a" * 60_000, b"&".join([b"text=1"] * 5000), b"%00=%00"]
    points = [
        b"",
        b"=",
        b"1e400=x",
        b"-1=x",
        b"NaN=x",
        b"9" * 5000 + b"=x",
        b"0.0000000001=x",
        b"=x",
        b"alias",
    ]
    dates = ["-1", zeros, "Thu, 01 Jan 9999999 00:00:00 GMT", "Thu, 32 Jan 1970 25:61:61 GMT", "", "1e9", "²"]
    queries = ["?", "?=", "?&", "?%00", "?" + "a&" * 2000, "?a=b=c", "??", "?text&text"]
    posts = [(ALIAS, each) for each in bodies]
    posts += [(ACTIVATE, each) for each in (*bodies, b"id=%00", b"id=" + b"x" * 60_000)]
    posts += [(RECORD, each) for each in (*bodies, *(b"alias=text&" + each for each in points))]
    headers = {
        "Request-Timeout": ["-1", zeros, "1.5", "²"],
        "Authorization": ["", "Basic", "²", "token ²"],
        "Range": [f"bytes={zeros}-", "bytes=--1", "bytes=1-0", "bytes=0-,1-", "bytes=²-", "x", ""],
    }
    types = ["", ";", "application", "application/x-www-form-urlencoded; charset", "²", "a/b; charset=²"]
    return [
        *(("POST", path, [("Content-Type", FORM)], body) for path, body in posts),
        *(("POST", ALIAS, [("Content-Type", each)], b"text=x") for each in types),
        *(("GET", path + query, [], b"") for path in (ALIAS, DOWNLOAD) for query in queries),
        *(
            ("GET", path, [(name, each)], b"")
            for path in (f"{ALIAS}?text", f"{DOWNLOAD}?id={CONTENT}")
            for name, values in headers.items()
            for each in values
        ),
        *(
            ("GET", f"{ALIAS}?text", [("Request-Timeout", "0"), ("If-Modified-Since", each)], b"")
            for each in dates
        ),
    ]
