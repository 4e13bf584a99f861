"""Device2: scripts operate on the devices of their solution's products only.

The probe has two such products and calls the second one Lamp; another tenant, `lamps`, has only the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.probe import PROBE, Service, Table, events_of
from labkit.conformance.target import Target
from labkit.fleet.device import VirtualDevice

PRODUCT, LAMP = "steered", "steered-lamp"
ALIASES = ("text", "number", "flag", "level", "measured")
MICROS = 1_000_000
FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
LONGEST = 2**20  # characters of a value
ODD = 'ü & \N{BELL}=%/+ "x"'  # of an identity


class Devices(Service):
    """Device2 of a solution, or one of its products under the name that the solution gave it."""

    def __init__(self, target: Target, solution: str = PROBE, name: str = "Device2") -> None:
        super().__init__(target, name, solution)

    async def set(self, identity: str, values: Mapping[str, object], pid: str | None = PRODUCT) -> None:
        """Set the state of a device."""
        which = {} if pid is None else {"pid": pid}
        _, result = await self.call(self.name, "setIdentityState", {"identity": identity, **which, **values})
        self.same("what setIdentityState gives", result or {}, {})

    async def state(self, identity: str, pid: str = PRODUCT) -> Table:
        """Return the state of a device."""
        _, result = await self.call(self.name, "getIdentityState", {"identity": identity, "pid": pid})
        return dict(result)

    async def listed(self, **parameters: object) -> list[Table]:
        """Return the devices that listIdentities finds."""
        return list(await self.field("listIdentities", "devices", **parameters))

    async def count(self, **parameters: object) -> Any:
        """Return the number of devices that countIdentities finds."""
        return await self.field("countIdentities", "count", **parameters)


async def namesakes(target: Target) -> tuple[VirtualDevice, VirtualDevice]:
    """Activate devices of the same identity in two products."""
    identity = f"{target.identity()} {ODD}"
    both = target.device(PRODUCT, identity), target.device(LAMP, identity)
    for each in both:
        await each.activate()
    return both


# ---- state


@check("SOL-DEV-1", "a set value answers the device's poll and read, and no other device's")
async def answers_polls(target: Target) -> None:
    device, namesake = await namesakes(target)
    neighbour = await target.activated(PRODUCT)
    poll = await device_client.begin(target, device, "number", since=0)
    # without a time: also values of the current second
    other = await device_client.begin(target, device, "text")
    await poll.expect_pending()
    begun = await device_client.now(device)
    await Devices(target).set(device.identity, {"number": 21.5, "text": "on & off = ü"})
    response = expect.status(await poll.answer(), 200)
    expect.equal("what answers the poll", device_client.values(response), {"number": "21.5"}, response)
    stamp = response.headers.get("Last-Modified", "")
    expect.true(
        "it is of this second",
        stamp.isdecimal() and begun <= int(stamp) <= await device_client.now(device),
        stamp,
        response,
    )
    expect.equal("the other", device_client.values(await other.answer()), {"text": "on & off = ü"})
    found = await device_client.stored(device, "number", "text")
    expect.equal("what is read", found, {"number": "21.5", "text": "on & off = ü"})
    for each in (namesake, neighbour):
        expect.equal("what others read", await device_client.stored(each, "number", "text"), {})


@check("SOL-DEV-2", "numbers, truth and texts are set as a device would write them")
async def as_texts(target: Target) -> None:
    devices, device = Devices(target), await target.activated(PRODUCT)
    values: tuple[tuple[str, object, str], ...] = (
        ("number", 21, "21"),
        ("number", 21.0, "21"),
        ("number", -0.5, "-0.5"),
        ("number", 1e300, "1e+300"),
        ("number", 0.1, "0.1"),
        ("number", 2**53, "9007199254740992"),
        ("number", "7.50", "7.50"),
        ("flag", True, "true"),
        ("flag", False, "false"),
        ("text", "", ""),
        ("text", "a=b&c%+ \n\t", "a=b&c%+ \n\t"),
        ("text", "ü \N{BELL} \N{FAMILY}", "ü \N{BELL} \N{FAMILY}"),
        ("text", "x" * 100_000, "x" * 100_000),
        ("level", 0, "0"),
        ("level", 100, "100"),
    )
    for alias, value, text in values:
        await devices.set(device.identity, {alias: value})
        shown = str(value)[:20]
        expect.equal(f"{alias} after {shown}", await device_client.stored(device, alias), {alias: text})


@check("SOL-DEV-3", "where one value cannot be set none is")
async def all_or_nothing(target: Target) -> None:
    devices, device = Devices(target), await target.activated(PRODUCT)
    await devices.set(device.identity, {"text": "before"})
    wrong: tuple[tuple[Mapping[str, object], str], ...] = (
        ({"nothing": 5}, "nothing"),
        ({"Text": "of another case"}, "Text"),
        ({"measured": 5}, "measured"),  # not settable
        ({"number": "warm"}, "number"),
        ({"flag": 2}, "flag"),
        ({"level": 100.5}, "level"),
        ({"level": -1}, "level"),
        ({"number": {"a": 1}}, "number"),
        ({"flag": [True]}, "flag"),
    )
    for values, named in wrong:
        both = {"text": "after", **values}
        text = await devices.refused("setIdentityState", 400, identity=device.identity, pid=PRODUCT, **both)
        expect.true(f"the error names {named}", named in text, text, devices.last)
    await devices.refused("setIdentityState", 400, identity=device.identity, pid=PRODUCT)
    expect.equal("all that is stored", await device_client.stored(device, *ALIASES), {"text": "before"})


@check("SOL-DEV-3", "the longest text, and texts that are none", needs={"settings"})
async def longest_text(target: Target) -> None:
    device = await target.activated(PRODUCT)
    await target.in_lab(_longest_text, target.lab.solution(PROBE).Device2, device.identity)
    found = await device_client.stored(device, "text")
    expect.equal("characters that are read", len(str(found.get("text"))), LONGEST)


def _longest_text(devices: Any, identity: str) -> None:
    for text, status in (
        ("é".rjust(LONGEST, "x"), None),
        ("x" * (LONGEST + 1), 400),
        ("half of a pair: \ud800", 400),
    ):
        found = devices.setIdentityState(identity=identity, pid=PRODUCT, text=text)
        expect.equal("status of setIdentityState", (found or {}).get("status"), status)


@check("SOL-DEV-4", "what a script sets raises no event")
async def no_event(target: Target) -> None:
    devices, device = Devices(target), await target.activated(PRODUCT)
    await devices.set(device.identity, {"text": "set"})
    expect.status(await device_client.write(device, {"text": "written"}), 204)
    events = await events_of(target, device.identity, 3)
    points = [each["event"]["value"][1] for each in events if each["handler"] == "datapoint"]
    kinds = [each["event"]["type"] for each in events if each["handler"] == "event"]
    expect.equal("values of the datapoints", points, ["written"])
    expect.equal("types of the events", sorted(kinds), ["data_in", "provisioned"])


@check("SOL-DEV-5", "reported and set values are shown separately")
async def told_apart(target: Target) -> None:
    devices = Devices(target)
    device, namesake = await namesakes(target)
    devices.same("at first", await devices.state(device.identity), {})
    begun = await device_client.now(device)
    expect.status(await device_client.write(device, {"number": 18, "measured": 20.5}), 204)
    expect.status(await device_client.write(namesake, {"number": 1}), 204)
    steps: tuple[tuple[object, dict[str, str]], ...] = (
        (None, {"reported": "18", "set": "18"}),
        (21, {"reported": "18", "set": "21"}),
        (22, {"reported": "18", "set": "22"}),
        ("19", {"reported": "19", "set": "19"}),  # written by the device
        (23, {"reported": "19", "set": "23"}),
    )
    for value, expected in steps:
        if isinstance(value, str):
            expect.status(await device_client.write(device, {"number": value}), 204)
        elif value is not None:
            await devices.set(device.identity, {"number": value})
        state = await devices.state(device.identity)
        stamps = [each.pop("timestamp", None) for each in state.values()]
        devices.same("state", state, {"number": expected, "measured": {"reported": "20.5"}})
        until = await device_client.now(device)
        expect.true(
            "timestamps are whole seconds in microseconds",
            all(isinstance(each, int) and each % MICROS == 0 for each in stamps)
            and begun * MICROS <= min(stamps)
            and max(stamps) <= until * MICROS,
            stamps,
            devices.last,
        )
    whole = await devices.done("getIdentity", identity=device.identity, pid=PRODUCT)
    devices.same("state of the device", whole["state"], await devices.state(device.identity))
    neighbour = await target.activated(PRODUCT)
    await devices.set(neighbour.identity, {"number": 7, "level": 8})
    found = await devices.state(neighbour.identity)
    shown = {alias: each.get("set") for alias, each in found.items()}
    devices.same("what was set for another device", shown, {"number": "7", "level": "8"})
    for value, expected in ((None, {"reported": "1", "set": "1"}), (5, {"reported": "1", "set": "5"})):
        if value is not None:  # must not change the other product's device
            await devices.set(device.identity, {"number": value}, LAMP)
        for product, wanted in ((LAMP, expected), (PRODUCT, steps[-1][1])):
            found = (await devices.state(device.identity, product))["number"]
            found.pop("timestamp", None)
            devices.same(f"state of the number in {product}", found, wanted)


@check("SOL-DEV-5", "the timestamp is that of the newer one", needs={"clock"})
async def newer(target: Target) -> None:
    devices, device = Devices(target), await target.activated(PRODUCT)
    begun = await device_client.now(device)
    expect.status(await device_client.write(device, {"number": 18, "measured": 20.5}), 204)
    for seconds, value in ((2.5, 21), (3, "19"), (1000, 22)):
        await target.advance(seconds)
        if isinstance(value, str):
            expect.status(await device_client.write(device, {"number": value}), 204)
        else:
            await devices.set(device.identity, {"number": value})
        state = await devices.state(device.identity)
        expect.equal("its timestamp", state["number"]["timestamp"], await device_client.now(device) * MICROS)
        expect.equal("that of the other alias", state["measured"]["timestamp"], begun * MICROS)


# ---- identities


@check("SOL-DEV-6", "identities are added, and provisioned then")
async def added(target: Target) -> None:
    devices, identity = Devices(target), f"{target.identity()} {ODD}"
    described = {"identity": identity, "pid": PRODUCT, "locked": False}
    await devices.call("Device2", "addIdentity", {"identity": identity, "pid": PRODUCT})
    found = await devices.done("getIdentity", identity=identity, pid=PRODUCT)
    devices.same("state", found.pop("state") or {}, {})
    devices.same("tags", list(found.pop("tags")), [])
    devices.same("the device", found, {**described, "status": "whitelisted"})
    await devices.refused("addIdentity", 409, identity=identity, pid=PRODUCT)
    await target.device(PRODUCT, identity).activate()
    found = await devices.done("getIdentity", identity=identity, pid=PRODUCT)
    devices.same("status once it is provisioned", found["status"], "provisioned")
    await devices.refused("addIdentity", 409, identity=identity, pid=PRODUCT)
    for wrong in ("line\n", "", "\x7f", "x" * 10_000):
        await devices.refused("addIdentity", 400, identity=wrong, pid=PRODUCT)
    await devices.refused("addIdentity", 400, pid=PRODUCT)


@check("SOL-DEV-6", "without self-registration only added devices are provisioned", needs={"settings"})
async def added_to_closed(target: Target) -> None:
    await target.in_lab(_added_to_closed, target)


def _added_to_closed(target: Target) -> None:
    name = target.identity()
    product = target.lab.product(name, self_registration=False, resources={"text": "string"})
    devices = target.lab.solution(name, products=[product]).Device2
    expect.equal("what addIdentity gives", devices.addIdentity(identity="added"), {})
    device = product.device("added").activate()
    device.write(text="x")  # activation keeps the identity whitelisted
    expect.equal("what it reads", device.read("text"), {"text": "x"})
    response = product.device("stranger").request(
        "POST", "/provision/activate", content="id=stranger", headers=FORM, credentials=False
    )
    expect.equal("status for a stranger", response.status_code, 404, response)
    found = [(each["identity"], each["status"]) for each in devices.listIdentities()["devices"]]
    expect.equal("identities", found, [("added", "provisioned")])


@check("SOL-DEV-7", "identities are listed page by page, and counted")
async def listed(target: Target) -> None:
    devices, name = Devices(target), target.identity()
    identities = [f"{name} {each}" for each in ("A", "a", "b*", "b.", "ba", "ü", "\N{BELL}")]
    for each in reversed(identities):
        await devices.call("Device2", "addIdentity", {"identity": each, "pid": PRODUCT})
    await devices.call("Device2", "addIdentity", {"identity": identities[0], "pid": LAMP})
    await target.device(PRODUCT, identities[1]).activate()
    mine = {"pid": PRODUCT, "identity": f"{name} *"}
    await devices.set(identities[2], {"level": 7})
    found = await devices.listed(**mine)
    states = [{alias: value.get("set") for alias, value in dict(each.pop("state")).items()} for each in found]
    devices.same("states", states, [{}, {}, {"level": "7"}, *[{}] * 4])
    devices.same("tags", [list(each.pop("tags")) for each in found], [[]] * 7)
    devices.same("credentials", [each.pop("auth", None) is not None for each in found].index(True), 1)
    statuses = ["provisioned" if number == 1 else "whitelisted" for number in range(len(identities))]
    devices.same(
        "all",
        found,
        [
            {"identity": each, "pid": PRODUCT, "status": status, "locked": False}
            for each, status in zip(identities, statuses, strict=True)
        ],
    )
    for parameters, expected in (
        ({"limit": 1}, identities[:1]),
        ({"limit": 2, "offset": 1}, identities[1:3]),
        ({"offset": 6}, identities[6:]),
        ({"offset": 7}, []),
        ({"limit": 10_000}, identities),
        ({"status": "provisioned"}, identities[1:2]),
        ({"status": "whitelisted"}, [identities[0], *identities[2:]]),
        ({"status": "locked"}, []),
        ({"identity": f"{name} b*"}, identities[2:5]),
        ({"identity": f"{name} ?"}, []),  # only * is a wildcard
        ({"identity": f"*{name[1:]} ü"}, identities[5:6]),
    ):
        names = [each["identity"] for each in await devices.listed(**{**mine, **parameters})]
        devices.same(f"identities with {parameters}", names, expected)
        if not {"limit", "offset"} & parameters.keys():
            count = await devices.count(**{**mine, **parameters})
            devices.same(f"how many with {parameters}", count, len(expected))
    devices.same("those of the other product", await devices.count(**{**mine, "pid": LAMP}), 1)
    for wrong in ({"limit": 0}, {"limit": 10_001}, {"limit": 1.5}, {"offset": -1}, {"status": "new"}):
        await devices.refused("listIdentities", 400, **mine, **wrong)


@check("SOL-DEV-8", "a device that is removed is refused, and its namesake is not")
async def removed(target: Target) -> None:
    devices = Devices(target)
    device, namesake = await namesakes(target)
    neighbour = await target.activated(PRODUCT)
    for each in (device, namesake):
        expect.status(await device_client.write(each, {"text": "before"}), 204)
    poll = await device_client.begin(target, device, "number", since=0)
    await poll.expect_pending()
    which = {"identity": device.identity, "pid": PRODUCT}
    await devices.call("Device2", "removeIdentity", which)
    expect.status(await poll.answer(), 401)
    expect.status(await device_client.read(device, "text"), 401)
    for operation in ("getIdentity", "getIdentityState", "removeIdentity"):
        await devices.refused(operation, 404, **which)
    await devices.refused("setIdentityState", 404, **which, text="x")
    devices.same("how many there are", await devices.count(**which), 0)
    for each, pid in ((namesake, LAMP), (neighbour, PRODUCT)):
        left = await devices.count(identity=each.identity, pid=pid, status="provisioned")
        devices.same("how many there are of another", left, 1)
    expect.equal("what its namesake reads", await device_client.stored(namesake, "text"), {"text": "before"})


# ---- products


@check("SOL-DEV-9", "of several products one is named, and no other's")
async def which_product(target: Target) -> None:
    devices, tenant, none = Devices(target), Devices(target, "lamps"), Devices(target, "guide")
    device, namesake = await namesakes(target)
    identity = device.identity
    text = await devices.refused("getIdentity", 400, identity=identity)
    for each in (PRODUCT, LAMP):
        expect.true(f"the error names {each}", each in text, text, devices.last)
    found = await tenant.done("getIdentity", identity=identity)
    tenant.same("the product of who has one alone", found["pid"], LAMP)
    await tenant.set(identity, {"text": "the tenant's"}, pid=None)
    expect.equal("what it set", await device_client.stored(namesake, "text"), {"text": "the tenant's"})
    expect.equal("what it did not", await device_client.stored(device, "text"), {})
    for operation in ("getIdentity", "getIdentityState", "removeIdentity", "addIdentity"):
        await tenant.refused(operation, 404, identity=identity, pid=PRODUCT)
        await none.refused(operation, 404, identity=identity)
        await none.refused(operation, 404, identity=identity, pid=PRODUCT)
    for operation in ("listIdentities", "countIdentities"):
        await tenant.refused(operation, 404, pid=PRODUCT)
        await devices.refused(operation, 404, pid="nothing")
        await none.refused(operation, 404)
    await tenant.refused("setIdentityState", 404, identity=identity, pid=PRODUCT, text="x")
    expect.equal("what is set", await device_client.stored(device, "text"), {})


@check("SOL-DEV-10", "a product that has a name of its own is a service of that name")
async def by_name(target: Target) -> None:
    lamp, tenant = Devices(target, name="Lamp"), Devices(target, "lamps", "Lamp")
    device, namesake = await namesakes(target)
    identity = namesake.identity
    await lamp.set(identity, {"text": "by name"}, pid=None)
    expect.equal("what is set", await device_client.stored(namesake, "text"), {"text": "by name"})
    expect.equal("what is not", await device_client.stored(device, "text"), {})
    for which in ({}, {"pid": LAMP}):
        found = await lamp.done("getIdentity", identity=identity, **which)
        lamp.same("its product", found["pid"], LAMP)
        lamp.same("how many", await lamp.count(identity=identity, **which), 1)
    await lamp.refused("getIdentity", 404, identity=identity, pid=PRODUCT)
    await lamp.refused("setIdentityState", 404, identity=identity, pid=PRODUCT, text="x")
    await tenant.refused("getIdentity", 404, identity=identity)
    expect.equal("what is set", await device_client.stored(device, "text"), {})
