"""Faults of the older service Device that no row can express."""

from __future__ import annotations

from functools import partial
from typing import Any

from labkit.conformance.mutant import patch
from labkit.device_api.emitted import DATAPOINT
from labkit.devices.access import DeviceAccess
from labkit.services.device.resources import RpcResource, RpcResources

STORE = "labkit.devices.access:DeviceAccess.store"


@patch("SOL-RPC-4", STORE)
async def raises_events(
    original: Any, self: DeviceAccess, identity: str, points: Any, *, written: bool
) -> None:
    """a value that a script writes runs the handlers of datapoints"""
    await original(self, identity, points, written=written)
    product = self._product.id
    for alias, timestamp, value in points:
        payload = {"device_sn": identity, "alias": alias, "value": [timestamp, value]}
        raised: list[Any] = [(DATAPOINT, partial(dict, payload), None)]
        self._context.events.emit(f"{product}/{identity}", raised, product=product)


@patch("SOL-RPC-4", STORE)
async def as_if_set(original: Any, self: DeviceAccess, identity: str, points: Any, *, written: bool) -> None:
    """a value that a script writes counts as set, not as reported"""
    settable = self._product.settings.resources
    chosen = {point.alias: point.value for point in points if settable[point.alias].settable}
    await original(self, identity, [point for point in points if point.alias not in chosen], written=written)
    if chosen:
        await self.set(identity, chosen)


@patch("SOL-RPC-2", "labkit.services.device.resources:RpcResources.rid")
def rids_of_names_alone(original: Any, self: RpcResources, resource: RpcResource) -> str:
    """namesakes in two products have the same rid"""
    before = self.product
    self.product = type("Nameless", (), {"id": "any"})()
    try:
        return str(original(self, resource))
    finally:
        self.product = before


@patch("SOL-RPC-9", "labkit.services.device.resources:RpcResources.resolve")
async def reaches_all(original: Any, self: RpcResources, given: object) -> RpcResource:
    """a call that acts as a device reaches the other devices of the product by rid"""
    client = self.client
    if isinstance(given, str):
        self.client = RpcResource("")
    try:
        return await original(self, given)  # type: ignore[no-any-return]
    finally:
        self.client = client


@patch("SOL-RPC-6", "labkit.services.device.procedures:moment")
def no_counting_back(original: Any, value: Any, now: int) -> int | None:
    """negative timestamps are refused"""
    return None if isinstance(value, int | float) and value < 0 else original(value, now)


@patch("SOL-RPC-7", "labkit.devices.state:State.flush")
async def cached_value_stays(original: Any, self: Any, *arguments: Any) -> None:
    """a device reads a value that was deleted, if it had read it before"""
    kept = dict(self._current)
    await original(self, *arguments)
    self._current.update(kept)


@patch("SOL-RPC-2", "labkit.devices.access:DeviceAccess.find_resource")
async def removed_reached(original: Any, self: DeviceAccess, rid: str) -> Any:
    """a rid of a device that was removed brings it back"""
    known = vars(self).setdefault("found_before", {})
    if (found := await original(self, rid)) is not None:
        known[rid] = found
    elif rid in known:
        await self.add(known[rid][0])
    return known.get(rid)
