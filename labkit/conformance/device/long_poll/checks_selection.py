"""Long polling: which datapoint answers a poll, and that no datapoint is missed."""

from __future__ import annotations

from labkit.conformance import device_client, endpoints, expect
from labkit.conformance.check import check
from labkit.conformance.device.long_poll.checks import PRODUCT, expect_next, recorded
from labkit.conformance.target import Target
from labkit.fleet.device import VirtualDevice


@check("DEV-POLL-21", "each of several values of one second answers the next poll from that second")
async def replaced_within_a_second(target: Target) -> None:
    device = await target.activated(PRODUCT)
    stamp = await device_client.now(device) - 100
    marker = str(stamp - 1)
    for value in ("on", "off", "on"):
        expect.status(await device_client.record(device, [("alias", "text"), (str(stamp), value)]), 204)
        marker = await expect_next(target, device, marker, value)
        expect.equal("Last-Modified", marker, str(stamp))
    await _nothing_new(target, device, marker)


@check(
    "DEV-POLL-21", "of immediately successive writes each one answers a poll, or the last one of their second"
)
async def written_at_once(target: Target) -> None:
    device = await target.activated(PRODUCT)
    marker = str(await device_client.now(device) - 1)
    for value in ("1", "2", "3"):
        expect.status(await device_client.write(device, {"text": value}), 204)
        marker = await expect_next(target, device, marker, value)
    for value in ("4", "5"):
        expect.status(await device_client.write(device, {"text": value}), 204)
    poll = await device_client.begin(target, device, "text", since=marker)
    response = expect.status(await poll.answer(), 200)
    if device_client.values(response) == {"text": "4"}:  # the two writes were in different seconds
        await expect_next(target, device, str(response.headers.get("Last-Modified")), "5")
    else:
        expect.body(response, "text=5")


@check("DEV-POLL-21", "a value of the very second that a waiting poll names answers it")
async def replaced_while_waiting(target: Target) -> None:
    device = await target.activated(PRODUCT)
    stamp = await recorded(device, {-100: "on"})
    marker = await expect_next(target, device, "0", "on")
    poll = await device_client.begin(target, device, "text", since=marker)
    expect.status(await device_client.record(device, [("alias", "text"), (str(stamp), "off")]), 204)
    expect.body(expect.status(await poll.answer(), 200), "text=off")


@check("DEV-POLL-22", "the point of the very second of If-Modified-Since answers once, before a later one")
async def same_second(target: Target) -> None:
    device = await target.activated(PRODUCT)
    namesake = target.device("token-other", device.identity)
    await namesake.activate()
    stamp = await recorded(device, {-100: "first", -90: "second"})
    await recorded(namesake, {stamp - await device_client.now(namesake): "its-own"})
    for value in ("first", "second"):
        await expect_next(target, device, str(stamp), value)
    await _nothing_new(target, device, str(stamp + 10))
    await expect_next(target, namesake, str(stamp), "its-own")


@check("DEV-POLL-23", "a write answers every poll that waits for it, whatever its time")
async def all_of_them(target: Target) -> None:
    device = await target.activated(PRODUCT)
    stamp = await recorded(device, {-100: "before"})
    await expect_next(target, device, "0", "before")
    polls = [
        await device_client.begin(target, device, "text", since=each) for each in (stamp, stamp, stamp + 50)
    ]
    expect.status(await device_client.write(device, {"text": "for-all"}), 204)
    for poll in polls:
        expect.body(expect.status(await poll.answer(), 200), "text=for-all")


@check("DEV-POLL-24", "a point recorded ahead answers when its second comes")
async def ahead(target: Target) -> None:
    device = await target.activated(PRODUCT)
    stamp = await recorded(device, {2: "ahead"})
    early = await device_client.begin(target, device, "text", since=stamp - 10)
    expect.status(await device_client.record(device, [("alias", "number"), (str(stamp), "1")]), 204)
    waits = await device_client.begin(target, device, "number", since=stamp - 10)
    await early.expect_pending()
    late = await device_client.begin(target, device, "flag")
    expect.status(await device_client.record(device, [("alias", "flag"), (str(stamp), "1")]), 204)
    await late.expect_pending()
    await device_client.until(target, device, stamp)
    for poll, body in ((early, "text=ahead"), (waits, "number=1"), (late, "flag=1")):
        response = expect.status(await poll.answer(), 200)
        expect.body(response, body)
        expect.header(response, "Last-Modified", str(stamp))


@check(
    "DEV-POLL-24",
    "each of several points recorded ahead answers at its time, in any order of recording",
    needs={"clock"},
)
async def several_ahead(target: Target) -> None:
    device = await target.activated(PRODUCT)
    now = await device_client.now(device)
    poll = await device_client.begin(target, device, "text", since=now)
    for ahead in (40, 10, 30, 20):
        points = [("alias", "text"), (str(now + ahead), f"at-{ahead}")]
        expect.status(await device_client.record(device, points), 204)
    for ahead in (10, 20, 30, 40):
        await target.advance(now + ahead - 1 - await device_client.now(device))
        await poll.expect_pending()
        await target.advance(1)
        response = expect.status(await poll.answer(), 200)
        expect.body(response, f"text=at-{ahead}")
        expect.header(response, "Last-Modified", str(now + ahead))
        poll = await device_client.begin(target, device, "text", since=now + ahead)


@check("DEV-POLL-25", "a value written before the time in a poll's If-Modified-Since does not answer it")
async def future(target: Target) -> None:
    device = await target.activated(PRODUCT)
    stamp = await device_client.now(device) + 2
    poll = await device_client.begin(target, device, "text", since=stamp)
    expect.status(await device_client.write(device, {"text": "too early"}), 204)
    await poll.expect_pending()
    await device_client.until(target, device, stamp)
    expect.status(await device_client.write(device, {"text": "in-time"}), 204)
    expect.body(expect.status(await poll.answer(), 200), "text=in-time")


@check("DEV-POLL-26", "a poll ends with 401 when its device's credentials are replaced, another's goes on")
async def credentials_replaced(target: Target) -> None:
    device, neighbour = await target.activated(PRODUCT), await target.activated(PRODUCT)
    polls = [await device_client.begin(target, each, "text", since=0) for each in (device, neighbour)]
    await device.activate()
    expect.status(await polls[0].answer(), 401)
    for each in (device, neighbour):
        expect.status(await device_client.write(each, {"text": "new"}), 204)
    expect.body(expect.status(await polls[1].answer(), 200), "text=new")


@check("DEV-POLL-26", "a poll goes on when another client is refused new credentials for its device")
async def others_refused(target: Target) -> None:
    device = await target.activated(PRODUCT)
    poll = await device_client.begin(target, device, "text", since=0)
    for _ in range(2):
        response = await endpoints.activate(target.client(PRODUCT), {"id": device.identity})
        expect.true(
            "the other client is refused", 400 <= response.status_code < 500, response.status_code, response
        )
    await poll.expect_pending()
    expect.status(await device_client.write(device, {"text": "as-before"}), 204)
    expect.body(expect.status(await poll.answer(), 200), "text=as-before")


async def _nothing_new(target: Target, device: VirtualDevice, since: str) -> None:
    poll = await device_client.begin(target, device, "text", timeout=0, since=since)
    expect.status(await poll.answer(), 304)
