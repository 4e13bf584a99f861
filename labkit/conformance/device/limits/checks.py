"""Limits on the size and the duration of requests."""

from __future__ import annotations

import asyncio

from labkit.conformance import device_client, expect, raw
from labkit.conformance.check import check
from labkit.conformance.endpoints import ALIAS, TIMESTAMP
from labkit.conformance.target import Target
from labkit.fleet.device import FORM

LARGEST = 64 * 1024  # bytes of a body
HUGE = "x" * 1_000_000  # larger than any server accepts in a header
SLACK = 2.0  # seconds by which a limit of real time may be missed on a busy machine


@check("DEV-LIM-1", "a body of 64 KiB is taken, and one byte more is answered 413 and stores nothing")
async def largest_body(target: Target) -> None:
    device = await target.activated("token-open")
    value = "x" * (LARGEST - len("text="))
    expect.status(await device_client.write(device, f"text={value}"), 204)
    expect.equal("the value", await device_client.value(device, "text"), value)
    expect.status(await device_client.write(device, f"text={value}y"), 413)
    expect.equal("the value after the refusal", await device_client.value(device, "text"), value)


@check("DEV-LIM-1", "a chunked body of 64 KiB is taken, and one byte more is answered 413 and stores nothing")
async def largest_chunked_body(target: Target) -> None:
    device = await target.activated("token-open")
    headers = [
        ("X-Platform-CIK", device.token or ""),
        ("Content-Type", FORM),
        ("Transfer-Encoding", "chunked"),
    ]
    body = b"text=" + b"x" * (LARGEST - len(b"text="))
    for sent, status in ((body, 204), (body + b"y", 413)):
        async with raw.connect(target, target.product("token-open").domain) as connection:
            pieces = [sent[start : start + 10_000] for start in range(0, len(sent), 10_000)]
            chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
            expect.status(await connection.ask("POST", ALIAS, headers, chunks + b"0\r\n\r\n"), status)
    expect.equal("the value after the refusal", await device_client.value(device, "text"), body[5:].decode())


@check("DEV-LIM-2", "a header line or block beyond the limit is answered 4xx or ends the connection")
async def largest_header(target: Target) -> None:
    device = await target.activated("token-open")
    expect.status(await device_client.write(device, {"text": "kept"}), 204)
    content = b"text=other"
    headers = [
        ("Host", target.product("token-open").domain),
        ("X-Platform-CIK", device.token or ""),
        ("Content-Type", FORM),
        ("Content-Length", str(len(content))),
        ("Connection", "close"),
    ]
    many = [(f"X-{index}", HUGE[:1000]) for index in range(1000)]
    for more, path in (([("X-Long", HUGE)], ALIAS), (many, ALIAS), ([], f"{ALIAS}?{HUGE}")):
        async with raw.connect(target, target.product("token-open").domain) as connection:
            connection.send(raw.head("POST", path, [*headers, *more]) + content)
            came = await connection.rest()
            expect.true("the answer, if there is one, is a 4xx", came[:10] in REFUSED or not came, came[:200])
    expect.equal("the value that stood before", await device_client.value(device, "text"), "kept")


REFUSED = {b"HTTP/1.1 4", b"HTTP/1.0 4"}


@check("DEV-LIM-3", "a connection that stops in the middle of a header is closed after the limit")
async def half_a_header(target: Target) -> None:
    loop = asyncio.get_running_loop()
    limit = target.guard.header
    async with raw.connect(target, target.product("token-open").domain) as connection:
        connection.send(
            f"GET {TIMESTAMP} HTTP/1.1\r\nHost: {target.product('token-open').domain}\r\nX-Half: "
        )
        began = loop.time()
        came = await connection.rest(limit + SLACK)
        lasted = loop.time() - began
    expect.true("there is no success", not came.startswith(b"HTTP/1.1 2"), came)
    expect.true(f"it is not closed before {limit:g} seconds", lasted > limit - 0.1, f"{lasted:.2f} seconds")


@check("DEV-LIM-4", "requests in quick succession are all served, none with 429")
async def no_rate_limit(target: Target) -> None:
    import httpx

    domain = target.product("token-open").domain
    request = httpx.Request("GET", f"https://{domain}{TIMESTAMP}")
    async with raw.connect(target, domain) as connection:
        connection.send(raw.head("GET", TIMESTAMP, [("Host", domain)]) * 300)
        for _ in range(300):
            expect.status(await connection.answer(request), 200)
