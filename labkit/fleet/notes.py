"""What a behaviour notes of its device: the newest values, for a run's table, and earlier ones with their times."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from labkit.core.errors import LabError

OWN_COLUMNS = frozenset({"identity", "behaviour", "state", "epoch"})  # columns of a run's table of devices
MAX_NOTES = 1_000  # of a device in a run, the newest


class NotedValue(NamedTuple):
    """A noted value. time: lab time in Unix seconds."""

    time: float
    name: str
    value: object


class DeviceNotes:
    """Notes of a device. newest: the last value of each name; history: all values, oldest first, up to MAX_NOTES."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.newest: dict[str, object] = {}
        self.history: deque[NotedValue] = deque(maxlen=MAX_NOTES)

    def add(self, values: Mapping[str, object]) -> None:
        """Note values by name. Raises LabError for the name of a column that the table has anyway."""
        if not OWN_COLUMNS.isdisjoint(values):
            raise LabError(
                f"note: {', '.join(sorted(OWN_COLUMNS & set(values)))}: the run shows that itself; name it otherwise"
            )
        now = self._now()
        self.newest.update(values)
        self.history.extend(NotedValue(now, name, value) for name, value in values.items())
