"""Limits of a story's fleets, by which a play of it is cut down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from labkit.control.clock import number_of
from labkit.core.errors import LabError, unknown
from labkit.core.words import counted
from labkit.fleet.behaviour import Behaviour


@dataclass(frozen=True)
class FleetLimits:
    """Limits of the fleets of a lab, None for none.

    devices: number of devices with one behaviour in a fleet; seconds: lab time of a run.
    """

    devices: int | None = None
    seconds: float | None = None

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Self:
        """Return the limits of data such as `{"devices": 2, "seconds": 60}`. Raises LabError for other data."""
        for name in given:
            if name not in cls.__dataclass_fields__:
                raise LabError(f"limits: {unknown('limit', name, cls.__dataclass_fields__)}")
        devices, seconds = given.get("devices"), given.get("seconds")
        if devices is not None and (type(devices) is not int or devices < 1):
            raise LabError(f"limits: devices: expected a number of devices from 1, not {devices!r}")
        if seconds is not None and number_of(seconds, "limits: seconds") <= 0:
            raise LabError(f"limits: seconds: expected a time above 0, not {seconds!r}")
        return cls(devices, None if seconds is None else number_of(seconds, "limits: seconds"))

    @property
    def data(self) -> dict[str, float]:
        """The limits as data, without those that are None."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def members(self, behaviours: Sequence[Behaviour]) -> list[int]:
        """Return the places of a fleet's devices that are left: of each class of behaviours the first ones."""
        seen: Counter[type] = Counter()
        left = []
        for place, each in enumerate(behaviours):
            seen[type(each)] += 1
            if self.devices is None or seen[type(each)] <= self.devices:
                left.append(place)
        return left

    def __str__(self) -> str:
        """Return the limits as text, empty for none."""
        devices = "" if self.devices is None else f"{counted(self.devices, 'device')} of each behaviour"
        seconds = "" if self.seconds is None else f"{self.seconds:g} s of each run"
        return ", ".join(each for each in (devices, seconds) if each)
