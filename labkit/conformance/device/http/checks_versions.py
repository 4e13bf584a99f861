"""Older versions of HTTP, and connections that client or server does not keep open."""

from __future__ import annotations

import re

from labkit.conformance import expect, raw
from labkit.conformance.check import check
from labkit.conformance.device.http.checks import READS, device_with_text
from labkit.conformance.endpoints import ALIAS
from labkit.conformance.target import Target

END = b"\r\n\r\n"


@check("DEV-HTTP-18", "requests of HTTP/1.0 and 1.1, whose connection is kept or not")
async def versions(target: Target) -> None:
    device = await device_with_text(target, "content")
    domain = target.product("content").domain
    for method, path in (
        *(("GET", each) for each in READS),
        ("HEAD", READS[-1]),
        ("GET", "/nowhere"),
        ("GET", ALIAS),
    ):
        for version, ask, kept in (
            ("1.0", None, False),
            ("1.0", "keep-alive", True),
            ("1.0", "close", False),
            ("1.1", None, True),
            ("1.1", "close", False),
        ):
            head = f"{method} {path} HTTP/{version}\r\nHost: {domain}\r\nX-Platform-CIK: {device.token}\r\n"
            what = f"{method} {path} of HTTP/{version} with Connection: {ask}"
            first = f"{head}Connection: {ask}\r\n\r\n" if ask else f"{head}\r\n"
            async with raw.connect(target, domain) as connection:
                connection.send(f"{first}{head}Connection: close\r\n\r\n")
                came = await connection.rest()
            answers = re.findall(rb"HTTP/1\.[01] [0-9]{3} ", came)
            expect.equal(f"answers to two requests, {what}", len(answers), 2 if kept else 1)
            opening, _, rest = came.partition(END)
            lines = [each.lower() for each in opening.split(b"\r\n")]
            if version == "1.0":
                expect.equal(f"does it say that it is kept, {what}", b"connection: keep-alive" in lines, kept)
                expect.true(f"it is not chunked, {what}", b"transfer-encoding: chunked" not in lines, opening)
            else:
                expect.equal(f"does it say that it ends, {what}", b"connection: close" in lines, not kept)
            if not kept and b"transfer-encoding: chunked" not in lines:
                lengths = [int(each.split()[1]) for each in lines if each.startswith(b"content-length: ")]
                expect.equal(f"bytes of the body, {what}", [len(rest)], [0] if method == "HEAD" else lengths)
