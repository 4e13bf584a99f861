"""The faults of a lab as plain data, for snapshots."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.faults.fault import Origin, State
from labkit.faults.lanes import LateState
from labkit.labtime.clock_states import TimerState
from labkit.settings import FaultSettings


@dataclass(frozen=True, slots=True)
class FaultState:
    """A fault as plain data: see `ActiveFault`. timer: the next one of its period."""

    name: str
    settings: FaultSettings
    origin: Origin
    state: State
    seen: int
    hits: int
    timer: TimerState | None


@dataclass(frozen=True, slots=True)
class FaultsState:
    """All faults as plain data. of_settings: those to which a reset returns; late: events that wait."""

    of_settings: tuple[FaultSettings, ...]
    faults: list[FaultState]
    late: list[LateState]
