"""Behaviours for the tests of `labkit fleet`."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from labkit.fleet.behaviour import Behaviour
from labkit.fleet.fleet_device import FleetDevice


class Fails(Behaviour):
    """Behaviour whose first device fails at once."""

    at: int = 1

    async def run(self, device: FleetDevice) -> None:
        await device.write(temperature=1)
        if device.number == self.at:
            raise RuntimeError("broken")
        await device.sleep(days=1)


class Interrupted(Behaviour):
    """Behaviour that sends Ctrl-C after a time, and not before a table of the run has a row."""

    after: float = 60
    table: str = ""

    def has_row(self) -> bool:
        """Return whether the run has written an interval; without a table, True."""
        table = Path(self.table)
        return not self.table or (table.exists() and len(table.read_text().splitlines()) > 1)

    async def run(self, device: FleetDevice) -> None:
        await device.write(temperature=1)
        await device.sleep(self.after)
        while not self.has_row():
            await device.sleep(self.after)
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            await device.sleep(0.01)


class Verbose(Behaviour):
    """Behaviour that fails with a long message, and has a text parameter."""

    text: str = ""
    other: str | None = None

    async def run(self, device: FleetDevice) -> None:
        raise RuntimeError(f"{self.text!r}\n  {self.other!r}\nbroken")
