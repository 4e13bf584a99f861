"""Replay of recorded measurements: each row of a table at its own time."""

from __future__ import annotations

import math
from typing import Any

from labkit.core.errors import LabError
from labkit.fleet.behaviour import Behaviour
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.fleet.loops import scheduled
from labkit.fleet.tables import measured


class Replay(Behaviour):
    """Device that writes the rows of a table at their times since the first row, or at arrivals; columns are aliases.

    table: a DataFrame, or a CSV file's path; time: column with a row's time (a date, or seconds), by default the index;
    device: column with the identity of a row's device; speed: factor of the table's; parameters: of all behaviours.
    """

    table: Any
    time: str = "time"
    device: str = "device"
    speed: float = 1.0

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        if not 0 < self.speed < math.inf:
            raise LabError(f"Replay: speed: expected a number above 0, not {self.speed}")
        self._rows = measured(self.table, self.time, self.device)  # parsed once for all devices

    async def run(self, device: FleetDevice) -> None:
        rows = self._rows.get(None) or self._rows.get(device.identity, [])
        async for row in scheduled(device, rows, self.speed):
            try:
                await device.write(row)
            except EXCHANGE_ERRORS as error:
                device.note(last_error=str(error))
