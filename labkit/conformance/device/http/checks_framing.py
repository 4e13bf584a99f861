"""Framing of requests: a body that waits for 100 Continue is accepted, lines that end in a bare newline are not."""

from __future__ import annotations

from labkit.conformance import device_client, expect, raw
from labkit.conformance.check import check
from labkit.conformance.device.http.checks import device_with_text
from labkit.conformance.endpoints import ALIAS
from labkit.conformance.target import Target
from labkit.fleet.device import FORM

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
NO_CONTENT = b"HTTP/1.1 204 "


@check(
    "DEV-HTTP-20",
    "a body that waits for 100 Continue is asked for; one that was sent already, or is not needed, is not",
)
async def expect_continue(target: Target) -> None:
    device = await device_with_text(target)
    domain = target.product("token-open").domain
    lines = (
        f"POST {ALIAS} HTTP/1.1\r\nHost: {domain}\r\nContent-Type: {FORM}\r\nContent-Length: 6\r\n"
        "Expect: 100-continue\r\nConnection: close\r\n"
    )
    known, unknown = (f"X-Platform-CIK: {token}\r\n\r\n" for token in (device.token, "0" * 40))
    async with raw.connect(target, domain) as connection:
        connection.send(lines + known)
        expect.equal("what asks for the body", await connection.more(), CONTINUE)
        connection.send("text=a")
        expect.equal("the answer", (await connection.rest())[: len(NO_CONTENT)], NO_CONTENT)
    expect.equal("the value that was sent when asked for", await device_client.value(device, "text"), "a")
    async with raw.connect(target, domain) as connection:
        connection.send(f"{lines}{known}text=b")
        came = (await connection.rest()).removeprefix(CONTINUE)
        expect.equal("the answer to what came unasked", came[: len(NO_CONTENT)], NO_CONTENT)
    expect.equal("the value that came unasked", await device_client.value(device, "text"), "b")
    async with raw.connect(target, domain) as connection:
        connection.send(lines + unknown)
        came = await connection.rest()
        expect.true("a refusal does not ask for the body", came.startswith(b"HTTP/1.1 401 "), came[:200])


@check("DEV-HTTP-21", "a head whose lines end in a bare newline is refused at its end, whole and in pieces")
async def bare_newlines(target: Target) -> None:
    device = await device_with_text(target)
    domain = target.product("token-open").domain
    head = f"GET {ALIAS}?text HTTP/1.1\nHost: {domain}\nX-Platform-CIK: {device.token}\n\n"
    for size in (len(head), 7, 1):
        async with raw.connect(target, domain) as connection:
            for start in range(0, len(head), size):
                connection.send(head[start : start + size])
            status = (await connection.more()).partition(b" ")[2][:4]
            expect.equal(f"the status of a head in pieces of {size}", status, b"400 ")
