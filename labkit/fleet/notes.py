"""Notes of a behaviour about its device: the newest values, for a run's table, and earlier ones with their times."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from labkit.core.errors import LabError

NotedValue = tuple[float, str, object]  # lab time, name and value of a note
OWN_COLUMNS = frozenset({"identity", "behaviour", "state", "epoch"})  # columns of a run's table of devices
MAX_NOTES = 100_000  # of a run
FEWEST_NOTES = 10  # of a device, however many there are


class Note(NamedTuple):
    """A value that a device has noted. time: lab time in Unix seconds; name: `note` for a text without a name."""

    time: float
    identity: str
    name: str
    value: object


class DeviceNotes:
    """Notes of a device.

    newest: the last value of each name; history: the newest notes, oldest first; devices: of the run, which share
    MAX_NOTES.
    """

    def __init__(self, now: Callable[[], float], devices: int) -> None:
        self._now = now
        self.newest: dict[str, object] = {}
        self.history: deque[NotedValue] = deque(maxlen=max(FEWEST_NOTES, MAX_NOTES // max(devices, 1)))

    def add(self, values: Mapping[str, object]) -> None:
        """Note values by name. Raises LabError for the name of a column that the table has anyway."""
        if not OWN_COLUMNS.isdisjoint(values):
            raise LabError(
                f"note: {', '.join(sorted(OWN_COLUMNS & set(values)))}: the run shows that itself; name it otherwise"
            )
        now = self._now()
        self.newest.update(values)
        self.history.extend((now, name, value) for name, value in values.items())


def notes_of(history: Callable[[int], Sequence[NotedValue] | None], devices: Mapping[str, int]) -> list[Note]:
    """Return the notes of devices, oldest first. history: as of `FleetRun`; devices: their numbers, by identity.

    Raises LabError for a run outside of this process.
    """
    found: list[Note] = []
    for identity, number in devices.items():
        noted = history(number)
        if noted is None:
            raise LabError(
                "notes: this run keeps only the last notes (`devices()`), since its devices run elsewhere"
            )
        found += [Note(time, identity, name, value) for time, name, value in noted]
    return sorted(found, key=lambda note: note.time)
