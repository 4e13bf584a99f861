"""Outcome of one device of a finished run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from labkit.fleet.device import Credentials
from labkit.fleet.fleet_device import FleetDevice
from labkit.fleet.fleet_play import NotedValue
from labkit.fleet.kept_device import KeptDevice


class DeviceOutcome(NamedTuple):
    """Plain data that a finished run keeps of a device."""

    state: str
    epoch: int
    notes: dict[str, object]
    history: Sequence[NotedValue]
    credentials: Credentials
    kept: KeptDevice | None

    @classmethod
    def of(cls, device: FleetDevice, *, keeps: bool) -> DeviceOutcome:
        """Return the outcome of a device that has ended. keeps: whether it may go on in another run."""
        kept = KeptDevice.of(device) if keeps else None
        return cls(device.state, device.epoch, device.notes, device.history, device.credentials, kept)
