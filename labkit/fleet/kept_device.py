"""State that a device keeps from one run to the next, if it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from labkit.core.chance import Chance

if TYPE_CHECKING:
    from labkit.fleet.fleet_device import FleetDevice


class KeptDevice(NamedTuple):
    """State of a device between two runs, beside its credentials and its epoch.

    memory, notes, clock_error: as of FleetDevice; seen: cursors of its polls, by alias; random, passwords: its streams,
    which go on; counts: whether it has counted: then its epoch ends with the run, whose numbers start from 1.
    """

    memory: dict[str, Any]
    notes: dict[str, object]
    clock_error: float
    seen: dict[str, str]
    random: Chance
    passwords: Chance | None
    counts: bool

    @classmethod
    def of(cls, device: FleetDevice) -> KeptDevice:
        """Return what a device keeps that has ended."""
        return cls(
            device.memory,
            dict(device.notes),
            device.clock_error,
            device.seen,
            device.random,
            device.passwords.chance,
            device.counted is not None,
        )

    def restore(self, device: FleetDevice) -> None:
        """Let a new device go on with this state."""
        device.memory, device.clock_error = self.memory, self.clock_error
        device.notes.update(self.notes)
        device.seen.update(self.seen)
        device.random = self.random
        device.passwords.chance = self.passwords
