"""Data sources of the live dashboards: a lab, a fleet and its runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from labkit.core.marks import Mark
from labkit.fleet.measures import Tick
from labkit.lab.run_options import RunOptions
from labkit.lab.runtime import Client, Runtime
from labkit.lab.show import entries_frame
from labkit.labtime.device_scheduler import Failure
from labkit.settings import FaultSettings
from labkit.widgets.dashboard import Dashboard
from labkit.widgets.fleet_dashboard import FleetDashboard
from labkit.widgets.lab_dashboard import LabDashboard
from labkit.widgets.tally import JournalRecord, MailRecord

if TYPE_CHECKING:
    import pandas

    from labkit.lab.fleet import Fleet
    from labkit.lab.run import Run

# Faults that the fleet's dashboard can add to requests of its product: name → settings.
FAULTS: Mapping[str, Mapping[str, Any]] = {
    "answer 503": {"status": 503},
    "cut before the work": {"cut": "before"},
    "cut after the work": {"cut": "after"},
    "late by 30 s": {"delay": 30},
}
PAUSE = 20  # pause between two sums of the accounts, as a multiple of the time that one takes, since it blocks the lab
RECORDS = 40  # newest journal records of a device that are shown


D = TypeVar("D", bound=Dashboard)


class _RunSource:
    """Data of a run for its dashboard."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._totals: Mapping[str, int] | None = None
        self._next = 0.0  # real time of the next sum of the accounts
        self._added = False  # whether the accounts were summed after the end of the run

    @property
    def began(self) -> float:
        return self._run.began

    @property
    def every(self) -> float:
        return self._run.every

    @property
    def ticks(self) -> Sequence[Tick]:
        return self._run.ticks

    @property
    def done(self) -> bool:
        return self._run.done

    @property
    def paused(self) -> bool:
        return self._run.paused

    @property
    def progress(self) -> float | None:
        if self._run.lasting is None:
            return None
        ticks = self._run.ticks
        passed = ticks[-1].time - self._run.began if ticks else 0.0
        return min(passed / self._run.lasting, 1.0)

    @property
    def error(self) -> str | None:
        return self._run.error

    @property
    def marks(self) -> Sequence[Mark]:
        return self._run.marks

    @property
    def rate(self) -> float | None:
        return self._run.rate

    def accounts(self) -> Mapping[str, int] | None:
        done, began = self._run.done, perf_counter()
        if not self._added and (done or began >= self._next):
            self._totals, self._added = self._run.totals, done
            ended = perf_counter()
            self._next = ended + PAUSE * (ended - began)
        return self._totals

    def losses(self) -> pandas.DataFrame:
        return self._run.losses

    def failed(self) -> Sequence[Failure]:
        return self._run.failed

    def on_tick(self, callback: Callable[[Tick], object]) -> None:
        self._run.on_tick(callback)

    def pause(self) -> None:
        self._run.pause()

    def resume(self) -> None:
        self._run.resume()

    def stop(self) -> None:
        self._run.stop()

    @property
    def arrivals(self) -> float | None:
        return self._run.arrivals

    def scale_arrivals(self, factor: float) -> None:
        self._run.scale_arrivals(factor)


class _FleetSource:
    """Data of a fleet for its dashboard. how: arguments of the runs that the dashboard starts."""

    def __init__(self, runtime: Runtime, fleet: Fleet, how: Mapping[str, Any]) -> None:
        self._runtime = runtime
        self._fleet = fleet
        self._how = dict(how)
        self._seen: tuple[Run, _RunSource] | None = None
        self._faults: list[str] = []  # names of the faults that the dashboard has added
        self.faults: Sequence[str] = tuple(FAULTS)
        self.title = f"{len(fleet)} devices of {fleet.product}"

    def run(self) -> _RunSource | None:
        last = self._fleet.last
        if last is None:
            return None
        if self._seen is None or self._seen[0] is not last:
            self._seen = last, _RunSource(last)
        return self._seen[1]

    def start(self) -> _RunSource:
        self._fleet.start(**self._how)
        run = self.run()
        assert run is not None
        return run

    def rate(self) -> float:
        return self._runtime.run(self._runtime.control.clock.state).rate

    def set_rate(self, rate: float) -> None:
        self._runtime.run(self._runtime.control.clock.run, rate)

    def add_fault(self, name: str, every: int) -> None:
        there = {each.name for each in self._runtime.run(self._runtime.control.faults.all)}
        what = f"{name}, every {every}"
        names = itertools.chain([what], (f"{what} ({number})" for number in itertools.count(2)))
        fault = FaultSettings(
            name=next(each for each in names if each not in there),
            where="* /onep:v1/*",
            product=[self._fleet.product],
            every=every,
            **FAULTS[name],
        )
        self._faults.append(self._runtime.run(self._runtime.control.faults.add, fault).name)

    def clear_faults(self) -> None:
        for name in self.active_faults():
            self._runtime.run(self._runtime.control.faults.remove, name)
        self._faults.clear()

    def active_faults(self) -> Sequence[str]:
        there = (
            {each.name for each in self._runtime.run(self._runtime.control.faults.all)}
            if self._faults
            else ()
        )
        return [each for each in self._faults if each in there]

    def journal(self, identity: str) -> pandas.DataFrame:
        control = self._runtime.control.journal
        actor = f"{self._fleet.product}/{identity}"
        return entries_frame(self._runtime.run(control.select, None, actor)[-RECORDS:])


class _LabSource:
    """Data of a lab for its dashboard."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def follow(
        self,
        record: Callable[[JournalRecord], object],
        mail: Callable[[MailRecord], object],
        mark: Callable[[Mark], object],
        forget: Callable[[], object],
    ) -> Callable[[], object]:
        stop = self._runtime.run(self._runtime.control.functions.follow, record, mail, mark, forget)

        async def end() -> None:
            stop()

        return lambda: None if self._runtime.closed else self._runtime.begin(end)

    def time(self) -> float:
        return self._runtime.run(self._runtime.control.clock.state).time

    def rate(self) -> float:
        return self._runtime.run(self._runtime.control.clock.state).rate


class _DashboardCloser(Client):
    """Closes a dashboard when its lab is closed."""

    def __init__(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard

    async def close(self) -> None:
        self._dashboard.close()


def fleet_dashboard(runtime: Runtime, fleet: Fleet, how: Mapping[str, Any]) -> FleetDashboard:
    """Return a live view of a fleet, which ends with its lab.

    Raises LabError without Jupyter's libraries, and for arguments that no run accepts.
    """
    RunOptions.of(how)  # checked now, since a button starts the run much later
    return _register(FleetDashboard(_FleetSource(runtime, fleet, how)), runtime)


def lab_dashboard(runtime: Runtime) -> LabDashboard:
    """Return a live view of a lab, which ends with it. Raises LabError without Jupyter's libraries."""
    return _register(LabDashboard(_LabSource(runtime)), runtime)


def _register(dashboard: D, runtime: Runtime) -> D:
    """Register a dashboard to be closed with its lab, until it is closed itself."""
    closing = _DashboardCloser(dashboard)
    runtime.keep(closing)
    dashboard.at_end(lambda: runtime.forget(closing))
    return dashboard
