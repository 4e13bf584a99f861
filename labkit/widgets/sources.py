"""Interfaces of a fleet, its runs and its failed devices, as the dashboard of a fleet uses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from labkit.core.marks import Mark
from labkit.fleet.measures import Tick

if TYPE_CHECKING:
    import pandas


class DeviceFailure(Protocol):
    """A device that failed. time: lab time of the failure; seed: repeats the failure in a run of this device only."""

    @property
    def time(self) -> float: ...
    @property
    def identity(self) -> str: ...
    @property
    def error(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def trace(self) -> str: ...


class RunSource(Protocol):
    """A run as the dashboard uses it."""

    @property
    def began(self) -> float: ...
    @property
    def every(self) -> float:
        """Length of an interval in seconds of lab time."""
        ...

    @property
    def ticks(self) -> Sequence[Tick]: ...
    @property
    def done(self) -> bool: ...
    @property
    def paused(self) -> bool: ...
    @property
    def lasting(self) -> float | None:
        """Seconds of lab time that the run lasts; None if it has no end."""
        ...

    @property
    def error(self) -> str | None:
        """Error that ended the run, None if it did not fail."""
        ...

    @property
    def stopped(self) -> bool:
        """Whether the run ended because it was told to stop."""
        ...

    def late(self) -> float:
        """Return the seconds of lab time by which half of the requests are sent later than due; NaN if unknown."""
        ...

    @property
    def marks(self) -> Sequence[Mark]:
        """Restarts, faults and releases of the lab during the run."""
        ...

    @property
    def rate(self) -> float | None:
        """Seconds of lab time per real second, 0 on a virtual clock; None if it changed."""
        ...

    @property
    def totals(self) -> Mapping[str, int] | None:
        """Sums of the run's accounts; None if it keeps none."""
        ...

    @property
    def losses(self) -> pandas.DataFrame:
        """The run's accounts, with a row per device and epoch."""
        ...

    @property
    def failed(self) -> Sequence[DeviceFailure]: ...
    def on_tick(self, callback: Callable[[Tick], object]) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def stop(self) -> object: ...
    @property
    def arrivals(self) -> float | None:
        """Present factor of the run's arrival rate; None if the run has no such rate."""
        ...

    def scale_arrivals(self, factor: float) -> None: ...


class FleetSource(Protocol):
    """A fleet and its lab as the dashboard uses them.

    title: `200 devices of thermostat`; faults: names of the faults that a device can have.
    """

    title: str
    faults: Sequence[str]

    def run(self) -> RunSource | None:
        """Return the active run, or else the last one, None if there was none."""
        ...

    def start(self) -> RunSource: ...
    def rate(self) -> float:
        """Return the seconds of lab time per real second; 0 on a virtual clock."""
        ...

    def set_rate(self, rate: float) -> None: ...
    def add_fault(self, name: str, every: int) -> None: ...
    def clear_faults(self) -> None: ...
    def active_faults(self) -> Sequence[str]: ...
    def journal(self, identity: str) -> pandas.DataFrame:
        """Return the newest journal records of a device, with their causes and consequences."""
        ...
