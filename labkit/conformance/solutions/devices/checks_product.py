"""Device2: what scripts read of their products themselves."""

from __future__ import annotations

from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.solutions.devices.checks import LAMP, PRODUCT, Devices
from labkit.conformance.target import Target

ANY: dict[str, Any] = {"unit": "", "settable": True, "allowed": []}
RESOURCES = {
    "text": {"format": "string", **ANY},
    "number": {"format": "number", **ANY},
    "flag": {"format": "boolean", **ANY},
    "level": {"format": "number", **ANY, "allowed": [{"min": 0, "max": 100}]},
    "measured": {"format": "number", **ANY, "settable": False},
}


def plain(resource: dict[str, Any]) -> dict[str, Any]:
    """Return a resource whose empty list may have arrived as a table."""
    return {**resource, "allowed": resource["allowed"] or []}


@check("SOL-DEV-13", "resources of a product")
async def resources(target: Target) -> None:
    devices, tenant, lamp = Devices(target), Devices(target, "lamps"), Devices(target, name="Lamp")
    for alias, wanted in RESOURCES.items():
        found = await devices.done("getGatewayResource", alias=alias, pid=PRODUCT)
        devices.same(alias, plain(found), {"alias": alias, **wanted})
    for each, which in ((devices, {"pid": PRODUCT}), (tenant, {}), (lamp, {})):
        found = await each.done("getGatewayResourceList", **which)
        each.same("all", {alias: plain(one) for alias, one in found.items()}, RESOURCES)
    found = await devices.done("getGatewayResource", alias="number", pid="token-other")
    devices.same(
        "that of another product",
        plain(found),
        {"alias": "number", **RESOURCES["number"]} | {"unit": "°C", "settable": False},
    )
    for wrong in ("Text", "none", "x" * 65, ""):
        status = 404 if 0 < len(wrong) < 65 else 400
        await devices.refused("getGatewayResource", status, alias=wrong, pid=PRODUCT)
    for operation in ("getGatewayResourceList", "getGatewaySettings"):
        await tenant.refused(operation, 404, pid=PRODUCT)
        await devices.refused(operation, 400)
    await tenant.refused("getGatewayResource", 404, alias="text", pid=PRODUCT)


@check("SOL-DEV-14", "how the devices of a product connect")
async def settings(target: Target) -> None:
    found = await Devices(target).done("getGatewaySettings", pid=LAMP)
    expect.equal("protocol", found["protocol"], {"name": "onep:v1/http", "devmode": False})
    expect.equal("provisioning", found["provisioning"], {"enabled": True})


@check("SOL-DEV-14", "without provisioning it says so", needs={"settings"})
async def closed(target: Target) -> None:
    await target.in_lab(_closed, target)


def _closed(target: Target) -> None:
    name = target.identity()
    product = target.lab.product(name, provisioning=False, resources={"whole": "integer"})
    devices = target.lab.solution(name, products=[product]).Device2
    expect.equal("provisioning", devices.getGatewaySettings()["provisioning"], {"enabled": False})
    expect.equal("format of whole numbers", devices.getGatewayResource(alias="whole")["format"], "number")
