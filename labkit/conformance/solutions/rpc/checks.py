"""Remote procedure calls of scripts on the devices of their solution's products: look-up, writes and errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check, model_check
from labkit.conformance.probe import PROBE, Service, events_of
from labkit.conformance.solutions.rpc.rpc import ALIASES, LAMP, PRODUCT, Rpc
from labkit.conformance.target import Target
from labkit.fleet.device import VirtualDevice

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


RID = re.compile("[0-9a-f]{40}")
ODD = 'ü & \N{BELL}=%/+ "x"'  # of an identity
TYPES = ("client", "dataport", "datarule", "dispatch")


async def device_of(target: Target, product: str = PRODUCT, name: str = "") -> VirtualDevice:
    """Activate a device whose identity has odd characters."""
    device = target.device(product, name or f"{target.identity()} {ODD}")
    await device.activate()
    return device


@check("SOL-RPC-1", "calls run in order, and each has its own outcome")
async def several_calls(target: Target) -> None:
    device = await device_of(target)
    rpc = await Rpc(target).acting_as(device.identity, target)
    number, read = {"alias": "number"}, {"limit": 1}
    calls: list[dict[str, Any]] = [
        {"id": 1, "procedure": "write", "arguments": [number, 1.5]},
        {"id": "a", "procedure": "read", "arguments": [number, read]},
        {"id": 2, "procedure": "nothing", "arguments": []},
        {"id": 3, "procedure": "write", "arguments": [{"alias": "none"}, 1]},
        {"procedure": "write", "arguments": [number, 2]},
        {"id": 0, "procedure": "read", "arguments": [number]},
        {"id": "a", "procedure": "read", "arguments": [number, {"limit": 2}, {}]},
    ]
    found = await rpc.made(calls)
    rpc.same("ids", [each.get("id") for each in found], [1, "a", 2, 3, 0, "a"])
    good = [each["status"] == "ok" for each in found]
    rpc.same("which are ok", good, [True, True, False, False, True, False])
    rpc.same("what was read", [found[1]["result"][0][1], found[4]["result"][0][1]], [1.5, 2])
    rpc.same("what a write gives", sorted(found[0]), ["id", "status"])
    errors = [each["error"] for each in found if "error" in each]
    contexts = [(each["code"], each["context"]) for each in errors]
    rpc.same("errors", contexts, [(501, "procedure"), (501, "arguments"), (501, "arguments")])
    expect.true("they have a text", all(each.get("message") for each in errors), errors, rpc.last)
    rpc.same("results of no call", await rpc.made([]), [])


@check("SOL-RPC-2", "a rid names a device or resource, as in its events")
async def rids(target: Target) -> None:
    device = await device_of(target, name=target.identity())
    await device_of(target, LAMP, device.identity)
    root = Rpc(target)
    rid = await root.ok("lookup", "alias", device.identity)
    root.same("is it a rid?", RID.fullmatch(str(rid)) is not None, True)
    root.same("again", await root.ok("lookup", {"alias": ""}, "alias", device.identity), rid)
    own = await root.acting_as(device.identity, target)
    resource = await own.ok("lookup", "alias", "number")
    root.same("from the product", await root.ok("lookup", rid, "alias", "number"), resource)
    root.same("the client itself", await own.ok("lookup", "alias", ""), rid)
    root.same("owner of a resource", await root.ok("lookup", "owner", resource), rid)
    root.same(
        "owner of a device", await root.ok("lookup", "owner", rid), await root.ok("lookup", "alias", "")
    )
    lamp = await Rpc(target, pid=LAMP).ok("lookup", "alias", device.identity)
    root.same("is its namesake another?", lamp != rid and RID.fullmatch(lamp) is not None, True)
    expect.status(await device_client.write(device, {"number": 7}), 204)
    events = await events_of(target, device.identity, 3)
    named = [each["event"]["rid"] for each in events if each["handler"] == "datapoint"]
    root.same("rid of the event", named, [resource])
    for caller, each in ((root, resource), (own, resource), (own, {"alias": "number"})):
        caller.same("what is read", [value for _, value in await caller.ok("read", each)], [7])
    for which in ("0" * 40, "number", resource.upper(), lamp):
        await root.fails("read", which)
    for arguments in (("alias", "none"), ("alias",), ("shared", resource), ("other", "number"), ()):
        await root.fails("lookup", *arguments)
    await root.fails("lookup", resource, "alias", "number")


@check("SOL-RPC-3", "children are listed and described")
async def described(target: Target) -> None:
    device = await device_of(target)
    root = Rpc(target)
    own = await root.acting_as(device.identity, target)
    rids = [await own.ok("lookup", "alias", alias) for alias in ALIASES]
    both = {"client": [], "dataport": rids}
    for arguments in ((["client", "dataport"],), ({"alias": ""}, ["client", "dataport"], {"owned": True})):
        own.same("children of a device", await own.ok("listing", *arguments), both)
    own.same(
        "those that are tagged", await own.ok("listing", ["dataport"], {"owned": False}), {"dataport": []}
    )
    listed = await root.ok("listing", list(TYPES), {})
    root.same("types", sorted(listed), sorted(TYPES))
    root.same("is the device listed?", own.client in listed["client"], True)
    root.same("others", [listed[each] for each in TYPES[1:]], [[], [], []])
    wrong: tuple[tuple[object, ...], ...] = (
        (["nothing"],),
        (rids[0], ["client"]),
        (["client"], {"mine": True}),
        (),
    )
    for given in wrong:
        await own.fails("listing", *given)
    aliases = (await root.ok("info", own.client, {"aliases": True}))["aliases"]
    root.same(
        "aliases of a device", aliases, {rid: [alias] for rid, alias in zip(rids, ALIASES, strict=True)}
    )
    names = (await root.ok("info", {"alias": ""}, {"aliases": True}))["aliases"]
    root.same("alias of the device", names.get(own.client), [device.identity])
    whole = await own.ok("info", {"alias": ""}, {})
    own.same(
        "type and status", [whole["basic"][each] for each in ("type", "status")], ["client", "activated"]
    )
    own.same("name", whole["description"]["name"], device.identity)
    own.same("counts", [whole["counts"][each] for each in TYPES], [0, 5, 0, 0])
    expect.status(await device_client.record(device, [("alias", "text"), ("10", "ü"), ("20", "ab")]), 204)
    chosen = await own.ok("info", {"alias": "text"}, {"storage": True, "basic": True, "description": True})
    own.same("parts", sorted(chosen), ["basic", "description", "storage"])
    own.same("storage", chosen["storage"], {"count": 2, "first": 10, "last": 20, "size": 4})
    own.same("type", chosen["basic"]["type"], "dataport")
    described = [chosen["description"][each] for each in ("name", "format")]
    own.same("name and format", described, ["text", "string"])
    number = await own.ok("info", rids[1], {"description": True})
    own.same("format of a number", number["description"]["format"], "float")
    await own.fails("info", {"alias": "text"}, {"nothing": True})
    await own.fails("info")


@check("SOL-RPC-2", "the rids of a device that is removed name nothing, until it is there again")
async def removed(target: Target) -> None:
    device = await device_of(target)
    root, which = Rpc(target), {"identity": device.identity, "pid": PRODUCT}
    own = await root.acting_as(device.identity, target)
    resource = await own.ok("lookup", "alias", "number")
    await root.ok("write", resource, 1)
    devices = Service(target, "Device2")
    for call, *arguments in (("write", 2), ("read",), ("info",), ("flush",), ("record", [[10, 1]])):
        await devices.done("removeIdentity", **which)
        await root.fails(call, resource, *arguments)
        await _refused(root, 401, "auth", [], {"client_id": own.client})
        await devices.done("addIdentity", **which)
    expect.equal("what is kept", [value for _, value in await root.ok("read", resource)], [1])


@check("SOL-RPC-4", "values are written as the device would, all or none")
async def written(target: Target) -> None:
    device = await device_of(target, name=target.identity())
    namesake = await device_of(target, LAMP, device.identity)
    rpc = await Rpc(target).acting_as(device.identity, target)
    poll = await device_client.begin(target, device, "number", since=0)
    await poll.expect_pending()
    begun = await device_client.now(device)
    await rpc.ok(
        "writegroup", [[{"alias": "number"}, 21.5], [{"alias": "measured"}, 4], [{"alias": "flag"}, True]]
    )
    response = expect.status(await poll.answer(), 200)
    expect.equal("what answers the poll", device_client.values(response), {"number": "21.5"}, response)
    await rpc.ok("write", {"alias": "text"}, "a=b & ü\n")
    expected = {"number": "21.5", "measured": "4", "flag": "true", "text": "a=b & ü\n"}
    expect.equal("what is read", await device_client.stored(device, *ALIASES), expected)
    [[stamp, _]] = await rpc.points("number")
    expect.true("it is of this second", begun <= stamp <= await device_client.now(device), stamp, rpc.last)
    device2 = Service(target, "Device2")
    state = await device2.table("getIdentityState", identity=device.identity, pid=PRODUCT)
    reported = {alias: {key: each.get(key) for key in ("reported", "set")} for alias, each in state.items()}
    states = {
        alias: {"reported": text, "set": None if alias == "measured" else text}
        for alias, text in expected.items()
    }
    rpc.same("state", reported, states)
    for pairs in (
        [[{"alias": "text"}, "x"], [{"alias": "level"}, 101]],
        [[{"alias": "text"}, "x"], [{"alias": "none"}, 1]],
        [[{"alias": "text"}, "x"], [{"alias": "number"}, "warm"]],
        [[{"alias": "text"}, "x"], [{"alias": "flag"}, {"a": 1}]],
        [[{"alias": "text"}, "x"], [{"alias": ""}, 1]],
        [[{"alias": "text"}, "x"], [{"alias": "number"}]],
        "nothing",
    ):
        await rpc.fails("writegroup", pairs)
    await rpc.fails("write", {"alias": "level"}, -1)
    await rpc.fails("write", {"alias": "text"})
    expect.equal("what is read", await device_client.stored(device, *ALIASES), expected)
    expect.equal("what its namesake reads", await device_client.stored(namesake, *ALIASES), {})
    expect.status(await device_client.write(device, {"text": "written"}), 204)
    events = await events_of(target, device.identity, 4)  # both devices were provisioned
    points = [each["event"]["value"][1] for each in events if each["handler"] == "datapoint"]
    rpc.same("values of the datapoints", points, ["written"])


@check("SOL-RPC-4 SOL-RPC-11", "Device.write is the same in one call")
async def written_at_once(target: Target) -> None:
    device = await device_of(target)
    namesake = await device_of(target, LAMP, device.identity)
    rpc, which = Rpc(target), {"device_sn": device.identity, "pid": PRODUCT}
    given = {"measured": 1.5, "flag": False, "text": "ü", "none": 1, "number": "warm", "level": 101}
    outcomes = {alias: "ok" if alias in ("measured", "flag", "text") else "invalid" for alias in given}
    rpc.same("what it gives", await rpc.table("write", **which, **given), outcomes)
    expected = {"measured": "1.5", "flag": "false", "text": "ü"}
    expect.equal("what is read", await device_client.stored(device, *ALIASES), expected)
    rpc.same("a table as value", await rpc.table("write", **which, flag={"a": 1}), {"flag": "invalid"})
    await rpc.refused("write", 400, **which)
    expect.equal("what is read", await device_client.stored(device, *ALIASES), expected)
    expect.equal("what its namesake reads", await device_client.stored(namesake, *ALIASES), {})


@check("SOL-RPC-12", "a device is created, and its product described")
async def created(target: Target) -> None:
    rpc, identity = Rpc(target), f"{target.identity()} {ODD}"
    kind, rid = await rpc.call("Device", "create", {"device_sn": identity, "pid": PRODUCT})
    rpc.same("type and value", [kind, rid], ["string", await rpc.ok("lookup", "alias", identity)])
    found = await Service(target, "Device2").done("getIdentity", identity=identity, pid=PRODUCT)
    rpc.same("status", found["status"], "whitelisted")
    await rpc.refused("create", 409, device_sn=identity, pid=PRODUCT)
    await rpc.refused("create", 400, device_sn="line\n", pid=PRODUCT)
    info = await rpc.done("productInfo", pid=PRODUCT)
    endpoint = target.url(PRODUCT, "/").removeprefix("https://").partition(":")[0]
    root = await rpc.ok("lookup", "alias", "")
    rpc.same("product", info, {"id": PRODUCT, "rid": root, "label": PRODUCT, "endpoint": endpoint})
    await Rpc(target, "lamps").refused("productInfo", 404, pid=PRODUCT)


@check("SOL-RPC-13", "clients are created, locked and dropped, other changes are refused by name")
async def changed(target: Target) -> None:
    root, device = Rpc(target), await device_of(target)
    own = await root.acting_as(device.identity, target)
    name = f"{target.identity()} {ODD}"
    rid = await root.ok("create", "client", {"name": name})
    root.same("its rid", rid, await root.ok("lookup", "alias", name))
    root.same("alias", await root.ok("map", "alias", rid, name), None)
    for procedure, *arguments in (
        ("create", "client", {"name": name}),
        ("create", "client", {"name": "line\n"}),
        ("create", "client", {}),
        ("create", "dataport", {"name": "x"}),
        ("map", "alias", rid, "other"),
        ("map", "alias", "0" * 40, name),
        ("drop", {"alias": ""}),
        ("deactivate", "client", "0" * 40),
        ("deactivate", "share", device.token),
    ):
        await root.fails(procedure, *arguments)
    await own.fails("create", "client", {"name": f"{name} 2"})
    for procedure in ("move", "update", "usage", "unmap", "share", "revoke"):
        error = await root.fails(procedure, rid)
        root.same(f"context of {procedure}", error["context"], "procedure")
        expect.true("it is known", "expected one of" not in error["message"], error, root.last)
    for procedure, status in (("deactivate", 401), ("activate", 204)):
        await root.ok(procedure, "client", device.token)
        expect.status(await device_client.write(device, {"text": "x"}), status)
    await root.ok("drop", rid)
    await root.fails("drop", rid)
    await root.ok("drop", own.client)
    expect.status(await device_client.read(device, "text"), 401)


@check("SOL-RPC-9", "a client reaches its own, a request that is malformed is refused")
async def reach(target: Target) -> None:
    device, neighbour = await device_of(target), await target.activated(PRODUCT)
    namesake = await device_of(target, LAMP, device.identity)
    for each in (device, neighbour, namesake):
        expect.status(await device_client.write(each, {"number": 1}), 204)
    root, lamp = Rpc(target), Rpc(target, pid=LAMP)
    own = await root.acting_as(device.identity, target)
    near = await root.acting_as(neighbour.identity, target)
    far = await lamp.acting_as(device.identity, target)
    resources = [await each.ok("lookup", "alias", "number") for each in (near, far)]
    for rid in (*resources, near.client, far.client, await root.ok("lookup", "alias", "")):
        await own.fails("write", rid, 2)
        await own.fails("info", rid, {"basic": True})
    await root.fails("write", resources[1], 2)
    await lamp.fails("write", resources[0], 2)
    await own.fails("read", {"alias": neighbour.identity})
    for each in (device, neighbour, namesake):
        expect.equal("what is read", await device_client.stored(each, "number"), {"number": "1"})
    for auth in ({"client_id": "0" * 40}, {"client_id": far.client}, {"client_id": resources[0]}):
        await _refused(root, 401, "auth", [], auth)
    for wrong in ({"client_id": 5}, {"cik": "0" * 40}, "nothing"):
        await _refused(root, 400, "auth", [], wrong)
    for calls in (
        5,
        [5],
        [{"id": 1}],
        [{"id": 1, "procedure": 2, "arguments": []}],
        [{"id": 1, "procedure": "read", "arguments": 5}],
        [{"id": True, "procedure": "read", "arguments": []}],
        [{"id": "x" * 41, "procedure": "read", "arguments": []}],
        [{"id": 1, "procedure": "read", "arguments": []}] * 1001,
    ):
        await _refused(root, 400, "calls", calls, {})
    same = [{"id": "x" * 40, "procedure": "lookup", "arguments": ["alias", ""]}] * 1000
    root.same("entries of many calls", len(await root.made(same)), 1000)
    await _tenants(target, device.identity)


async def _refused(rpc: Rpc, code: int, context: str, calls: object, auth: object) -> None:
    found = await rpc.made(calls, auth)
    error = found.get("error") if isinstance(found, dict) else found
    shown = {name: error.get(name) for name in ("code", "context")} if isinstance(error, dict) else error
    rpc.same("error of the request", shown, {"code": code, "context": context})


async def _tenants(target: Target, identity: str) -> None:
    """Check the products that a second tenant reaches."""
    tenant, none = Rpc(target, "lamps", None), Rpc(target, "guide", None)
    rid = await tenant.ok("lookup", "alias", identity)
    tenant.same("rid", rid, await Rpc(target, PROBE, LAMP).ok("lookup", "alias", identity))
    calls = [{"id": 1, "procedure": "listing", "arguments": [["client"]]}]
    for caller, which in ((tenant, {"pid": PRODUCT}), (none, {}), (none, {"pid": PRODUCT})):
        await caller.refused("rpcCall", 404, calls=calls, **which)
        await caller.refused("list", 404, **which)
        await caller.refused("write", 404, device_sn=identity, number=3, **which)
    await Rpc(target).refused("rpcCall", 400, calls=calls)


@check("SOL-RPC-10", "devices are listed page by page")
async def listed(target: Target) -> None:
    rpc, name = Rpc(target), target.identity()
    added = [f"{name} {each}" for each in ("A", "a", "ü")]
    for each in reversed(added):
        await rpc.call("Device2", "addIdentity", {"identity": each, "pid": PRODUCT})
    await target.device(PRODUCT, added[1]).activate()
    found: list[dict[str, Any]] = []
    while len(found) % 50 == 0:
        _, page = await rpc.call("Device", "list", {"pid": PRODUCT, "offset": len(found), "limit": 50})
        found += page
        if not page:
            break
    names = [each["sn"] for each in found]
    rpc.same("order", names, sorted(names))
    mine = [each for each in found if each["sn"].startswith(f"{name} ")]
    rpc.same("identities", [each["sn"] for each in mine], added)
    statuses = ["notactivated", "activated", "notactivated"]
    rpc.same("statuses", [each["status"] for each in mine], statuses)
    rpc.same("rids", mine[0]["rid"], await rpc.ok("lookup", "alias", added[0]))
    _, first = await rpc.call("Device", "list", {"pid": PRODUCT, "limit": 1})
    rpc.same("the first", first, found[:1])
    for offset in (1, len(found) - 1, len(found)):
        _, page = await rpc.call("Device", "list", {"pid": PRODUCT, "offset": offset, "limit": 2})
        rpc.same(f"from {offset} on", page or [], found[offset : offset + 2])
    for wrong in ({"limit": 0}, {"limit": 10_001}, {"offset": -1}):
        await rpc.refused("list", 400, pid=PRODUCT, **wrong)
    await rpc.refused("write", 404, pid=PRODUCT, device_sn=f"{name} none", text="x")


@check("SOL-RPC-10", "a locked device is listed as locked", needs={"settings"})
async def listed_locked(target: Target) -> None:
    await target.in_lab(_listed_locked, target)


def _listed_locked(target: Target) -> None:
    name = target.identity()
    product = target.lab.product(name, resources={"text": "string"})
    devices = target.lab.solution(name, products=[product]).Device
    product.device("a").activate()
    product.lock("a")
    expect.equal("statuses", [each["status"] for each in devices.list()], ["locked"])


@model_check(
    "SOL-RPC-1 SOL-RPC-3 SOL-RPC-5 SOL-RPC-6 SOL-RPC-7 SOL-DEV-12",
    "recorded values and tags of devices with namesakes, for two tenants, as a model has them",
)
def model() -> type[Game]:
    """Return the game of remote procedure calls."""
    from labkit.conformance.solutions.rpc.procedures import Procedures

    return Procedures
