"""Code mutant of the side effects of setting a device's state."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from labkit.conformance.mutant import patch
from labkit.device_api.emitted import DATAPOINT
from labkit.devices.access import DeviceAccess


@patch("SOL-DEV-4", "labkit.devices.access:DeviceAccess.set")
async def told_to_handlers(
    original: Any, self: DeviceAccess, identity: str, values: Mapping[str, str]
) -> None:
    """a value that a script sets runs the handlers of datapoints"""
    await original(self, identity, values)
    context, product = self._context, self._product.id
    for alias, value in values.items():
        payload = {"device_sn": identity, "alias": alias, "value": [context.clock.seconds(), value]}
        context.events.emit(
            f"{product}/{identity}", [(DATAPOINT, partial(dict, payload), None)], product=product
        )
