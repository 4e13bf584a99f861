"""Writing values: POST /onep:v1/stack/alias."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from labkit.conformance import device_client, expect
from labkit.conformance.check import check, model_check
from labkit.conformance.target import Target

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


PRODUCT = "token-open"
ALIASES = ("text", "Text", "number", "flag", "level", "mode")


@check("DEV-ALIAS-1", "a write of one pair is answered 204 and can be read back")
async def one_pair(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "hello"}), 204)
    expect.equal("the value", await device_client.value(device, "text"), "hello")


@check("DEV-ALIAS-1", "a write of several pairs stores each of them")
async def several_pairs(target: Target) -> None:
    device = await target.activated(PRODUCT)
    sent = {"text": "hello", "number": "21.5", "flag": "true", "level": "7", "mode": "on"}
    expect.status(await device_client.write(device, sent), 204)
    for alias, value in sent.items():
        expect.equal(f"the value of {alias}", await device_client.value(device, alias), value)


@check("DEV-ALIAS-2", "the timestamp lies between those of the server before and after the write")
async def time_of_receipt(target: Target) -> None:
    device = await target.activated(PRODUCT)
    before = await device_client.now(device)
    expect.status(await device_client.write(device, {"text": "hello"}), 204)
    after = await device_client.now(device)
    stamp, _ = await device_client.datapoint(target, device, "text")
    expect.true(f"the timestamp is within {before} to {after}", before <= stamp <= after, stamp)


@check("DEV-ALIAS-2", "the timestamp follows the clock", needs={"clock"})
async def time_moves_on(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for value in ("earlier", "later"):
        await target.advance(2.5)
        now = await device_client.now(device)
        expect.status(await device_client.write(device, {"text": value}), 204)
        found = await device_client.datapoint(target, device, "text", since=now - 1)
        expect.equal("timestamp and value", found, (now, value))


@check("DEV-ALIAS-3", "two aliases share one timestamp")
async def one_timestamp(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "a", "number": 1, "flag": "true"}), 204)
    stamps = {
        alias: (await device_client.datapoint(target, device, alias))[0]
        for alias in ("text", "number", "flag")
    }
    expect.equal("different timestamps", len(set(stamps.values())), 1)


@check("DEV-ALIAS-4", "an unknown alias among others is no error; the others are stored")
async def unknown_among_others(target: Target) -> None:
    device = await target.activated(PRODUCT)
    body = [("number", 1), ("nowhere", "lost"), ("text", "kept")]
    expect.status(await device_client.write(device, body), 204)
    expect.equal("number", await device_client.value(device, "number"), "1")
    expect.equal("text", await device_client.value(device, "text"), "kept")
    expect.equal("the unknown alias", await device_client.value(device, "nowhere"), None)


@check("DEV-ALIAS-5", "a value with any characters reads back unchanged")
async def any_characters(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for value in (
        "a b",
        "a&b=c",
        "1+1",
        "100%",
        "%41",
        "one\r\ntwo\n",
        "grün, 温度, 🌡",
        " ",
        "=",
        "&",
        "a;b",
    ):
        expect.status(await device_client.write(device, {"text": value}), 204)
        response = expect.status(await device_client.read(device, "text"), 200)
        expect.equal("the pairs", device_client.values(response), {"text": value}, response)


@check("DEV-ALIAS-5", "a space may be sent as + and as %20, and letters that need no encoding may have it")
async def two_spellings(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for sent in ("a+b", "a%20b", "%61%20%62"):
        expect.status(await device_client.write(device, f"text={sent}"), 204)
        expect.equal("the value", await device_client.value(device, "text"), "a b")
    expect.status(await device_client.write(device, "%74ext=other"), 204)
    expect.equal("the value", await device_client.value(device, "text"), "other")


@check("DEV-ALIAS-6", "a value that does not fit is answered 400 and nothing of the request is stored")
async def wrong_format(target: Target) -> None:
    device = await target.activated(PRODUCT)
    wrong_values = [("number", "warm"), ("number", ""), ("flag", "maybe"), ("level", "101"), ("mode", "dim")]
    for alias, value in wrong_values:
        for body in ([("text", "x"), (alias, value)], [(alias, value), ("text", "x")]):
            expect.refusal(await device_client.write(device, body), 400)
            expect.equal("what is stored", await device_client.stored(device, *ALIASES), {})


@check("DEV-ALIAS-6", "the edges of the allowed values fit")
async def edges_fit(target: Target) -> None:
    device = await target.activated(PRODUCT)
    fitting = [("number", "-1.5e3"), ("flag", "false"), ("level", "0"), ("level", "100"), ("mode", "off")]
    for alias, value in fitting:
        expect.status(await device_client.write(device, {alias: value}), 204)
        expect.equal(alias, await device_client.value(device, alias), value)


@check("DEV-ALIAS-6", "values that fit whole numbers and listed values, and values that do not")
async def listed_values(target: Target) -> None:
    device = await target.activated("by-older")
    for alias, fitting, others in (
        (
            "whole",
            ("0", "-7", "+3", "9007199254740993", "007"),
            ("1.0", "1.5", "1e3", "", " 1", "1_0", "٣", "0x1", "inf"),
        ),
        (
            "chosen",
            ("1", "1.0", "2.5", "25e-1", "10", "10.5", "11"),
            ("0", "2", "2.4", "3", "9.99", "11.01", "nan", "x"),
        ),
        ("truth", ("true", "1"), ("false", "0", "True", "")),
    ):
        for value in fitting:
            expect.status(await device_client.write(device, {alias: value}), 204)
            expect.equal(alias, await device_client.value(device, alias), value)
        for value in others:
            expect.refusal(await device_client.write(device, {"text": value, alias: value}), 400)
            expect.equal(alias, await device_client.value(device, alias), fitting[-1])
            expect.equal("text", await device_client.value(device, "text"), None)


@check("DEV-ALIAS-7", "a write without a pair is answered 400")
async def no_pair(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for body in ("", "&"):
        expect.refusal(await device_client.write(device, body), 400)


@check(
    "DEV-ALIAS-8", "a name without = has the empty text as value; of a repeated alias the last value counts"
)
async def odd_pairs(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, "text&number=1&Text=a&number=2&Text=b"), 204)
    response = expect.status(await device_client.read(device, "text", "Text", "number"), 200)
    expect.equal(
        "the pairs", device_client.values(response), {"text": "", "Text": "b", "number": "2"}, response
    )


@check("DEV-ALIAS-9", "a write of unknown aliases alone is answered 204 and stores nothing")
async def unknown_alone(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"nowhere": 1, "neverwhere": "x"}), 204)
    expect.equal("what is stored", await device_client.stored(device, "nowhere", "neverwhere", *ALIASES), {})


@check("DEV-ALIAS-10", "of two writes within a second the later one is read")
async def twice_a_second(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for value in ("b", "a", "c"):
        expect.status(await device_client.write(device, {"text": value}), 204)
        expect.equal("the value", await device_client.value(device, "text"), value)


@check("DEV-ALIAS-11", "the 204 of a write has Content-Length: 0")
async def empty_length(target: Target) -> None:
    device = await target.activated(PRODUCT)
    response = expect.status(await device_client.write(device, {"text": "hello"}), 204)
    expect.header(response, "Content-Length", "0")


@check("DEV-ALIAS-12", "another spelling of an alias is another alias, or unknown")
async def letter_case(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "small", "Text": "great", "NUMBER": "1"}), 204)
    response = expect.status(
        await device_client.read(device, "text", "Text", "TEXT", "number", "NUMBER"), 200
    )
    expect.equal("the pairs", device_client.values(response), {"text": "small", "Text": "great"}, response)


@check("DEV-ALIAS-5", "the names and values of an answer are form-encoded, not bare")
async def encoded_answer(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, f"text={quote('a&number=7', safe='')}"), 204)
    response = expect.status(await device_client.read(device, "text", "number"), 200)
    expect.equal("the pairs", response.text.count("&"), 0, response)
    expect.equal("the value", device_client.values(response), {"text": "a&number=7"}, response)


@model_check(
    "DEV-ALIAS-1 DEV-ALIAS-5 DEV-ALIAS-6 DEV-READ-1 DEV-READ-2 DEV-READ-4 DEV-READ-5 DEV-READ-6 DEV-HYBRID-1 "
    "DEV-HYBRID-2 DEV-HYBRID-4 DEV-HYBRID-5 DEV-REC-1 DEV-REC-4 DEV-REC-6 DEV-REC-7 DEV-REC-12 DEV-REC-14 DEV-REC-16 "
    "DEV-POLL-1 DEV-POLL-2 DEV-POLL-3 DEV-POLL-5 DEV-POLL-6 DEV-POLL-7 DEV-POLL-11 DEV-POLL-14 DEV-POLL-19 DEV-POLL-21 "
    "DEV-POLL-22 DEV-POLL-23 DEV-POLL-24 DEV-POLL-25 DEV-POLL-27 DEV-POLL-28 DEV-POLL-29 DEV-POLL-30 DEV-POLL-32 "
    "DEV-AUTH-7 DEV-TLS-1 DEV-ALIAS-9 DEV-EVT-1 DEV-EVT-2 DEV-EVT-3 "
    "DEV-EVT-4 DEV-EVT-5 DEV-EVT-6 DEV-EVT-7",
    "values of devices that write, record, read and poll in any order, as a model has them",
)
def model() -> type[Game]:
    """Return the game of device values."""
    from labkit.conformance.device.write.values import Values

    return Values
