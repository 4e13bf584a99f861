"""The procedure `info`: what is known of a client or a resource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from labkit.context import Context
from labkit.devices.registry import DeviceRecord
from labkit.services.device.errors import wrong_argument
from labkit.services.device.resources import RpcResource, RpcResources

EMPTY = ("comments", "shares", "subscribers", "tags", "usage")  # parts that nothing here has
PARTS = ("aliases", "basic", "counts", "description", "storage", *EMPTY)
FORMATS = {"number": "float"}  # of the older service, where they differ


async def info(
    context: Context, resources: RpcResources, resource: RpcResource, rest: Sequence[object]
) -> dict[str, object]:
    """Return the requested parts of the information about a resource, all of them without a request.

    rest: a table {part = true} or a list of parts, if given. Raises RpcError for an unknown part.
    """
    wanted = _parts(rest)
    device = await resources.device(resource.identity) if resource.identity else None
    found: dict[str, object] = {part: {} for part in EMPTY}
    if resource.is_client:
        children = await resources.children(resource)
        if "aliases" in wanted:
            found["aliases"] = {resources.rid(each): [each.alias or each.identity] for each in children}
        own = "dataport" if resource.identity else "client"
        found["counts"] = {each: len(children) if each == own else 0 for each in COUNTED}
        found["storage"] = {}
    else:
        access = resources.product.access
        found["aliases"], found["counts"] = {}, {}
        found["storage"] = await access.storage(*resource)
    found["basic"] = _basic(resource, device, found["storage"])
    found["description"] = _description(context, resources, resource)
    return {part: found[part] for part in PARTS if part in wanted}


COUNTED = ("client", "dataport", "datarule", "dispatch")


def device_status(device: DeviceRecord) -> str:
    """Return the status of a device: activated, notactivated or locked."""
    if device.locked:
        return "locked"
    return "notactivated" if device.digest is None else "activated"


def _parts(rest: Sequence[object]) -> set[str]:
    given = rest[0] if rest else None
    if isinstance(given, Mapping):
        given = [name for name, chosen in given.items() if chosen]
    if not given:
        return set(PARTS)
    if not isinstance(given, list | tuple) or not all(each in PARTS for each in given):
        raise wrong_argument(f"expected true for some of: {', '.join(PARTS)}")
    return set(given)


def _basic(resource: RpcResource, device: DeviceRecord | None, storage: object) -> dict[str, object]:
    if resource.is_client:
        modified = 0 if device is None else device.provisioned or 0
    else:
        modified = storage["last"] if isinstance(storage, Mapping) else 0
    return {
        "type": "client" if resource.is_client else "dataport",
        "modified": modified,
        "status": "activated" if device is None else device_status(device),
        "subscribers": 0,
    }


def _description(context: Context, resources: RpcResources, resource: RpcResource) -> dict[str, object]:
    product = resources.product
    if resource.is_client:
        return {"name": resource.identity or product.id, "meta": ""}
    declared = product.settings.resources[resource.alias]
    return {
        "name": resource.alias,
        "format": FORMATS.get(declared.format, declared.format),
        "meta": "",
        "public": False,
        "retention": {"count": context.settings.datapoints.kept, "duration": "infinity"},
        "unit": declared.unit,
    }
