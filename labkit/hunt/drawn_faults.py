"""Faults of one play: plain data, put into a lab and removed from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from labkit.lab.lab import Lab


@dataclass(frozen=True)
class DrawnFault:
    """A fault of a play, as plain data that can be written to a file.

    kind: such as `request lost`; settings: as of `lab.faults.add`.
    """

    kind: str
    settings: Mapping[str, Any]


class PutFaults:
    """The faults of a play, in its lab."""

    def __init__(self, lab: Lab, faults: Iterable[DrawnFault]) -> None:
        self._lab = lab
        self._names = [lab.faults.add(**each.settings).name for each in faults]

    def end(self) -> float | None:
        """End all faults; return the lab time at which the last one ended, None without faults."""
        for name in self._names:
            self._lab.faults.remove(name)
        return self._lab.clock.time if self._names else None
