"""Hybrid requests, which write and read at once: POST /onep:v1/stack/alias?<alias>&…"""

from __future__ import annotations

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.target import Target

PRODUCT = "token-open"


@check("DEV-HYBRID-1", "the body is stored, and the aliases of the query alone come back")
async def stores_and_returns(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"number": 1, "flag": "true", "mode": "on"}), 204)
    response = expect.status(
        await device_client.write(device, {"text": "new", "level": 5}, "number", "flag"), 200
    )
    expect.equal("the pairs", sorted(response.text.split("&")), ["flag=true", "number=1"], response)
    expect.equal("text", await device_client.value(device, "text"), "new")
    expect.equal("level", await device_client.value(device, "level"), "5")


@check("DEV-HYBRID-2", "an alias that is written and read comes back with its new value")
async def writes_first(target: Target) -> None:
    device = await target.activated(PRODUCT)
    response = expect.status(await device_client.write(device, {"text": "first"}, "text"), 200)
    expect.body(response, "text=first")
    response = expect.status(
        await device_client.write(device, {"number": 2, "text": "second"}, "text", "number"), 200
    )
    expect.equal("the pairs", device_client.values(response), {"text": "second", "number": "2"}, response)


@check("DEV-HYBRID-3", "unknown aliases in body and query are no error")
async def unknown_aliases(target: Target) -> None:
    device = await target.activated(PRODUCT)
    body = [("nowhere", "lost"), ("text", "kept")]
    response = expect.status(await device_client.write(device, body, "nowhere", "text", "neverwhere"), 200)
    expect.body(response, "text=kept")
    expect.equal("text", await device_client.value(device, "text"), "kept")


@check("DEV-HYBRID-4", "with nothing to return a hybrid request is answered 204, and its pairs are stored")
async def nothing_to_return(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "kept"}, "number", "nowhere"), 204)
    expect.equal("text", await device_client.value(device, "text"), "kept")


@check(
    "DEV-HYBRID-5", "an empty body or a value that does not fit is answered 400, stores and returns nothing"
)
async def refused(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "before"}), 204)
    for body in ("", "number=warm", "text=after&number=warm", "number=warm&text=after"):
        response = await device_client.write(device, body, "text", "number")
        expect.refusal(response, 400)
        expect.true("no values come back", "before" not in response.text, response.text, response)
        expect.equal("text", await device_client.value(device, "text"), "before")
        expect.equal("number", await device_client.value(device, "number"), None)
