"""Long polling: a read that waits for the next datapoint of one alias.

A check that begins a poll and then writes passes for either order in which the two reach the target, unless the
target reports pending polls: the polls start from a time before the write, with If-Modified-Since.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.target import Target
from labkit.fleet.device import VirtualDevice

if TYPE_CHECKING:
    import httpx

PRODUCT = "token-open"
SHORT = 50  # milliseconds


@check("DEV-POLL-1", "a poll is held until its alias is written, and brings the value")
async def held(target: Target) -> None:
    device = await target.activated(PRODUCT)
    poll = await device_client.begin(target, device, "text", since=0)
    await poll.expect_pending()
    expect.status(await device_client.write(device, {"text": "hello"}), 204)
    expect.body(expect.status(await poll.answer(), 200), "text=hello")


@check("DEV-POLL-1", "a poll from now on is answered by a write within the same second", needs={"polls"})
async def held_from_now(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "before"}), 204)
    poll = await device_client.begin(target, device, "text")
    expect.status(await device_client.write(device, {"text": "after"}), 204)
    expect.body(expect.status(await poll.answer(), 200), "text=after")


@check("DEV-POLL-2", "a value that was stored before the poll arrived does not answer it")
async def earlier_value(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "before"}), 204)
    poll = await device_client.begin(target, device, "text", timeout=SHORT)
    response = await poll.expire()
    expect.true("the earlier value does not come", "before" not in response.text, response.text, response)


@check("DEV-POLL-3", "writes of another alias, device or product do not answer a poll")
async def others(target: Target) -> None:
    identity = target.identity()
    device = target.device(PRODUCT, identity)
    namesake = target.device("token-other", identity)
    neighbour = target.device(PRODUCT)
    for each in (device, namesake, neighbour):
        await each.activate()
    poll = await device_client.begin(target, device, "text", since=0)
    expect.status(await device_client.write(device, {"number": 1, "Text": "another alias"}), 204)
    expect.status(await device_client.write(neighbour, {"text": "another device"}), 204)
    expect.status(await device_client.write(namesake, {"text": "another product"}), 204)
    expect.status(await device_client.write(device, {"text": "its-own"}), 204)
    response = expect.status(await poll.answer(), 200)
    expect.equal("the pairs", device_client.values(response), {"text": "its-own"}, response)


@check("DEV-POLL-4", "Last-Modified is the timestamp of the value")
async def last_modified(target: Target) -> None:
    device = await target.activated(PRODUCT)
    stamp = await device_client.now(device) - 100
    expect.status(await device_client.record(device, [("alias", "text"), (str(stamp), "hello")]), 204)
    response = expect.status(await (await device_client.begin(target, device, "text", since=0)).answer(), 200)
    expect.header(response, "Last-Modified", str(stamp))


@check("DEV-POLL-4", "Last-Modified of a poll that waited is the time of the write")
async def last_modified_of_a_write(target: Target) -> None:
    device = await target.activated(PRODUCT)
    before = await device_client.now(device)
    poll = await device_client.begin(target, device, "text", since=0)
    expect.status(await device_client.write(device, {"text": "hello"}), 204)
    after = await device_client.now(device)
    response = expect.status(await poll.answer(), 200)
    stamp = response.headers.get("Last-Modified", "")
    expect.true(
        f"Last-Modified is within {before} to {after}",
        stamp.isdecimal() and before <= int(stamp) <= after,
        stamp,
        response,
    )


@check("DEV-POLL-5", "without a new datapoint a poll ends with 304 and no body")
async def not_modified(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "before"}), 204)
    response = await (await device_client.begin(target, device, "text", timeout=SHORT)).expire()
    expect.status(response, 304)


@check("DEV-POLL-6", "the 304 comes once the milliseconds are over, while a longer poll goes on")
async def milliseconds(target: Target) -> None:
    device = await target.activated(PRODUCT)
    longer = await device_client.begin(target, device, "number", since=0)
    began = time.monotonic()
    expect.status(await (await device_client.begin(target, device, "text", timeout=120)).expire(), 304)
    if "clock" not in target.offers:
        took = time.monotonic() - began
        expect.true("a poll of 120 ms takes no less", took >= 0.12, f"{took:.3f} s")
    expect.status(await device_client.write(device, {"number": 1}), 204)
    expect.status(await longer.answer(), 200)


@check(
    "DEV-POLL-6",
    "a poll of 1500 ms is held for less than that, and ends when they are over",
    needs={"clock", "polls"},
)
async def exact_milliseconds(target: Target) -> None:
    device = await target.activated(PRODUCT)
    woken = await device_client.begin(target, device, "text", timeout=1500, since=0)
    ended = await device_client.begin(target, device, "number", timeout=1500)
    await target.advance(1.4375)  # a sum of powers of 2, so that lab time is exact
    expect.status(await device_client.write(device, {"text": "just in time"}), 204)
    expect.status(await woken.answer(), 200)
    await ended.expect_pending()
    await target.advance(0.0625)
    expect.status(await ended.answer(), 304)


@check("DEV-POLL-7", "a datapoint after If-Modified-Since answers at once")
async def since(target: Target) -> None:
    device = await target.activated(PRODUCT)
    stamp = await recorded(device, {-100: "hello"})
    for earlier in (stamp - 1, stamp - 1000):
        poll = await device_client.begin(target, device, "text", since=earlier)
        expect.body(expect.status(await poll.answer(), 200), "text=hello")


@check("DEV-POLL-7", "a datapoint before If-Modified-Since does not answer")
async def before_since(target: Target) -> None:
    device = await target.activated(PRODUCT)
    stamp = await recorded(device, {-100: "early"})
    poll = await device_client.begin(target, device, "text", since=stamp + 50)
    again = [("alias", "text"), (str(stamp + 49), "early too")]
    expect.status(await device_client.record(device, again), 204)
    expect.status(await device_client.write(device, {"text": "late"}), 204)
    expect.body(expect.status(await poll.answer(), 200), "text=late")


@check("DEV-POLL-8", "a client that returns Last-Modified gets every datapoint once, in order")
async def no_update_missed(target: Target) -> None:
    device = await target.activated(PRODUCT)
    await recorded(device, {-90: "1", -89: "2", -60: "3"})
    marker = "0"
    for value in ("1", "2", "3"):
        marker = await expect_next(target, device, marker, value)
    await recorded(device, {-50: "4", -49: "5"})  # between its polls
    marker = await expect_next(target, device, marker, "4")
    marker = await expect_next(target, device, marker, "5")
    poll = await device_client.begin(target, device, "text", since=marker)
    expect.status(await device_client.write(device, {"text": "6"}), 204)  # while it polls
    response = expect.status(await poll.answer(), 200)
    expect.body(response, "text=6")
    last = await device_client.begin(
        target, device, "text", timeout=SHORT, since=response.headers["Last-Modified"]
    )
    expect.status(await last.expire(), 304)


@check("DEV-POLL-9", "a poll of two aliases is refused")
async def two_aliases(target: Target) -> None:
    response = await _two_aliases(target)
    expect.true("it is the client's error", 400 <= response.status_code < 500, response.status_code, response)


@check("DEV-POLL-10", "a poll of two aliases is answered 400 at once")
async def two_aliases_at_once(target: Target) -> None:
    expect.refusal(await _two_aliases(target), 400)


@check("DEV-POLL-11", "of several datapoints after If-Modified-Since the first one answers")
async def first_not_newest(target: Target) -> None:
    device = await target.activated(PRODUCT)
    stamp = await recorded(device, {-100: "first", -90: "second", -80: "third"})
    poll = await device_client.begin(target, device, "text", since=stamp - 1)
    response = expect.status(await poll.answer(), 200)
    expect.body(response, "text=first")
    expect.header(response, "Last-Modified", str(stamp))


@check("DEV-POLL-11", "of several points that one request records the first one answers a waiting poll")
async def first_of_a_record(target: Target) -> None:
    device = await target.activated(PRODUCT)
    past = await device_client.now(device) - 1000
    poll = await device_client.begin(target, device, "text", since=past)
    points = [("alias", "text"), (str(past + 9), "third"), (str(past - 9), "too early")]
    points += [(str(past + 1), "first"), (str(past + 5), "second")]
    expect.status(await device_client.record(device, points), 204)
    response = expect.status(await poll.answer(), 200)
    expect.body(response, "text=first")
    expect.header(response, "Last-Modified", str(past + 1))


@check("DEV-POLL-13", "300000 milliseconds are taken; more, less than 0 or no whole number is answered 400")
async def bounds(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "here"}), 204)
    expect.status(
        await (await device_client.begin(target, device, "text", timeout=300_000, since=0)).answer(), 200
    )
    for wrong in ("300001", "-1", "1.5", "soon", "", "1e3", "0x10"):
        headers = {"Request-Timeout": wrong, "If-Modified-Since": "0"}
        expect.refusal(await device.request("GET", f"{device_client.ALIAS}?text", headers=headers), 400)


@check("DEV-POLL-14", "Request-Timeout 0 answers at once, with 200 or 304")
async def zero(target: Target) -> None:
    device = await target.activated(PRODUCT)
    empty = await device_client.begin(target, device, "text", timeout=0, since=0)
    expect.status(await empty.answer(), 304)
    stamp = await recorded(device, {-100: "first", -90: "second"})
    for value in ("first", "second"):
        poll = await device_client.begin(target, device, "text", timeout=0, since=stamp)
        expect.body(expect.status(await poll.answer(), 200), f"text={value}")
    for since in (None, stamp + 10):
        poll = await device_client.begin(target, device, "text", timeout=0, since=since)
        expect.status(await poll.answer(), 304)


@check("DEV-POLL-15", "If-Modified-Since takes an HTTP-date in its three forms, Unix seconds and 0")
async def date_forms(target: Target) -> None:
    device = await target.activated(PRODUCT)
    stamp = await recorded(device, {-100: "first", -99: "second"})
    await expect_next(target, device, str(stamp), "first")
    moment = datetime.fromtimestamp(stamp, UTC)
    forms = (
        str(stamp),
        format_datetime(moment, usegmt=True),
        moment.strftime("%A, %d-%b-%y %H:%M:%S GMT"),  # RFC 850
        moment.strftime("%a %b %e %H:%M:%S %Y"),  # asctime
    )
    for form in forms:
        poll = await device_client.begin(target, device, "text", since=form)
        expect.body(expect.status(await poll.answer(), 200), "text=second")
    poll = await device_client.begin(target, device, "text", since="0")
    expect.body(expect.status(await poll.answer(), 200), "text=first")
    for last in ("253402300799", "Fri, 31 Dec 9999 23:59:59 GMT"):
        poll = await device_client.begin(target, device, "text", timeout=0, since=last)
        expect.status(await poll.answer(), 304)


@check("DEV-POLL-15", "dates of the first seconds of 1970, and before them")
async def first_dates(target: Target) -> None:
    device = await target.activated(PRODUCT)
    points = [("alias", "text"), ("1", "first"), ("2", "second")]
    expect.status(await device_client.record(device, points), 204)
    for form, value in (
        ("Thu, 01 Jan 1970 00:00:00 GMT", "first"),
        ("Thu, 01 Jan 1970 00:00:01 GMT", "second"),
        ("Wed, 31 Dec 1969 23:59:59 GMT", "first"),
        ("Mon, 01 Jan 1601 00:00:00 GMT", "first"),
    ):
        poll = await device_client.begin(target, device, "text", since=form)
        expect.body(expect.status(await poll.answer(), 200), f"text={value}")


@check("DEV-POLL-15", "any other If-Modified-Since is answered 400")
async def no_date(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "here"}), 204)
    for wrong in (
        *(
            "yesterday",
            "2026-01-01",
            "-5",
            "1.5",
            "",
            "253402300800",
            "9" * 13,
            "Sat, 45 Jan 2026 00:00:00 GMT",
            "1767225600 GMT",
        ),
        *("Sat, 03 Jan 2026 00:00:00 +0200", "Sat, 03 Jan 2026 00:00:00 EST"),  # no HTTP-date has such a zone
    ):
        headers = {"Request-Timeout": "0", "If-Modified-Since": wrong}
        expect.refusal(await device.request("GET", f"{device_client.ALIAS}?text", headers=headers), 400)


@check("DEV-POLL-16", "If-Modified-Since alone changes nothing about a read")
async def since_without_timeout(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "here", "number": 1}), 204)
    later = str(await device_client.now(device) + 50)
    for since in (later, "0", "yesterday"):
        response = await device.request(
            "GET", f"{device_client.ALIAS}?text&number", headers={"If-Modified-Since": since}
        )
        expect.body(expect.status(response, 200), "text=here&number=1")
        expect.header(response, "Last-Modified", None)


@check("DEV-POLL-17", "a poll of an unknown alias waits and ends with 304")
async def unknown_alias(target: Target) -> None:
    device = await target.activated(PRODUCT)
    began = time.monotonic()
    poll = await device_client.begin(target, device, "nowhere", timeout=SHORT, since=0)
    expect.status(await device_client.write(device, {"nowhere": "lost"}), 204)
    expect.status(await poll.expire(), 304)
    if "clock" not in target.offers:
        took = time.monotonic() - began
        expect.true("it waits for its time", took >= SHORT / 1000, f"{took:.3f} s")


@check("DEV-POLL-17", "a poll of an unknown alias is held for all its time", needs={"clock", "polls"})
async def unknown_alias_held(target: Target) -> None:
    device = await target.activated(PRODUCT)
    poll = await device_client.begin(target, device, "nowhere", timeout=2000)
    await target.advance(1.9375)
    await poll.expect_pending()
    await target.advance(0.0625)
    expect.status(await poll.answer(), 304)


@check("DEV-POLL-18", "a 304 has no Last-Modified")
async def bare_304(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "before"}), 204)
    response = await (await device_client.begin(target, device, "text", timeout=SHORT)).expire()
    expect.header(expect.status(response, 304), "Last-Modified", None)


@check("DEV-POLL-19", "a hybrid write answers a poll")
async def woken_by_hybrid(target: Target) -> None:
    device = await target.activated(PRODUCT)
    poll = await device_client.begin(target, device, "text", since=0)
    expect.status(await device_client.write(device, {"text": "hybrid"}, "text"), 200)
    expect.body(expect.status(await poll.answer(), 200), "text=hybrid")


@check("DEV-POLL-19", "a recorded point answers a poll if it is later than the poll's time")
async def woken_by_record(target: Target) -> None:
    device = await target.activated(PRODUCT)
    now = await device_client.now(device)
    poll = await device_client.begin(target, device, "text", since=now - 100)
    expect.status(await device_client.record(device, [("alias", "text"), (str(now - 150), "too early")]), 204)
    expect.status(await device_client.record(device, [("alias", "text"), (str(now - 50), "later")]), 204)
    response = expect.status(await poll.answer(), 200)
    expect.body(response, "text=later")
    expect.header(response, "Last-Modified", str(now - 50))


@check("DEV-POLL-19", "a point recorded for the past does not answer a poll from now on")
async def not_woken_by_the_past(target: Target) -> None:
    device = await target.activated(PRODUCT)
    poll = await device_client.begin(target, device, "text", timeout=SHORT)
    await recorded(device, {-100: "the past"})
    if "clock" in target.offers:  # with a wall clock the next second may have begun
        await recorded(device, {0: "the second in which it arrived"})
    expect.status(await poll.expire(), 304)


@check("DEV-POLL-20", "a client that disconnects while it polls misses no value")
async def client_leaves(target: Target) -> None:
    device = await target.activated(PRODUCT)
    stamp = await device_client.now(device) - 1
    await (await device_client.begin(target, device, "text", since=stamp)).disconnect()
    expect.status(await device_client.write(device, {"text": "meanwhile"}), 204)
    poll = await device_client.begin(target, device, "text", since=stamp)
    expect.body(expect.status(await poll.answer(), 200), "text=meanwhile")


async def recorded(device: VirtualDevice, points: dict[int, str]) -> int:
    """Record values of `text` at offsets in seconds from now; return the first one's timestamp."""
    now = await device_client.now(device)
    pairs = [("alias", "text"), *((str(now + offset), value) for offset, value in points.items())]
    expect.status(await device_client.record(device, pairs), 204)
    return now + min(points)


async def expect_next(target: Target, device: VirtualDevice, since: str, value: str) -> str:
    """Poll for the next datapoint of `text` and return its Last-Modified. Raises Mismatch unless it has this value."""
    response = expect.status(
        await (await device_client.begin(target, device, "text", since=since)).answer(), 200
    )
    expect.body(response, f"text={value}")
    return str(response.headers.get("Last-Modified"))


async def _two_aliases(target: Target) -> httpx.Response:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "here", "number": 1}), 204)
    headers = {"Request-Timeout": str(device_client.LONG), "If-Modified-Since": "0"}
    return await device.request("GET", f"{device_client.ALIAS}?text&number", headers=headers)
