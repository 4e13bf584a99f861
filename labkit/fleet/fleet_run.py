"""Interface of a fleet's run, wherever its devices run: in this process, on workers, or in another lab's process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from labkit.core.marks import Mark
from labkit.fleet.accounts import Accounts
from labkit.fleet.device import Credentials
from labkit.fleet.kept_device import KeptDevice
from labkit.fleet.measures import Measures, Tick, Timings
from labkit.fleet.plan import Plan, RequestRow
from labkit.fleet.shapes import Dial
from labkit.labtime.device_scheduler import Failure

NotedValue = tuple[float, str, object]  # lab time, name and value of a note


class FleetRun(Protocol):
    """A run of a fleet's devices, in progress or ended.

    began: lab time; rate: of lab time, None once it has changed; written: a last value of each alias that devices
    wrote.
    """

    plan: Plan
    paused: bool
    began: float
    ticks: list[Tick]
    failures: list[Failure]
    rows: list[RequestRow]
    total: Measures
    marks: list[Mark]
    rate: float | None
    written: dict[str, object]
    accounts: Accounts
    arrivals: Dial | None

    @property
    def timings(self) -> Timings:
        """Real durations of the run."""
        ...

    def on_tick(self, callback: Callable[[Tick], object]) -> None:
        """Call `callback` with each tick, on the lab's event loop."""

    def shown(self, number: int) -> dict[str, object]:
        """Return state, epoch and notes of a device."""
        ...

    def history(self, number: int) -> Sequence[NotedValue] | None:
        """Return the notes of a device, oldest first; None if the run does not keep them."""
        ...

    def credentials(self) -> dict[int, Credentials]:
        """Return the current credentials of each device that has begun, by number."""
        ...

    def kept(self) -> Mapping[int, KeptDevice]:
        """Return what the devices keep that may go on in another run, once this one is over, by number."""
        ...

    def epochs(self) -> dict[int, int]:
        """Return the last epoch of each device that has begun, by number."""
        ...
