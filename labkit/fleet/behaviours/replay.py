"""Replays what was measured once: each row of a table at its own time."""

from __future__ import annotations

from typing import Any

from labkit.fleet.behaviour import Behaviour
from labkit.fleet.fleet_device import FleetDevice


class Replay(Behaviour):
    """Writes each row of a table as long after the start as it is after the first row; columns are aliases.

    table: a DataFrame, or the path of a CSV file. time: the column with the time of a row (a date, or seconds); it is
    the DataFrame's index where there is no such column. device: the column with the device of a row, if there is one;
    speed: how many times as fast.
    """

    table: Any
    time: str = "time"
    device: str = "device"
    speed: float = 1.0

    async def run(self, device: FleetDevice) -> None:
        import pandas as pd

        table = self.table if isinstance(self.table, pd.DataFrame) else pd.read_csv(self.table)
        if self.device in table:
            table = table[table[self.device].astype(str) == device.identity].drop(columns=self.device)
        if self.time in table:
            table = table.set_index(self.time)
        index = table.index
        if not pd.api.types.is_numeric_dtype(index):
            index = (pd.to_datetime(index) - pd.Timestamp(0)).total_seconds()
        began = device.now()
        for when, row in zip(index - index[:1].min(), table.to_dict("records"), strict=True):
            await device.sleep_until(began + when / self.speed)
            await device.write({str(name): value for name, value in row.items() if pd.notna(value)})
