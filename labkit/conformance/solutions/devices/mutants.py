"""Faults of what a script's setting of a device's state does besides."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.device_api.emitted import DATAPOINT
from labkit.devices.access import DeviceAccess


@mutant("SOL-DEV-4", "labkit.devices.access:DeviceAccess.set")
def told_to_handlers(original: Any) -> Any:
    """what a script sets runs handlers of datapoints"""

    async def broken(self: DeviceAccess, identity: str, values: Mapping[str, str]) -> None:
        await original(self, identity, values)
        context, product = self._context, self._product.id
        for alias, value in values.items():
            payload = {"device_sn": identity, "alias": alias, "value": [context.clock.seconds(), value]}
            context.events.emit(DATAPOINT, f"{product}/{identity}", partial(dict, payload), product=product)

    return broken
