"""Reading values: GET /onep:v1/stack/alias."""

from __future__ import annotations

import re

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.target import Target

PRODUCT = "token-open"
FORM = re.compile(r"application/x-www-form-urlencoded; ?charset=utf-8", re.IGNORECASE)


@check("DEV-READ-1", "aliases in the query are answered 200 with their pairs, joined by &")
async def pairs(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "one", "number": "2", "flag": "true"}), 204)
    response = expect.status(await device_client.read(device, "text", "number"), 200)
    expect.equal("the pairs", sorted(response.text.split("&")), ["number=2", "text=one"], response)
    response = expect.status(await device_client.read(device, "flag"), 200)
    expect.body(response, "flag=true")


@check(
    "DEV-READ-2", "a read returns the value with the latest timestamp, and after a write the written value"
)
async def most_recent(target: Target) -> None:
    device = await target.activated(PRODUCT)
    now = await device_client.now(device)
    expect.status(
        await device_client.record(
            device, [("alias", "text"), (str(now - 90), "old"), (str(now - 80), "newer")]
        ),
        204,
    )
    expect.equal("the value", await device_client.value(device, "text"), "newer")
    expect.status(await device_client.write(device, {"text": "newest"}), 204)
    expect.equal("the value", await device_client.value(device, "text"), "newest")


@check("DEV-READ-2", "each of several writes over time is returned by the next read", needs={"clock"})
async def over_time(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for value in ("3", "1", "2"):
        await target.advance(1)
        expect.status(await device_client.write(device, {"number": value}), 204)
        expect.equal("the value", await device_client.value(device, "number"), value)


@check("DEV-READ-3", "aliases that are unknown or have no value are left out")
async def some_missing(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "here"}), 204)
    for query in (("nowhere", "text"), ("number", "text"), ("text", "nowhere", "number")):
        response = expect.status(await device_client.read(device, *query), 200)
        expect.body(response, "text=here")


@check("DEV-READ-4", "with nothing to return a read is answered 204")
async def nothing(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for query in (("nowhere",), ("text",), ("number", "nowhere")):
        expect.status(await device_client.read(device, *query), 204)


@check("DEV-READ-5", "the content type of a read, a hybrid and a poll is that of a form in UTF-8")
async def content_type(target: Target) -> None:
    device = await target.activated(PRODUCT)
    hybrid = expect.status(await device_client.write(device, {"text": "hello"}, "text"), 200)
    expect.header(hybrid, "Content-Type", FORM)
    expect.header(expect.status(await device_client.read(device, "text"), 200), "Content-Type", FORM)
    poll = await device_client.begin(target, device, "text", since=0)
    expect.header(expect.status(await poll.answer(), 200), "Content-Type", FORM)


@check("DEV-READ-6", "the pairs come in the order of the query, each alias once, also for the form a=&b=")
async def order(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "a", "number": 1, "flag": "true"}), 204)
    for query, expected in (
        ("number&text&flag", "number=1&text=a&flag=true"),
        ("flag&text&number", "flag=true&text=a&number=1"),
        ("text&number&text&text", "text=a&number=1"),
        ("number=&text=", "number=1&text=a"),
        ("number=&text&number", "number=1&text=a"),
    ):
        response = await device.request("GET", f"{device_client.ALIAS}?{query}")
        expect.body(expect.status(response, 200), expected)


@check("DEV-READ-7", "a read that names no alias is answered 400")
async def no_alias(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "here"}), 204)
    for path in (device_client.ALIAS, f"{device_client.ALIAS}?", f"{device_client.ALIAS}?&"):
        expect.refusal(await device.request("GET", path), 400)
