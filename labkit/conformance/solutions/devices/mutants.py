"""Code mutants of the state of devices and of their events."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from labkit.conformance.breaking import always, change_arguments, change_result
from labkit.conformance.mutant import patch
from labkit.device_api.emitted import DATAPOINT
from labkit.devices.access import DeviceAccess


@patch("SOL-DEV-4", "labkit.devices.access:DeviceAccess.set")
async def told_to_handlers(
    original: Any, self: DeviceAccess, identity: str, values: Mapping[str, str], cause: int | None = None
) -> None:
    """a value that a script sets runs the handlers of datapoints"""
    await original(self, identity, values, cause)
    context, product = self._context, self._product.id
    for alias, value in values.items():
        payload = {"device_sn": identity, "alias": alias, "value": [context.clock.seconds(), value]}
        context.events.emit(
            f"{product}/{identity}", [(DATAPOINT, partial(dict, payload), None)], product=product
        )


generic_alone = patch(
    "SOL-DEV-22", "labkit.solutions.registrations:Registrations.of_kind", "handlers of a type do not run"
)(change_result(lambda found: found[-1:]))
all_types = patch(
    "SOL-DEV-22", "labkit.solutions.registrations:Registrations.choose", "events.types is ignored"
)(change_arguments(types=None))
any_type = patch(
    "SOL-DEV-22", "labkit.services.operation:read_parameters", "events.types may have unknown types"
)(
    change_arguments(
        configuration=lambda given: {
            service: {name: value for name, value in values.items() if name != "events"}
            for service, values in given.items()
        }
    )
)
ends_unheard = patch(
    "SOL-DEV-23", "labkit.device_api.emitted:disconnected", "the end of a connection raises no event"
)(always(None))


@patch("SOL-DEV-23", "labkit.devices.device_events:is_wanted")
def never_deleted(original: Any, context: Any, type: str, *of: str) -> bool:
    """the removal of a device raises no event"""
    return type != "deleted" and original(context, type, *of)


@patch("SOL-DEV-5", "labkit.devices.access:DeviceAccess.state")
async def set_by_scripts_alone(original: Any, self: DeviceAccess, identity: str) -> Any:
    """what a device writes is never shown as set"""
    found = await original(self, identity)
    return {
        alias: each._replace(set=None) if each.set == each.reported else each for alias, each in found.items()
    }
