"""Device2: what only the platform's published references say of it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.solutions.devices.checks import MICROS, PRODUCT, Devices
from labkit.conformance.solutions.devices.checks_credentials import token
from labkit.conformance.target import Target
from labkit.core.errors import SettingsError

if TYPE_CHECKING:
    from labkit.lab.product import Product
    from labkit.lab.solution import Solution

BY_NAME = ("queryResource", "querySignal", "querySignals", "latestSignalsSearch")
OF_CONNECTION = {"type", "domain", "identity", "protocol", "ip", "connection_id", "timestamp"}
KEEP = 'Keystore.command{key = "kept", command = "rpush", args = {to_json({context.event, event})}}'


def own(target: Target, **settings: Any) -> tuple[Product, Solution]:
    """Return a product and a solution of a check's own, which it may change."""
    name = target.identity()
    resources: dict[str, Any] = {"level": {"format": "number", "settable": True}, "text": "string"}
    product = target.lab.product(name, resources=resources, **settings)
    return product, target.lab.solution(name, products=[product])


def _status(acme: Solution, operation: str, **given: object) -> object:
    """Return the status of an operation's error, None without one."""
    found = acme.call("Device2", operation, given)
    return found.get("status") if isinstance(found, dict) else None


@check("SOL-DEV-15", "a device's type of credential, address and time of the last request")
async def seen(target: Target) -> None:
    devices, which = Devices(target), {"identity": target.identity(), "pid": PRODUCT}
    await devices.done("addIdentity", **which)
    found = await devices.done("getIdentity", **which)
    devices.same(
        "of a device that was never there", {"auth", "lastip", "lastseen"} & found.keys() == set(), True
    )
    device = target.device(PRODUCT, which["identity"])
    await device.activate()
    begun = await device_client.now(device)
    expect.status(await device_client.write(device, {"text": "x"}), 204)
    until = await device_client.now(device)
    [listed] = await devices.listed(**which)
    for found in (listed, await devices.done("getIdentity", **which)):
        devices.same(
            "auth and address", [found.get("auth"), found.get("lastip")], [{"type": "token"}, "127.0.0.1"]
        )
        second = found.get("lastseen", 0) // MICROS
        expect.true("it is of that second, in microseconds", begun <= second <= until, found, devices.last)


@check("SOL-DEV-16", "mayLoadMore tells of further devices, and a list of statuses selects them")
async def more(target: Target) -> None:
    devices, name = Devices(target), target.identity()
    identities = [f"{name} {each}" for each in "abc"]
    for each in identities:
        await devices.done("addIdentity", identity=each, pid=PRODUCT)
    await target.device(PRODUCT, identities[0]).activate()
    await devices.done("updateIdentity", identity=identities[1], pid=PRODUCT, locked=True)
    mine = {"pid": PRODUCT, "identity": f"{name} *"}
    for given, expected in (
        ({"limit": 2}, True),
        ({"limit": 3}, False),
        ({"limit": 1, "offset": 1}, True),
        ({"limit": 2, "offset": 1}, False),
        ({}, False),
    ):
        devices.same(
            f"mayLoadMore with {given}",
            await devices.field("listIdentities", "mayLoadMore", **mine, **given),
            expected,
        )
    for status, count in ((["locked", "provisioned"], 2), (["whitelisted"], 1), ([], 3), ("locked", 1)):
        devices.same(f"devices that are {status}", len(await devices.listed(**mine, status=status)), count)
        devices.same(f"how many are {status}", await devices.count(**mine, status=status), count)
    await devices.refused("listIdentities", 400, **mine, status=["new"])


@check("SOL-DEV-16", "before selects devices by their last request", needs={"settings", "clock"})
async def earlier(target: Target) -> None:
    await target.in_lab(_earlier, target)


def _earlier(target: Target) -> None:
    product, acme = own(target)
    for identity in ("a", "b"):
        product.device(identity).activate().write(level=1)
        target.lab.clock.advance(seconds=10)
    product.allow("c")
    last = acme.Device2.getIdentity(identity="b")["lastseen"]
    for before, expected in ((last + 1, ["a", "b"]), (last, ["a"]), (last - 10 * MICROS, [])):
        found = acme.Device2.listIdentities(before=before)["devices"]
        expect.equal("devices that were there before", [each["identity"] for each in found], expected)
    found = acme.Device2.listIdentities(before=last + 1, limit=1)
    expect.equal("mayLoadMore", [len(found["devices"]), found["mayLoadMore"]], [1, True])


@check("SOL-DEV-17", "a script locks and unlocks a device")
async def locked(target: Target) -> None:
    devices, device = Devices(target), await target.activated(PRODUCT)
    which = {"identity": device.identity, "pid": PRODUCT}
    poll = await device_client.begin(target, device, "number", since=0)
    await poll.expect_pending()
    devices.same("result", await devices.table("updateIdentity", **which, locked=True), {})
    expect.status(await poll.answer(), 401)
    expect.status(await device_client.read(device, "text"), 401)
    found = await devices.done("getIdentity", **which)
    devices.same("the device", [found["status"], found["locked"]], ["locked", True])
    await devices.refused("updateIdentity", 400, **which, auth={"key": token(target, "new")})
    device.token = token(target, "both")
    both = {"auth": {"key": device.token}, "locked": False}
    devices.same("result", await devices.table("updateIdentity", **which, **both), {})
    expect.status(await device_client.write(device, {"text": "again"}), 204)
    await devices.refused("updateIdentity", 404, identity=target.identity(), pid=PRODUCT, locked=True)
    await devices.refused("updateIdentity", 400, **which, locked="yes")


@check("SOL-DEV-18", "tags are removed by their name alone, and their names are listed", needs={"settings"})
async def tag_names(target: Target) -> None:
    await target.in_lab(_tag_names, target)


def _tag_names(target: Target) -> None:
    product, acme = own(target)
    product.allow("a", "b")
    for identity, name, value in (
        ("a", "room", "x"),
        ("a", "room", "y"),
        ("a", "id", "5"),
        ("b", "Room", "z"),
    ):
        acme.Device2.addIdentityTag(identity=identity, tags=[{"name": name, "value": value}])
    for operation in ("listTagNames", "listTagName"):
        expect.equal("names", acme.call("Device2", operation), {"names": ["Room", "id", "room"]})
    expect.equal("the first", acme.Device2.listTagNames(limit=1), {"names": ["Room"]})
    expect.equal("result", acme.Device2.removeIdentityTag(identity="a", name="room"), {})
    left = acme.Device2.getIdentityTag(identity="a")
    expect.equal("tags that are left", left, {"tags": [{"name": "id", "value": "5"}]})
    expect.equal("names that are left", acme.Device2.listTagNames(), {"names": ["Room", "id"]})
    expect.equal("status without tags and name", _status(acme, "removeIdentityTag", identity="a"), 400)


@check("SOL-DEV-19", "several identities are added, changed and removed, each with its own outcome")
async def bulk(target: Target) -> None:
    devices, name = Devices(target), target.identity()
    a, b, c = (f"{name} {each}" for each in "abc")

    async def outcomes(operation: str, *identities: object) -> list[tuple[str, Any]]:
        found = await devices.field(operation, "identities", identities=identities, pid=PRODUCT)
        return [(each["identity"], each.get("status")) for each in found]

    key = token(target, "first")
    with_auth = {"identity": b, "auth": {"key": key}}
    devices.same(
        "added",
        await outcomes("addIdentities", a, with_auth, a, "line\n"),
        [(a, None), (b, None), (a, 409), ("line\n", 400)],
    )
    found = await devices.listed(pid=PRODUCT, identity=f"{name} *")
    devices.same(
        "those that are there",
        [(each["identity"], each["status"]) for each in found],
        [(a, "whitelisted"), (b, "provisioned")],
    )
    changed = await outcomes(
        "updateIdentities", {"identity": a, "locked": True}, {"identity": c, "locked": True}, {"identity": b}
    )
    devices.same("changed", changed, [(a, None), (c, 404), (b, 400)])
    devices.same("locked ones", await devices.count(pid=PRODUCT, identity=f"{name} *", status="locked"), 1)
    devices.same("removed", await outcomes("removeIdentities", a, c, b), [(a, None), (c, 404), (b, None)])
    devices.same("how many are left", await devices.count(pid=PRODUCT, identity=f"{name} *"), 0)
    for operation in ("addIdentities", "updateIdentities", "removeIdentities"):
        for wrong in ([], [5], [{"auth": {"key": key}}], ["x"] * 1001):
            await devices.refused(operation, 400, pid=PRODUCT, identities=wrong)


@check("SOL-DEV-19", "an identity is made in the product's format", needs={"settings"})
async def made(target: Target) -> None:
    await target.in_lab(_made, target)


def _made(target: Target) -> None:
    for format, pattern in (
        ({}, r"[0-9a-f]{20}"),
        ({"type": "base10", "length": 6}, r"[0-9]{6}"),
        ({"type": "base16", "casing": "upper", "prefix": "id:"}, r"id:[0-9A-F]{20}"),
        ({"type": "uuid", "casing": "lower"}, r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
        ({"type": "mac"}, r"[0-9a-f]{2}(:[0-9a-f]{2}){5}"),
    ):
        _, acme = own(target, identity_format=format)
        found = [acme.Device2.makeIdentity()["identity"] for _ in range(2)]
        expect.true(
            f"both have the format {format}", all(re.fullmatch(pattern, each) for each in found), found
        )
        listed = [each["identity"] for each in acme.Device2.listIdentities()["devices"]]
        expect.equal("identities", listed, sorted({*found}))
    _, acme = own(target, identity_format={"type": "uuid", "length": 5})
    expect.equal("status of a format without identities", _status(acme, "makeIdentity"), 400)


@check("SOL-DEV-20", "a script adds, changes and removes resources of the product", needs={"settings"})
async def changed_resources(target: Target) -> None:
    await target.in_lab(_resources, target)


def _resources(target: Target) -> None:
    product, acme = own(target)
    call, device = acme.Device2, product.device("a").activate()
    new = {"format": "number", "unit": "°C", "settable": True, "allowed": [{"min": 0, "max": 40}]}
    for add, change in (("addGatewayResource", "updateGatewayResource"), ("addResource", "updateResource")):
        expect.equal(f"result of {add}", acme.call("Device2", add, {"alias": "target", **new}), {})
        expect.equal("the resource", call.getGatewayResource(alias="target"), {"alias": "target", **new})
        expect.equal("status of a second one", _status(acme, add, alias="target"), 409)
        device.write(target=21)
        expect.equal("what is read", device.read("target"), {"target": "21"})
        expect.equal("status of a value", _status(acme, "setIdentityState", identity="a", target=41), 400)
        expect.equal(
            f"result of {change}",
            acme.call("Device2", change, {"alias": "target", "allowed": [], "unit": "K"}),
            {},
        )
        changed = {"alias": "target", **new, "unit": "K", "allowed": []}
        expect.equal("the changed resource", call.getGatewayResource(alias="target"), changed)
        expect.equal("a value now", call.setIdentityState(identity="a", target=41), {})
        expect.equal("result of the removal", call.removeGatewayResource(alias="target"), {})
        expect.equal("resources", sorted(call.getGatewayResourceList()), ["level", "text"])
        expect.equal("what is read", device.read("target"), {})
    expect.equal(
        "one with an initial value", call.addGatewayResource(alias="mode", settable=True, initial="on"), {}
    )
    expect.equal("the initial value", call.getGatewayResource(alias="mode").get("initial"), "on")
    expect.equal("what is read", device.read("mode"), {"mode": "on"})
    expect.equal("its removal", call.removeGatewayResource(alias="mode"), {})
    expect.equal("one of the settings", call.removeGatewayResource(alias="text"), {})
    expect.equal("resources", sorted(call.getGatewayResourceList()), ["level"])
    for operation, given, status in (
        ("updateGatewayResource", {"alias": "none", "unit": "x"}, 404),
        ("removeGatewayResource", {"alias": "none"}, 404),
        ("addGatewayResource", {"alias": "x y"}, 400),
        ("addGatewayResource", {"alias": "x", "format": "integer"}, 400),
        ("addGatewayResource", {"alias": "x", "format": "number", "settable": True, "initial": "y"}, 400),
        ("addGatewayResource", {"alias": "x", "allowed": [{"min": 2, "max": 1}]}, 400),
        ("addGatewayResource", {}, 400),
    ):
        expect.equal(f"status of {operation} with {given}", _status(acme, operation, **given), status)


@check(
    "SOL-DEV-21",
    "a script switches provisioning off and on; the settings have the host name",
    needs={"settings"},
)
async def gateway(target: Target) -> None:
    await target.in_lab(_gateway, target)


def _gateway(target: Target) -> None:
    product, acme = own(target)
    expect.equal("fqdn", acme.Device2.getGatewaySettings().get("fqdn"), product.domain)
    for switch, identity, status in (("enabled", "a", 403), ("generate_identity", "b", 404)):
        for value in (False, True):
            given = {"provisioning": {switch: value}}
            expect.equal("result", acme.call("Device2", "updateGatewaySettings", given), {})
            response = product.device(identity).request(
                "POST",
                "/provision/activate",
                json=None,
                content=f"id={identity}",
                credentials=False,
                headers={"Content-Type": "application/x-www-form-urlencoded"},
            )
            expect.equal(f"status of activate with {given}", response.status_code, 200 if value else status)
        expect.equal("provisioning", acme.Device2.getGatewaySettings()["provisioning"], {"enabled": True})
    refused = _status(acme, "updateGatewaySettings", provisioning={"enabled": "no"})
    expect.equal("status of another value", refused, 400)


@check(
    "SOL-DEV-22 SOL-DEV-23",
    "a device's events have handlers by type, beside the older one",
    needs={"settings", "clock"},
)
async def by_type(target: Target) -> None:
    await target.in_lab(_by_type, target)


def _by_type(target: Target) -> None:
    product, acme = own(target)
    for event in ("event", "connect", "disconnect", "deleted", "provisioned", "data_in", "data_out"):
        acme.on("device2", event, lua=KEEP)
    begun = _play(target, product, acme)
    events = _kept(acme)
    expect.equal(
        "handlers and types",
        [(handler, event["type"]) for handler, event in events],
        [
            ("provisioned", "provisioned"),
            ("event", "provisioned"),
            ("connect", "connect"),
            ("data_in", "data_in"),
            ("event", "data_in"),
            ("data_out", "data_out"),
            ("disconnect", "disconnect"),
            ("deleted", "deleted"),
        ],
    )
    by_type = {event["type"]: event for _, event in events}
    for type in ("connect", "disconnect"):
        expect.equal(f"fields of {type}", set(by_type[type]), OF_CONNECTION)
        same = [
            by_type[type][each] == by_type["data_in"][each] for each in ("ip", "connection_id", "identity")
        ]
        expect.equal(f"address, connection and identity of {type}", same, [True] * 3)
    expect.equal("fields of deleted", set(by_type["deleted"]), OF_CONNECTION)
    domains = {type: event.get("domain") for type, event in by_type.items()}
    expect.equal("domains", domains, dict.fromkeys(by_type, product.domain))
    for type in ("deleted", "data_out"):
        expect.equal(f"connection of {type}", [by_type[type]["ip"], by_type[type]["connection_id"]], ["", ""])
    entry = {"timestamp": begun // MICROS * MICROS, "values": {"level": "2"}}
    expect.equal("payload of data_out", by_type["data_out"].get("payload"), [entry])
    times = [by_type[type]["timestamp"] >= begun for type in ("connect", "data_out", "disconnect", "deleted")]
    expect.equal("times", times, [True] * 4)


@check("SOL-DEV-22", "events.types chooses the types that handlers get", needs={"settings", "clock"})
async def chosen(target: Target) -> None:
    await target.in_lab(_chosen, target)


def _chosen(target: Target) -> None:
    product, _ = own(target)
    types = {"Device2": {"events": {"types": ["connect", "deleted", "expired"]}}}
    acme = target.lab.solution(f"{product.id}-x", products=[product], services=types)
    for event in ("event", "connect", "data_in"):
        acme.on("device2", event, lua=KEEP)
    _play(target, product, acme)
    found = [(handler, event["type"]) for handler, event in _kept(acme)]
    expect.equal(
        "handlers and types", found, [("connect", "connect"), ("event", "connect"), ("event", "deleted")]
    )
    types["Device2"]["events"]["types"] = ["conect"]
    try:
        target.lab.solution(f"{product.id}-y", products=[product], services=types)
        expect.true("an unknown type is refused", False, types)
    except SettingsError as error:
        expect.true("its error names the type", "conect" in str(error), str(error))


def _play(target: Target, product: Product, acme: Solution) -> int:
    """Have a device do what raises events, and return the time at which it began, in microseconds."""
    begun = round(target.lab.clock.time * MICROS)
    product.device("a").activate().write(level=1)
    acme.Device2.setIdentityState(identity="a", level=2)
    target.lab.clock.advance(minutes=5)  # the device's connection is idle for too long
    acme.Device2.removeIdentity(identity="a")
    target.lab.settle()
    return begun


def _kept(acme: Solution) -> list[tuple[str, dict[str, Any]]]:
    found = acme.Keystore.command(key="kept", command="lrange", args=[0, -1])["value"]
    return [tuple(json.loads(each)) for each in found]


@check("SOL-DEV-24", "an error has its status as code")
async def code(target: Target) -> None:
    devices = Devices(target)
    for operation, status in (("getIdentity", 404), ("updateIdentity", 400)):
        found = await devices.table(operation, identity=target.identity(), pid=PRODUCT)
        devices.same("status and code", [found.get("status"), found.get("code")], [status, status])


@check("SOL-DEV-25", "operations of which only the name is known are 404")
async def known_by_name(target: Target) -> None:
    devices = Devices(target)
    for operation in BY_NAME:
        text = await devices.refused(operation, 404, pid=PRODUCT)
        expect.true(f"the error of {operation} says so", "known by name only" in text, text, devices.last)
