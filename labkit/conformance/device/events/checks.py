"""Events that solutions receive when a device sends data, read from the probe solution over HTTPS.

Events are handled after the device has its answer. So each check ends with a write that marks its end: since the
events of one device keep their order, all earlier events of the device have been handled once the mark has.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from typing import TYPE_CHECKING, Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch
from labkit.fleet.device import VirtualDevice

if TYPE_CHECKING:
    from labkit.lab.product import Product
    from labkit.lab.solution import Solution

PRODUCT, OTHER, CERTIFICATES = "token-open", "token-other", "certificate-open"
PROBE, WITNESS = (
    "probe",
    "witness",
)  # both are linked to the product OTHER; only the probe is linked to the others
MARK = {"Text": "the end"}
ADDRESS = re.compile(r"[0-9a-f.:]{3,45}", re.IGNORECASE)

Event = dict[str, Any]


@check("DEV-EVT-1", "each write and each hybrid write raises one data_in")
async def one_data_in(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "a"}), 204)
    expect.status(await device_client.write(device, {"number": 1}, "text"), 200)
    expect.status(await device_client.write(device, {"text": "b", "number": 2}, "nowhere"), 204)
    found = [_values(each) for each in await _data_in(target, device)]
    expect.equal(
        "the events received", found, [[{"text": "a"}], [{"number": "1"}], [{"text": "b", "number": "2"}]]
    )


@check("DEV-EVT-2", "a data_in has its fields, and the values as they were sent")
async def fields_of_data_in(target: Target) -> None:
    device = await target.activated(PRODUCT)
    before = await device_client.now(device)
    expect.status(await device_client.write(device, {"text": "a & ü", "number": "01.50", "flag": "1"}), 204)
    after = await device_client.now(device)
    (event,) = _expect_count(await _data_in(target, device), 1)
    given = {name: event.get(name) for name in ("type", "identity", "protocol")}
    wanted = {"type": "data_in", "identity": device.identity, "protocol": "onep"}
    expect.equal("type, identity and protocol", given, wanted)
    _expect_source(event, event.get("ip"), before, after)
    (entry,) = _expect_count(event.get("payload"), 1)
    expect.equal("the names in the payload", sorted(entry), ["timestamp", "values"])
    _expect_micros(entry["timestamp"], before, after)
    expect.equal("the values", entry["values"], {"text": "a & ü", "number": "01.50", "flag": "1"})


@check("DEV-EVT-3", "a write runs the datapoint handler of each linked solution and of no other")
async def linked_solutions(target: Target) -> None:
    identity = target.identity()
    device, other = target.device(PRODUCT, identity), target.device(OTHER, identity)
    for each in (device, other):
        await each.activate()
    expect.status(await device_client.write(device, {"text": "for the probe"}), 204)
    expect.status(await device_client.write(other, {"text": "for both"}), 204)
    for each in (device, other):
        expect.status(await device_client.write(each, MARK), 204)
    witnessed = _datapoints(await _received_events(target, identity, marks=1, solution=WITNESS))
    expect.equal("the events that the witness received", _texts(witnessed), ["for both"])
    probed = _datapoints(await _received_events(target, identity, marks=2))
    expect.equal("the events that the probe received", sorted(_texts(probed)), ["for both", "for the probe"])


@check("DEV-EVT-4", "the datapoint handler sees alias, timestamp and value")
async def datapoint(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "hello"}), 204)
    expect.status(await device_client.write(device, {"number": "1.50"}), 204)
    found = await _datapoints_of(target, device)
    expect.equal("the aliases", [each.get("alias") for each in found], ["text", "number"])
    for each, value in zip(found, ("hello", "1.50"), strict=True):
        stamp, _ = await device_client.datapoint(target, device, each["alias"])
        expect.equal("data.value", each.get("value"), [stamp, value])


@check("DEV-EVT-5", "a write of several aliases raises a datapoint for each and one data_in")
async def several_aliases(target: Target) -> None:
    device = await target.activated(PRODUCT)
    sent = {"text": "a", "number": "1", "flag": "true"}
    expect.status(await device_client.write(device, {**sent, "nowhere": "lost"}), 204)
    events = await _events_until_mark(target, device)
    given = {each["alias"]: each["value"][1] for each in _datapoints(events)}
    expect.equal("how many datapoints there are", len(_datapoints(events)), 3)
    expect.equal("the datapoints", given, sent)
    expect.equal("the data_in", [_values(each) for each in _of_type(events, "data_in")], [[sent]])


@check("DEV-EVT-6", "a datapoint has its other fields")
async def fields_of_datapoint(target: Target) -> None:
    device = await target.activated(PRODUCT)
    before = await device_client.now(device)
    expect.status(await device_client.write(device, {"text": "a"}), 204)
    expect.status(await device_client.write(device, {"text": "b", "number": 1}), 204)
    expect.status(await device_client.record(device, [("alias", "text"), (str(before - 100), "c")]), 204)
    after = await device_client.now(device)
    found = await _datapoints_of(target, device)
    for each in found:
        own = {"device_sn": device.identity, "vendor": PRODUCT, "pid": PRODUCT}
        expect.equal("device_sn, vendor and pid", {name: each.get(name) for name in own}, own)
        _expect_source(each, each.get("source_ip"), before, after, connection=False)
    text = [each for each in found if each["alias"] == "text"]
    (number,) = _expect_count([each for each in found if each["alias"] == "number"], 1)
    expect.equal("api", [each.get("api") for each in text], ["write", "write", "record"])
    counted: list[Any] = [each.get("seq") for each in text]
    first = counted[0] if isinstance(counted[0], int) else 0
    expect.equal("seq of an alias's datapoints", counted, [first, first + 1, first + 2])
    expect.equal("different rid of one alias", len({each.get("rid") for each in text}), 1)
    expect.true(
        "rid is there, and another for each alias", number.get("rid") not in (None, text[0]["rid"]), text
    )


@check("DEV-EVT-7", "a record raises one data_in with an entry a timestamp, and a datapoint a point")
async def record(target: Target) -> None:
    device = await target.activated(PRODUCT)
    past = await device_client.now(device) - 1000
    body = [("alias", "text"), (str(past + 5), "b"), (str(past), "a")]
    body += [("alias", "number"), (str(past + 5), "1"), ("alias", "nowhere"), (str(past + 9), "lost")]
    expect.status(await device_client.record(device, body), 204)
    events = await _events_until_mark(target, device)
    (event,) = _expect_count(_of_type(events, "data_in"), 1)
    stamps = [entry["timestamp"] for entry in event["payload"]]
    expect.equal("the timestamps", stamps, [past * 1_000_000, (past + 5) * 1_000_000])
    entries = {entry["timestamp"]: entry["values"] for entry in event["payload"]}
    wanted = {past * 1_000_000: {"text": "a"}, (past + 5) * 1_000_000: {"text": "b", "number": "1"}}
    expect.equal("the entries", entries, wanted)
    points = sorted((each["alias"], *each["value"], each["api"]) for each in _datapoints(events))
    expected = [("number", past + 5, "1"), ("text", past, "a"), ("text", past + 5, "b")]
    expect.equal("the datapoints", points, [(*each, "record") for each in expected])


@check("DEV-EVT-8 DEV-REC-8", "a refused write or record raises no event")
async def refused(target: Target) -> None:
    device = await target.activated(PRODUCT)
    past = await device_client.now(device) - 1000
    clash = [("alias", "number"), (str(past), "1"), ("alias", "text"), (str(past), "a"), (str(past), "b")]
    expect.status(await device_client.write(device, {"text": "a", "number": "warm"}), 400)
    expect.status(await device_client.write(device, {"text": "a", "number": "warm"}, "text"), 400)
    expect.status(await device_client.write(device, ""), 400)
    expect.status(await device_client.record(device, clash), 409)
    expect.status(
        await device_client.record(device, [("alias", "text"), (str(past), "a"), ("soon", "b")]), 400
    )
    expect.equal("the events received", _without_provisioned(await _events_until_mark(target, device)), [])


@check(
    "DEV-ALIAS-9",
    "a write of unknown aliases alone raises data_in with one entry without values, and no datapoint",
)
async def unknown_alone(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"nowhere": 1, "neverwhere": "x"}), 204)
    events = await _events_until_mark(target, device)
    expect.equal("how many data_in and datapoints there are", len(_without_provisioned(events)), 1)
    [data_in] = _of_type(events, "data_in")
    expect.equal("its payload", data_in["payload"], [{"timestamp": data_in["timestamp"], "values": {}}])


@check("DEV-ALIAS-10", "each of several writes within a second raises its own event")
async def twice_a_second(target: Target) -> None:
    device = await target.activated(PRODUCT)
    for value in ("a", "b", "b", "c"):
        expect.status(await device_client.write(device, {"text": value}), 204)
    events = await _events_until_mark(target, device)
    expect.equal("the datapoints", _texts(_datapoints(events)), ["a", "b", "b", "c"])
    expect.equal("how many data_in there are", len(_of_type(events, "data_in")), 4)


@check("DEV-EVT-9", "the events of a device come in the order of its requests")
async def order(target: Target) -> None:
    device = await target.activated(PRODUCT)
    past = await device_client.now(device) - 1000
    for value in range(5):
        expect.status(await device_client.write(device, {"number": value}), 204)
    points = [("alias", "number"), *((str(past + value), str(value)) for value in range(5, 25))]
    expect.status(await device_client.record(device, points), 204)
    expect.status(await device_client.write(device, {"number": 25}), 204)
    found = await _datapoints_of(target, device)
    expect.equal("the values", [each["value"][1] for each in found], [str(value) for value in range(26)])


@check(
    "DEV-EVT-9",
    "a device's events are handled one at a time, after their values can be read",
    needs={"settings"},
)
async def readable(target: Target) -> None:
    product, solution = await _own_solution(target)
    device = await target.in_lab(product.device(target.identity()).activate)
    go_on = threading.Event()
    seen: list[tuple[str, str | None]] = []

    def handle(data: Event) -> None:
        go_on.wait(device_client.GRACE)
        seen.append((data["value"][1], device.read(data["alias"]).get(data["alias"])))

    await target.in_lab(solution.on, "device", "datapoint", handle)
    await target.in_lab(device.write, a="1")
    await target.in_lab(device.write, b="2", c="3")
    await target.in_lab(device.write, d="4")
    go_on.set()
    await target.settle()
    expect.equal("values received and read", seen, [(value, value) for value in ("1", "2", "3", "4")])


@check("DEV-EVT-10", "a handler that fails, or is missing, changes no answer")
async def failing_handler(target: Target) -> None:
    device = await target.activated(PRODUCT)
    expect.status(await device_client.write(device, {"text": "fail, please"}), 204)
    response = expect.status(await device_client.write(device, {"text": "fail, please"}, "text"), 200)
    expect.equal("the pairs", device_client.values(response), {"text": "fail, please"}, response)
    expect.status(await device_client.write(device, {"text": "fine again"}), 204)
    given = _texts(await _datapoints_of(target, device))
    expect.equal(
        "the events that the handler received", given, ["fail, please", "fail, please", "fine again"]
    )
    unlinked = await target.activated("content")  # a product that no solution handles
    expect.status(await device_client.write(unlinked, {"text": "unheard"}), 204)
    expect.equal("text", await device_client.value(unlinked, "text"), "unheard")


@check("DEV-EVT-10", "a handler that is slow delays no answer", needs={"settings"})
async def slow_handler(target: Target) -> None:
    product, solution = await _own_solution(target)
    device = await target.in_lab(product.device(target.identity()).activate)
    go_on = threading.Event()
    handled: list[str] = []

    def handle(data: Event) -> None:
        go_on.wait(device_client.GRACE)
        handled.append(data["value"][1])

    await target.in_lab(solution.on, "device", "datapoint", handle)
    await target.in_lab(device.write, a="1")
    await target.in_lab(device.write, a="2")
    unhandled = list(handled)
    go_on.set()
    await target.settle()
    expect.equal("handled when the device had its answers", unhandled, [])
    expect.equal("handled in the end", handled, ["1", "2"])


@check("DEV-EVT-11", "each provisioning that succeeds raises one event of type provisioned")
async def provisioned(target: Target) -> None:
    for product in (PRODUCT, CERTIFICATES):
        device = target.device(product)
        before = await device_client.now(target.device(PRODUCT))
        await device.activate()
        await device.activate()
        after = await device_client.now(device)
        events = _of_type(await _events_until_mark(target, device), "provisioned")
        expect.equal(f"how many there are on {product}", len(events), 2)
        for event in events:
            wanted = {"identity": device.identity, "protocol": "onep"}
            expect.equal("identity and protocol", {name: event.get(name) for name in wanted}, wanted)
            _expect_source(event, event.get("ip"), before, after)


@check("DEV-EVT-11", "a provisioning that is refused, reads, polls, content and /timestamp raise no event")
async def silent(target: Target) -> None:
    device = await target.activated(CERTIFICATES)
    expect.status(await device_client.write(device, {"text": "a"}), 204)
    first = await _events_until_mark(target, device)
    expect.status(await device_client.read(device, "text"), 200)
    expect.status(await (await device_client.begin(target, device, "text", since=0)).answer(), 200)
    expect.status(await (await device_client.begin(target, device, "number", timeout=10)).expire(), 304)
    await device_client.now(device)
    expect.status(await device.request("GET", "/provision/download"), 200)
    for item in await device.content():
        await device.content_info(item)
        await device.download(item)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    wrong = await device.request("POST", "/provision/activate", content="id=other", headers=form)
    expect.true("it is the client's error", 400 <= wrong.status_code < 500, wrong.status_code, wrong)
    expect.equal(
        "events after the first mark", (await _events_until_mark(target, device, marks=2))[len(first) :], []
    )


# ---- the events that solutions received


async def _events_until_mark(target: Target, device: VirtualDevice, marks: int = 1) -> list[Event]:
    """Write the mark, wait for it, and return the events of this device that the probe received, without the marks."""
    expect.status(await device_client.write(device, MARK), 204)
    return await _received_events(target, device.identity, marks)


async def _received_events(target: Target, identity: str, marks: int, solution: str = PROBE) -> list[Event]:
    """Return the events of an identity that a solution received, once both its handlers have received `marks` marks."""
    client = target.client(solution)
    until = time.monotonic() + device_client.GRACE
    while True:
        if "journal" in target.offers:
            await target.settle()
        response = expect.status(await client.request("GET", f"/events/{identity}"), 200)
        events: list[Event] = response.json()
        if sum(map(_is_mark, events)) >= 2 * marks:
            return [each for each in events if not _is_mark(each)]
        if time.monotonic() > until:
            raise Mismatch("events", f"{2 * marks} that mark the end", events, expect.exchange(response))
        await asyncio.sleep(0.02)


def _is_mark(entry: Event) -> bool:
    event = entry["event"]
    if entry["handler"] == "datapoint":
        return bool(event.get("alias") == "Text" and event["value"][1] == MARK["Text"])
    return bool(event.get("type") == "data_in" and _values(event) == [MARK])


async def _data_in(target: Target, device: VirtualDevice) -> list[Event]:
    return _of_type(await _events_until_mark(target, device), "data_in")


async def _datapoints_of(target: Target, device: VirtualDevice) -> list[Event]:
    return _datapoints(await _events_until_mark(target, device))


def _of_type(entries: list[Event], kind: str) -> list[Event]:
    return [
        each["event"] for each in entries if each["handler"] == "event" and each["event"].get("type") == kind
    ]


def _without_provisioned(entries: list[Event]) -> list[Event]:
    """Return all events except `provisioned` events."""
    return [each for each in entries if each["event"].get("type") != "provisioned"]


def _datapoints(entries: list[Event]) -> list[Event]:
    return [each["event"] for each in entries if each["handler"] == "datapoint"]


def _values(event: Event) -> list[Any]:
    return [entry.get("values") for entry in event["payload"]]


def _texts(datapoints: list[Event]) -> list[str]:
    return [each["value"][1] for each in datapoints]


def _expect_count(items: list[Event] | None, count: int) -> list[Event]:
    """Raise Mismatch unless there are `count` items; return them."""
    expect.equal("how many there are", len(items or ()), count)
    return items or []


def _expect_source(event: Event, address: object, before: int, after: int, connection: bool = True) -> None:
    """Raise Mismatch unless an event has a valid address, timestamp and connection id."""
    expect.true("the address is one", isinstance(address, str) and ADDRESS.fullmatch(address), address)
    _expect_micros(event.get("timestamp"), before, after)
    if connection:
        named = event.get("connection_id")
        expect.true("connection_id has 20 characters", isinstance(named, str) and len(named) == 20, named)


def _expect_micros(stamp: object, before: int, after: int) -> None:
    expect.true(
        f"the timestamp is in microseconds within seconds {before} to {after}",
        isinstance(stamp, int) and before * 1_000_000 <= stamp < (after + 1) * 1_000_000,
        stamp,
    )


async def _own_solution(target: Target) -> tuple[Product, Solution]:
    """Create a product and a solution for this check, in a lab in this process."""
    name = target.identity()
    product = await target.in_lab(target.lab.product, name, resources=dict.fromkeys("abcd", "string"))
    return product, await target.in_lab(target.lab.solution, name, products=[product])
