"""Long polling: which value of the second in If-Modified-Since counts as already seen by the client."""

from __future__ import annotations

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.device.long_poll.checks import PRODUCT
from labkit.conformance.device.long_poll.poller import Poller, pollers
from labkit.conformance.raw import head
from labkit.conformance.target import Target
from labkit.fleet.device import VirtualDevice

ANSWERS = 5  # answers to polls from its own second, after which a value counts as seen
LOST = 300  # seconds before now, at which these checks store their values


class Values:
    """Successive values of one alias of a device, all at one second of the past."""

    def __init__(self, device: VirtualDevice, second: int) -> None:
        self.device = device
        self.second = str(second)

    async def set(self, value: str, alias: str = "text") -> None:
        """Store a value, replacing the current one of this second."""
        pairs = [("alias", alias), (self.second, value)]
        expect.status(await device_client.record(self.device, pairs), 204)


async def begin(target: Target) -> Values:
    """Return values of a fresh device."""
    device = await target.activated(PRODUCT)
    return Values(device, await device_client.now(device) - LOST)


@check("DEV-POLL-27", "each of two clients that keep their connections gets each value of one second once")
async def two_clients(target: Target) -> None:
    values = await begin(target)
    async with pollers(target, values.device, 2) as clients:
        for value, order in (("v1", (0, 1)), ("v2", (0, 1)), ("v3", (1, 0)), ("v4", (1, 0))):
            await values.set(value)
            for each in order:
                await clients[each].expect_value(value)
                await clients[each].expect_nothing()
        await clients[0].expect_nothing()


@check("DEV-POLL-27", "values of other aliases and devices that a connection received do not count as seen")
async def by_alias_and_device(target: Target) -> None:
    values = await begin(target)
    other = Values(await target.activated(PRODUCT), int(values.second))
    async with pollers(target, values.device, 2) as (client, witness):
        await values.set("v1")
        await client.expect_value("v1")
        await values.set("v2")
        await witness.expect_value("v2")
        for each, alias in ((values, "Text"), (other, "text")):  # newer values, of the same second
            await each.set("another", alias)
            headers = [("X-Platform-CIK", str(each.device.token)), *client.headers("0")[2:]]
            path = f"{device_client.ALIAS}?{alias}"
            expect.status(await (await client.connection()).ask("GET", path, headers), 200)
        await client.expect_value("v2")
        await client.expect_nothing()


@check(
    "DEV-POLL-27",
    "for a client whose last value is of another second, the values that other clients have seen count",
)
async def of_another_second(target: Target) -> None:
    values = await begin(target)
    later = Values(values.device, int(values.second) + 100)
    async with pollers(target, values.device, 2) as (client, witness):
        await later.set("later")
        await client.expect_value("later")
        await values.set("v1")
        witness.since = str(int(values.second) - 1)
        await witness.expect_value("v1")
        client.since = values.second
        await client.expect_value("later")


@check("DEV-POLL-28", "a value whose answer is lost in a reset, or in silence, answers again")
async def lost_answers(target: Target) -> None:
    values = await begin(target)
    async with pollers(target, values.device, 1) as (client,):
        await values.set("v1")
        await client.expect_value("v1")
        for value in ("v2", "v3"):
            await values.set(value)
            expect.body(expect.status(await client.ask(), 200), f"text={value}")
            await client.reset()
            expect.body(expect.status(await client.ask(), 200), f"text={value}")
            client.fall_silent()
            await client.expect_value(value)
            await client.expect_nothing()


@check(
    "DEV-POLL-22 DEV-POLL-29",
    "a value that answered a poll from another time does not answer one from its own second",
)
async def answered_another(target: Target) -> None:
    values = await begin(target)
    async with pollers(target, values.device, 2) as (client, other):
        for value, since in (("v1", int(values.second) - 1), ("v2", 0)):
            await values.set(value)
            client.since = str(since)
            await client.expect_value(value)
            await client.reset()  # the answer was lost, but the client polls from an earlier time
            client.since, other.since = str(since), values.second
            await other.expect_nothing()
            await client.expect_value(value)


@check(
    "DEV-POLL-29",
    "a value that answered a poll without a time does not answer one from its second",
    needs={"polls"},
)
async def answered_live(target: Target) -> None:
    values = await begin(target)
    poll = await device_client.begin(target, values.device, "text")
    expect.status(await device_client.write(values.device, {"text": "live"}), 204)
    response = expect.status(await poll.answer(), 200)
    async with pollers(target, values.device, 1) as (client,):
        client.since = str(response.headers.get("Last-Modified"))
        await client.expect_nothing()


@check("DEV-POLL-30", "a further request, FIN and TLS's close_notify each confirm a value")
async def confirmed(target: Target) -> None:
    values = await begin(target)
    async with pollers(target, values.device, 2) as (client, other):
        for number, how in enumerate(("request", "fin", "close_notify")):
            await values.set(f"v{number}")
            client.since = other.since = values.second
            await client.expect_value(f"v{number}")
            await other.expect_value(f"v{number}")  # no request has confirmed it
            await other.reset()
            if how == "request":
                await client.ask("number")
            else:
                await client.end_connection(close_notify=how == "close_notify")
            await other.expect_nothing()
            await other.reset()


@check("DEV-POLL-30", "a client with a new connection each time gets each value of one second once")
async def ended_in_order(target: Target) -> None:
    values = await begin(target)
    async with pollers(target, values.device, 1) as (client,):
        for value in ("v1", "v2", "v3"):
            await values.set(value)
            await client.expect_value(value)
            await client.end_connection()
            await client.expect_nothing()
            await client.end_connection()


@check("DEV-POLL-31", "a request that was pipelined, and an end that the server makes, confirm nothing")
async def not_confirmed(target: Target) -> None:
    values = await begin(target)
    async with pollers(target, values.device, 2) as (client, other):
        client.since = other.since = values.second
        await values.set("v1")
        await _poll_pipelined(client)
        await _receive_and_lose(other, "v1")
        await client.reset()
        await values.set("v2")
        response = expect.status(await client.ask("text", None, ("Connection", "close")), 200)
        expect.body(response, "text=v2")
        await (await client.connection()).rest()
        await client.end_connection()
        await _receive_and_lose(other, "v2")


@check("DEV-POLL-32", "a value whose answer is lost five times does not answer again")
async def five_times(target: Target) -> None:
    values = await begin(target)
    async with pollers(target, values.device, 1) as (client,):
        client.since = values.second
        for value in ("v1", "v2"):
            await values.set(value)
            for _ in range(ANSWERS):
                await _receive_and_lose(client, value)
            await client.expect_nothing()
            await client.end_connection()


async def _receive_and_lose(client: Poller, value: str) -> None:
    """Receive a value, and lose it by a reset of the connection."""
    await client.expect_value(value)
    await client.reset()


async def _poll_pipelined(client: Poller) -> None:
    """Send a poll and a second request at once, and read both answers."""
    connection = await client.connection()
    fields = [("Host", connection.name), *client.headers()]
    timestamp = head("GET", "/timestamp", [("Host", connection.name)])
    connection.send(head("GET", f"{device_client.ALIAS}?text", fields) + timestamp)
    import httpx

    for path in (f"{device_client.ALIAS}?text", "/timestamp"):
        answer = await connection.answer(httpx.Request("GET", f"https://{connection.name}{path}"))
        expect.status(answer, 200)
