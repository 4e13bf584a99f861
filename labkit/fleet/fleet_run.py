"""A fleet's run, wherever its devices run: in this process, on workers, or in another lab's process."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from labkit.core.marks import Mark
from labkit.fleet.accounts import Accounts
from labkit.fleet.device import Credentials
from labkit.fleet.kept_device import KeptDevice
from labkit.fleet.measures import Measures, Tick, Timings
from labkit.fleet.notes import NotedValue
from labkit.fleet.plan import Plan, RequestRow
from labkit.fleet.shapes import Dial
from labkit.labtime.clock import Clock
from labkit.labtime.device_scheduler import Failure

if TYPE_CHECKING:
    from labkit.fleet.fleet_device import FleetDevice


class DeviceOutcome(NamedTuple):
    """Plain data that a run keeps of a device of a finished run, or of one in another process."""

    state: str
    epoch: int
    notes: Mapping[str, object]
    credentials: Credentials
    history: Sequence[NotedValue] = ()
    kept: KeptDevice | None = None


class FleetRun:
    """A run of a fleet's devices, in progress or ended: its record, and the interface of what drives it."""

    def __init__(self, plan: Plan, began: float, rate: float | None) -> None:
        self.plan = plan
        self.began = began  # lab time
        self.rate = rate  # of lab time; None once it has changed
        self.paused = False
        self.ticks: list[Tick] = []
        self.failures: list[Failure] = []
        self.rows: list[RequestRow] = []
        self.total = Measures()
        self.marks: list[Mark] = []  # marks that the lab set during the run
        self.written: dict[
            str, object
        ] = {}  # a last value of each alias that devices wrote; None of a worker's
        self.accounts = Accounts()
        self.timings = Timings()
        self.arrivals = None if plan.arrivals is None else Dial(plan.arrivals)
        self.begun: Mapping[int, FleetDevice | DeviceOutcome] = {}  # devices that have begun, by number
        self.id = secrets.token_hex(8)  # by which others follow it
        self.changed = asyncio.Event()  # set, and replaced, at each interval and at the end
        self.ended = False  # once its accounts are complete, too
        self.error: Exception | None = None  # which ended it
        self._subscribers: list[Callable[[Tick], object]] = []
        self._finished = asyncio.Event()

    @property
    def requests(self) -> int:
        """Number of requests so far, in a run elsewhere those of its intervals."""
        return self.total.requests

    def on_tick(self, callback: Callable[[Tick], object]) -> None:
        """Call `callback` with each tick, on the event loop of this process."""
        self._subscribers.append(callback)

    def _publish(self, tick: Tick) -> None:
        self.ticks.append(tick)
        for each in tuple(self._subscribers):
            each(tick)
        self._notify()

    def end(self) -> None:
        """Mark the run as ended, which ends the streams of its intervals."""
        self.ended = True
        self._notify()

    def _notify(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    async def command(self, name: str, *args: float) -> None:
        """Call `stop`, `pause`, `resume` or `scale_arrivals` of the run."""
        getattr(self, name)(*args)

    async def finished(self) -> None:
        """Return once the run is over and cleaned up."""
        await self._finished.wait()

    def shown(self, number: int) -> dict[str, object]:
        """Return state, epoch and notes of a device."""
        device = self.begun.get(number)
        if device is None:
            return {"state": "waiting", "epoch": 0}
        return {"state": device.state, "epoch": device.epoch, **device.notes}

    def history(self, number: int) -> Sequence[NotedValue] | None:
        """Return the notes of a device, oldest first; None if the run keeps only the last ones."""
        return None

    def credentials(self) -> dict[int, Credentials]:
        """Return the current credentials of each device that has begun, by number."""
        return {number: each.credentials for number, each in self.begun.items()}

    def kept(self) -> dict[int, KeptDevice]:
        """Return what the devices keep that may go on in another run, once this one is over, by number."""
        outcomes = ((number, getattr(each, "kept", None)) for number, each in self.begun.items())
        return {number: kept for number, kept in outcomes if kept is not None}

    def epochs(self) -> dict[int, int]:
        """Return the last epoch of each device that has begun, by number."""
        return {number: each.epoch for number, each in self.begun.items()}


class OwnFleetRun(FleetRun):
    """A run that this process controls, by the clock of its devices."""

    reached = False  # whether the run reached its end in lab time

    def __init__(self, plan: Plan, clock: Clock) -> None:
        super().__init__(plan, clock.now(), clock.rate)
        self.clock = clock
        self.lag: Callable[[], float | None] = lambda: None  # of handlers since the last call, in lab seconds

    async def prepare(self) -> None:
        """Do what would delay the run."""

    async def run(self, until: float | None) -> None:
        """Run the devices until lab time reaches `until`, all have ended, or `stop` is called; then end them."""
        raise NotImplementedError

    def _emit(self, when: float, measures: Measures, states: Mapping[str, int]) -> None:
        if self.rate != self.clock.rate:
            self.rate = None
        shown = {state: count for state, count in states.items() if count}
        self._publish(measures.tick(when, shown, self.lag()))
