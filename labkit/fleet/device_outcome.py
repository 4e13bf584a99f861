"""What a finished run keeps of a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from labkit.fleet.device import Credentials
from labkit.fleet.fleet_device import FleetDevice
from labkit.fleet.fleet_play import NotedValue


class DeviceOutcome(NamedTuple):
    """Plain data that a finished run keeps of a device."""

    state: str
    epoch: int
    notes: dict[str, object]
    history: Sequence[NotedValue]
    credentials: Credentials

    @classmethod
    def of(cls, device: FleetDevice) -> DeviceOutcome:
        """Return the outcome of a device that has ended."""
        return cls(device.state, device.epoch, device.notes, device.history, device.credentials)
