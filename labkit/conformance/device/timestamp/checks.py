"""The server's clock: GET /timestamp."""

from __future__ import annotations

import base64
import math
import re
from email.utils import parsedate_to_datetime

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.endpoints import PRODUCTS, TIMESTAMP
from labkit.conformance.target import Target
from labkit.conformance.verdict import Unavailable

DIGITS = re.compile(r"[1-9][0-9]*")


@check("DEV-TIME-3", "the time is given without credentials, on products of every type")
async def needs_no_credentials(target: Target) -> None:
    for product in PRODUCTS.values():
        expect.status(await target.client(product).request("GET", TIMESTAMP), 200)


@check("DEV-TIME-1", "the time is a 200 in text/plain")
async def is_plain_text(target: Target) -> None:
    response = expect.status(await target.client("token-open").request("GET", TIMESTAMP), 200)
    expect.header(response, "Content-Type", "text/plain; charset=utf-8")


@check("DEV-TIME-1", "the time is that of the answer's Date header")
async def is_now(target: Target) -> None:
    response = expect.status(await target.client("token-open").request("GET", TIMESTAMP), 200)
    if "Date" not in response.headers:
        raise Unavailable("the target sends no Date header")
    date = int(parsedate_to_datetime(response.headers["Date"]).timestamp())
    expect.body(response, DIGITS)
    expect.true("the time is that of Date", abs(int(response.text) - date) <= 1, response.text, response)


@check("DEV-TIME-1", "the time is the lab's, always rounded down to the second", needs={"clock"})
async def is_lab_time(target: Target) -> None:
    client = target.client("token-open")
    for step in (0.25, 0.375, 0.3125, 59.9375, 0.0625):  # sums of powers of 2, so that lab time is exact
        await target.advance(step)
        response = expect.status(await client.request("GET", TIMESTAMP), 200)
        expect.body(response, str(math.floor(await target.in_lab(target.lab_time))))


@check("DEV-TIME-2", "the time is a whole number, digits alone")
async def is_whole_seconds(target: Target) -> None:
    response = expect.status(await target.client("token-open").request("GET", TIMESTAMP), 200)
    expect.body(response, DIGITS)


@check("DEV-TIME-2", "the time moves on as the clock does, and by seconds", needs={"clock"})
async def follows_the_clock(target: Target) -> None:
    client = target.client("token-open")
    before = expect.status(await client.request("GET", TIMESTAMP), 200)
    await target.advance(90)
    after = expect.status(await client.request("GET", TIMESTAMP), 200)
    expect.equal("seconds that have passed", float(after.text) - float(before.text), 90.0, after)


@check("DEV-TIME-4", "the time is given whatever credentials are sent")
async def ignores_credentials(target: Target) -> None:
    token = ("X-Platform-CIK", "0" * 40)
    basic = ("Authorization", "Basic " + base64.b64encode(b"nobody:no password of anybody").decode())
    broken = ("Authorization", "Basic !")
    for product in PRODUCTS.values():
        for headers in ([token], [basic], [broken], [token, basic]):
            response = await target.client(product).request("GET", TIMESTAMP, headers=headers)
            expect.status(response, 200)
            expect.body(response, DIGITS)
