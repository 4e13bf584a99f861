"""Device2: credentials that scripts replace, and tags of devices."""

from __future__ import annotations

from typing import Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.solutions.devices.checks import LAMP, PRODUCT, Devices, namesakes
from labkit.conformance.target import Target
from labkit.fleet.device import Credentials, VirtualDevice


def token(target: Target, name: str) -> str:
    """Return a token that no other check uses."""
    return f"{target.identity()} {name}".ljust(40, "x")


@check("SOL-DEV-11", "a script replaces a device's token")
async def updated(target: Target) -> None:
    devices = Devices(target)
    device, namesake = await namesakes(target)
    neighbour = await target.activated(PRODUCT)
    which = {"identity": device.identity, "pid": PRODUCT}
    poll = await device_client.begin(target, device, "number", since=0)
    await poll.expect_pending()
    new = token(target, "new")
    devices.same(
        "result", await devices.table("updateIdentity", **which, auth={"key": new, "type": "token"}), {}
    )
    expect.status(await poll.answer(), 401)
    expect.status(await device_client.read(device, "text"), 401)
    await device.use(Credentials(token=new))
    expect.status(await device_client.write(device, {"text": "new"}), 204)
    for each in (namesake, neighbour):
        expect.status(await device_client.write(each, {"text": "x"}), 204)
    assert neighbour.token is not None
    for auth in (
        {"key": "x" * 39, "type": "token"},
        {"key": "x" * 41},
        {"key": neighbour.token},
        {"key": "x" * 40, "type": "password"},
        {"key": "x" * 40, "type": "hash"},
        {"type": "token"},
        {"key": 5},
        {},
    ):
        await devices.refused("updateIdentity", 400, **which, auth=auth)
    await devices.refused("updateIdentity", 400, **which)
    await devices.refused("updateIdentity", 404, identity=target.identity(), pid=PRODUCT, auth={"key": new})
    tenant = Devices(target, "lamps")
    await tenant.refused("updateIdentity", 404, **which, auth={"key": token(target, "theirs")})
    for each in (device, neighbour):
        expect.status(await device_client.write(each, {"text": "still"}), 204)


@check("SOL-DEV-11", "a device that is added with a token needs no activation")
async def added_with_token(target: Target) -> None:
    devices, identity, key = Devices(target), target.identity(), token(target, "first")
    which = {"identity": identity, "pid": PRODUCT}
    await devices.refused("addIdentity", 400, **which, auth={"key": "short"})
    devices.same("how many there are", await devices.count(**which), 0)
    devices.same(
        "result", await devices.table("addIdentity", **which, auth={"key": key, "type": "token"}), {}
    )
    device = target.device(PRODUCT, identity)
    await device.use(Credentials(token=key))
    expect.status(await device_client.write(device, {"text": "new"}), 204)
    found = await devices.done("getIdentity", **which)
    devices.same("status", found["status"], "provisioned")
    await devices.refused("addIdentity", 409, **which, auth={"key": token(target, "second")})
    expect.status(await device_client.write(device, {"text": "still"}), 204)


@check("SOL-DEV-11", "a script replaces a password or certificate", needs={"settings"})
async def updated_others(target: Target) -> None:
    await target.in_lab(_updated_password, target)
    await target.in_lab(_updated_certificate, target)


def _updated_password(target: Target) -> None:
    name = target.identity()
    product = target.lab.product(name, auth="password", resources={"text": "string"})
    devices = target.lab.solution(name, products=[product]).Device2
    device = product.device("a").activate()
    for wrong in ({"key": "x" * 19}, {"key": "x" * 40, "type": "token"}):
        found = devices.updateIdentity(identity="a", auth=wrong)
        expect.equal("status of updateIdentity", (found or {}).get("status"), 400)
    device.write(text="still")
    expect.equal("result", devices.updateIdentity(identity="a", auth={"key": "p" * 20}), {})
    refused = device.request("GET", "/onep:v1/stack/alias?text")
    expect.equal("status with the old password", refused.status_code, 401, refused)
    device.use(Credentials(password="p" * 20))
    expect.equal("what it reads", device.read("text"), {"text": "still"})
    product.lock("a")
    found = devices.updateIdentity(identity="a", auth={"key": "q" * 20})
    expect.equal("status of a locked device", (found or {}).get("status"), 400)


def _updated_certificate(target: Target) -> None:
    name = target.identity()
    product = target.lab.product(name, auth="certificate", resources={"text": "string"})
    devices = target.lab.solution(name, products=[product]).Device2
    other, device = product.device("b").activate(), product.device("a").activate()
    pem = other.credentials.certificate
    assert pem is not None
    for key in ("no certificate", pem.certificate_pem.decode()):
        found = devices.updateIdentity(identity="a", auth={"key": key})
        expect.equal("status of updateIdentity", (found or {}).get("status"), 400)
    device.write(text="still")
    own = device.credentials.certificate
    assert own is not None
    expect.equal(
        "result", devices.updateIdentity(identity="a", auth={"key": own.certificate_pem.decode()}), {}
    )
    expect.equal("what it reads", device.read("text"), {"text": "still"})


@check("SOL-DEV-12", "tags of devices are added, replaced, found and removed")
async def tagged(target: Target) -> None:
    devices = Devices(target)
    device, namesake = await namesakes(target)
    which = {"identity": device.identity, "pid": PRODUCT}

    async def add(*pairs: tuple[str, object], **options: object) -> None:
        tags = [{"name": name, "value": value} for name, value in pairs]
        devices.same("result", await devices.table("addIdentityTag", **which, tags=tags, **options), {})

    async def has(
        *pairs: tuple[str, str], of: VirtualDevice = device, pid: str = PRODUCT, **options: Any
    ) -> None:
        found = await devices.field("getIdentityTag", "tags", identity=of.identity, pid=pid, **options)
        devices.same("tags", list(found), [{"name": name, "value": value} for name, value in pairs])

    await has()
    await add(("room", "hall"), ("ü & %", "\N{BELL}"), ("id", 5))
    await add(("room", "attic"), ("empty", ""))
    await has(("empty", ""), ("id", "5"), ("room", "attic"), ("room", "hall"), ("ü & %", "\N{BELL}"))
    await has(("room", "attic"), ("room", "hall"), name="room")
    await has(name="Room")
    await add(("room", "cellar"), ("Room", "x"), replace=True)
    own = (("Room", "x"), ("empty", ""), ("id", "5"), ("room", "cellar"), ("ü & %", "\N{BELL}"))
    await has(*own)
    whole = await devices.done("getIdentity", **which)
    devices.same("of the device", [(each["name"], each["value"]) for each in whole["tags"]], list(own))
    await has(of=namesake, pid=LAMP)
    found = (
        ({"name": "room"}, 1),
        ({"name": "room", "value": "cellar"}, 1),
        ([{"name": "room", "value": "hall"}], 0),
        ([{"name": "room"}, {"name": "id", "value": "5"}], 1),
        ([{"name": "room"}, {"name": "none"}], 0),
    )
    for tag, count in found:
        devices.same(f"devices with {tag}", len(await devices.listed(**which, tag=tag)), count)
        devices.same(f"how many with {tag}", await devices.count(**which, tag=tag), count)
    for wrong in ([], [{"name": ""}], [{"value": "x"}], [{"name": "x" * 257, "value": ""}], "room"):
        await devices.refused("addIdentityTag", 400, **which, tags=wrong)
    await devices.done(
        "removeIdentityTag", **which, tags=[{"name": "room", "value": "hall"}, {"name": "none"}]
    )
    await has(*own)
    await devices.done("removeIdentityTag", **which, tags=[{"name": "Room"}, {"name": "id", "value": "5"}])
    await has(("empty", ""), ("room", "cellar"), ("ü & %", "\N{BELL}"))
    for operation in ("addIdentityTag", "getIdentityTag", "removeIdentityTag"):
        given = {"identity": target.identity(), "pid": PRODUCT, "tags": [{"name": "a", "value": "b"}]}
        await devices.refused(operation, 404, **given)
        await Devices(target, "lamps").refused(operation, 404, **{**given, **which})
    await devices.done("removeIdentity", **which)
    await devices.done("addIdentity", **which)
    await has()
