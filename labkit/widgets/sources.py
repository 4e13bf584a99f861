"""What the dashboard of a fleet needs to know of it, of its runs, and of devices that failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from labkit.core.marks import Mark
from labkit.fleet.measures import Tick

if TYPE_CHECKING:
    import pandas


class Failed(Protocol):
    """A device that failed: when in lab time, and with which seed it fails again alone."""

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
    """What the dashboard needs to know of a run."""

    @property
    def began(self) -> float: ...
    @property
    def every(self) -> float:
        """Seconds of lab time of an interval."""
        ...

    @property
    def ticks(self) -> Sequence[Tick]: ...
    @property
    def done(self) -> bool: ...
    @property
    def paused(self) -> bool: ...
    @property
    def progress(self) -> float | None:
        """From 0 to 1; None where the run has no end."""
        ...

    @property
    def error(self) -> str | None:
        """What ended the run itself, where it failed."""
        ...

    @property
    def marks(self) -> Sequence[Mark]:
        """Restarts, faults and releases of the lab while it lasted."""
        ...

    @property
    def rate(self) -> float | None:
        """Seconds of lab time a real second, 0 on a virtual clock; None where it changed."""
        ...

    def accounts(self) -> Mapping[str, int] | None:
        """The sums of its accounts (`Accounts.totals`); None where it keeps none."""
        ...

    def losses(self) -> pandas.DataFrame:
        """Its accounts, a row a device and epoch."""
        ...

    def failed(self) -> Sequence[Failed]: ...
    def on_tick(self, callback: Callable[[Tick], object]) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def stop(self) -> None: ...
    @property
    def arrivals(self) -> float | None:
        """How many times the rate that the run was given requests arrive; None where it was given none."""
        ...

    def scale_arrivals(self, factor: float) -> None: ...


class FleetSource(Protocol):
    """What the dashboard needs to know of a fleet and its lab.

    title: `200 devices of thermostat`; faults: names of those that a device can have.
    """

    title: str
    faults: Sequence[str]

    def run(self) -> RunSource | None:
        """The run that is under way, or else the last one."""
        ...

    def start(self) -> RunSource: ...
    def rate(self) -> float:
        """Seconds of lab time for each real one; 0 on a virtual clock."""
        ...

    def set_rate(self, rate: float) -> None: ...
    def add_fault(self, name: str, every: int) -> None: ...
    def clear_faults(self) -> None: ...
    def active_faults(self) -> Sequence[str]: ...
    def journal(self, identity: str) -> pandas.DataFrame:
        """The newest records of a device, each with what led to it and what followed."""
        ...
