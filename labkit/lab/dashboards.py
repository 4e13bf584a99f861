"""Data sources of the live dashboards: a lab, a fleet and its runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from labkit.core.words import counted
from labkit.lab.runtime import Client, Runtime
from labkit.lab.show import entries_frame
from labkit.settings import FaultSettings
from labkit.widgets.dashboard import Dashboard
from labkit.widgets.fleet_dashboard import FleetDashboard
from labkit.widgets.lab_dashboard import LabDashboard
from labkit.widgets.sources import RunSource
from labkit.widgets.tally import Tally

if TYPE_CHECKING:
    import pandas

# Faults that the fleet's dashboard can add to requests of its product: name → settings.
FAULTS: Mapping[str, Mapping[str, Any]] = {
    "answer 503": {"status": 503},
    "cut before the work": {"cut": "before"},
    "cut after the work": {"cut": "after"},
    "late by 30 s": {"delay": 30},
}
RECORDS = 40  # newest journal records of a device that are shown


D = TypeVar("D", bound=Dashboard)


class _FleetSource:
    """Data of a fleet for its dashboard. run: returns its last run; start: starts one as the dashboard does."""

    def __init__(
        self,
        runtime: Runtime,
        product: str,
        devices: int,
        run: Callable[[], RunSource | None],
        start: Callable[[], RunSource],
    ) -> None:
        self._runtime = runtime
        self._product = product
        self.run, self.start = run, start
        self.faults: Sequence[str] = tuple(FAULTS)
        # Names of the faults that dashboards have added to requests of the product, by which they meet all its fleets.
        self._faults = runtime.dashboard_faults.setdefault(product, [])
        self.title = f"{counted(devices, 'device')} of {product}"

    def rate(self) -> float:
        return self._runtime.run(self._runtime.control.clock.state).rate

    def set_rate(self, rate: float) -> None:
        self._runtime.run(self._runtime.control.clock.run, rate)

    def add_fault(self, name: str, every: int) -> None:
        there = {each.name for each in self._runtime.run(self._runtime.control.faults.all)}
        often = "every request" if every == 1 else f"every {every} requests"
        what = f"{name}, {often} of {self._product}"
        names = itertools.chain([what], (f"{what} ({number})" for number in itertools.count(2)))
        fault = FaultSettings(
            name=next(each for each in names if each not in there),
            where="* /onep:v1/*",
            product=[self._product],
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
        self._faults[:] = [each for each in self._faults if each in there]
        return tuple(self._faults)

    def journal(self, identity: str) -> pandas.DataFrame:
        control = self._runtime.control.journal
        actor = f"{self._product}/{identity}"
        return entries_frame(self._runtime.run(control.select, None, actor)[-RECORDS:])


class _LabSource:
    """Data of a lab for its dashboard."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def follow(self, tally: Tally) -> Callable[[], object]:
        stop = self._runtime.run(self._runtime.control.functions.follow, tally)

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


def fleet_dashboard(
    runtime: Runtime,
    product: str,
    devices: int,
    run: Callable[[], RunSource | None],
    start: Callable[[], RunSource],
) -> FleetDashboard:
    """Return a live view of a fleet, which ends with its lab. Raises LabError without Jupyter's libraries.

    product: of its devices; devices: their number; run: returns the last run, None before the first; start: starts one.
    """
    return _register(FleetDashboard(_FleetSource(runtime, product, devices, run, start)), runtime)


def lab_dashboard(runtime: Runtime) -> LabDashboard:
    """Return a live view of a lab, which ends with it. Raises LabError without Jupyter's libraries."""
    return _register(LabDashboard(_LabSource(runtime)), runtime)


def _register(dashboard: D, runtime: Runtime) -> D:
    """Register a dashboard to be closed with its lab, until it is closed itself."""
    closing = _DashboardCloser(dashboard)
    runtime.keep(closing)
    dashboard.at_end(lambda: runtime.forget(closing))
    return dashboard
