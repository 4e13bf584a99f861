"""Requests at the limits of size, depth and encoding."""

from __future__ import annotations

import json

from labkit.conformance import expect, raw
from labkit.conformance.check import check
from labkit.conformance.probe import JSON, PROBE, Probe, decoded
from labkit.conformance.target import Target
from labkit.fleet.device import FORM

MAX_BODY = 2**20  # bytes of a body
MAX_PAIRS = 10_000  # pairs of a form
MAX_DEPTH = 99  # nested lists or tables


@check("SOL-REQ-6", "a request that scripts cannot represent is answered 400")
async def unreadable(target: Target) -> None:
    probe = Probe(target)
    for method, path, kind, content in (
        ("GET", "/requests/%ff", JSON, b""),
        ("GET", "/requests/a?x=%ff", JSON, b""),
        ("POST", "/requests/form/a", FORM, b"x=%ff"),
        ("POST", "/requests/form/a", FORM, b"x=\xff"),
        ("POST", "/requests/json/a", JSON, b'{"a": NaN}'),
        ("POST", "/requests/json/a", JSON, b'{"a": "\xff"}'),
    ):
        response = await probe.request(method, path, content=content, headers={"Content-Type": kind})
        expect.status(response, 400)
    for count, status in ((MAX_PAIRS, 200), (MAX_PAIRS + 1, 400)):
        response = await probe.request(
            "POST", "/requests/form/a", content=b"&".join([b"x=1"] * count), headers={"Content-Type": FORM}
        )
        if expect.status(response, status).status_code == 200:
            probe.same("the values of a long form", decoded(response)["body"], {"x": ["1"] * count})
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        for depth, status in ((MAX_DEPTH, 200), (MAX_DEPTH + 1, 400), (5000, 400)):
            deep = f"{opening * depth}1{closing * depth}"
            headers = {"Content-Type": JSON}
            response = await probe.request("POST", "/requests/json/a", content=deep.encode(), headers=headers)
            if status != 200:
                expect.status(response, status)
            else:
                expect.status(response, 200, 500)  # 500: the probe's answer nests the body one level deeper
    flat = json.dumps([[number] for number in range(MAX_DEPTH + 50)]).encode()
    found = await probe.ask("POST", "/requests/json/a", content=flat, headers={"Content-Type": JSON})
    probe.same("what is wide alone", found.get("body"), json.loads(flat))


@check("SOL-REQ-7", "bodies up to the largest arrive as they are, a larger one is refused")
async def large_bodies(target: Target) -> None:
    probe = Probe(target)
    headers = {"Content-Type": "text/plain"}
    for size in (0, 128 * 1024, 128 * 1024 + 1, MAX_BODY - 1, MAX_BODY):
        text = ("é0123456789" * (size // 12 + 1)).encode()[:size].decode(errors="replace")[: size // 2]
        text += "x" * (size - len(text.encode()))
        response = await probe.request("POST", "/responses/echo", content=text.encode(), headers=headers)
        expect.true(f"{size} bytes come back", expect.status(response, 200).text == text, len(response.text))
    for size in (MAX_BODY + 1, MAX_BODY + 1024):
        expect.status(
            await probe.request("POST", "/responses/echo", content=b"x" * size, headers=headers), 413
        )


@check("SOL-REQ-8", "HEAD runs a GET route, and what has no body sends none")
async def without_body(target: Target) -> None:
    probe = Probe(target)
    given = expect.status(await probe.request("GET", "/routes"), 200)
    response = expect.status(await probe.request("HEAD", "/routes"), 200)
    for name in ("Content-Type", "Content-Length"):
        expect.header(response, name, given.headers.get(name))
    async with raw.connect(target, target.client(PROBE).name) as connection:
        headers = [("Content-Type", JSON)]
        for code, length in ((204, None), (304, None), (203, 4), (200, 4)):
            body = json.dumps({"set": {"code": code, "message": "body"}}).encode()
            response = await connection.ask("POST", "/responses", headers, body)
            expect.status(response, code)
            expect.body(response, b"" if length is None else b"body")
        response = await connection.ask("HEAD", "/routes")
        expect.body(expect.status(response, 200), b"")
        expect.body(expect.status(await connection.ask("GET", "/routes"), 200), "all of them")
