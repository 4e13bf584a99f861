"""Run of a fleet whose devices run in the lab's process, which is another one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from labkit.control.fleet_run_data import (
    MAX_MEMBERS,
    DeviceState,
    FaultCount,
    FleetRunBegun,
    FleetRunInterval,
    FleetRunState,
    client_credentials,
    described_devices,
    described_faults,
)
from labkit.control.over_http.client import ControlClient
from labkit.control.over_http.operations import operations
from labkit.control.over_http.problem import raised_error
from labkit.core.errors import LabError
from labkit.fleet.device import Credentials
from labkit.fleet.fleet_run import DeviceOutcome, FleetRun
from labkit.fleet.measures import Latency, Measures, Timings
from labkit.fleet.plan import Plan
from labkit.fleet.run_faults import RunFaults
from labkit.fleet.shape_data import shape_data
from labkit.fleet.shapes import scaled


class RemoteFleetRun(FleetRun):
    """Run of described devices in the lab's process.

    client: of the lab; began: its present time. Raises OwnProcessError for devices that cannot be described.
    """

    def __init__(self, plan: Plan, client: ControlClient, began: float) -> None:
        super().__init__(plan, began, 0.0)
        self.counting: bool | str = False  # argument `accounts` of the operation
        self._client = client
        self._run: str | None = None  # id of the run
        self._early: list[tuple[str, tuple[float, ...]]] = []  # commands before the run had an id
        self._members = {member.number: member for member in plan.members}
        if len(plan.members) > MAX_MEMBERS:
            raise LabError(
                f"{len(plan.members):,} devices: a lab elsewhere runs at most {MAX_MEMBERS:,} at once on a virtual "
                f"clock; make several fleets of them, or the lab here with Lab(…)"
            )
        self._arguments = self._described()

    def _described(self) -> dict[str, Any]:
        plan = self.plan
        behaviours, members = described_devices(plan.members)
        faults = plan.faults if isinstance(plan.faults, RunFaults) else None
        return {
            "product": plan.product,
            "behaviours": behaviours,
            "members": members,
            "seed": plan.seed,
            "every": plan.every,
            "requests": plan.requests,
            "devices": None if plan.devices is None else shape_data(plan.devices),
            "arrivals": None if plan.arrivals is None else shape_data(plan.arrivals),
            "faults": described_faults(faults, plan.members),
            "transport": plan.transport,
        }

    async def run(self, seconds: float | None, counted: bool) -> None:
        """Run the devices for `seconds`, and follow them. counted: whether to keep accounts.

        Raises the error that ended the run early, and LabError if the lab cannot be reached any more.
        """
        if seconds is None:
            raise LabError("this clock stands still: pass a duration, as in run(days=1)")
        accounts = (self.counting or True) if counted else False
        arguments, self._arguments = self._arguments, {}  # they hold the devices' credentials
        stream = self._client.follow(
            operations()["fleets.start"], **arguments, seconds=seconds, accounts=accounts
        )
        self.timings = Timings()
        state: FleetRunState | None = None
        try:
            async for item in stream:
                if isinstance(item, FleetRunBegun):
                    await self._begin(item)
                elif isinstance(item, FleetRunInterval):
                    self._add(item)
                else:
                    state = item
                    self.put(item)
        finally:
            self.timings.end()
            self._subscribers.clear()
            self._finished.set()
        if state is None:
            raise LabError(f"the lab at {self._client.url} ended before the run")
        if state.error is not None:
            raise raised_error(state.kind, state.error)

    async def _begin(self, begun: FleetRunBegun) -> None:
        self._run, self.began = begun.run, begun.time
        for name, args in self._early:
            await self._client.call(operations()[f"fleets.{name}"], begun.run, *args)

    def _add(self, interval: FleetRunInterval) -> None:
        tick = interval.tick()
        self.rows += interval.rows
        self.failures += interval.failures
        self.marks += interval.marks
        self.total.merge(Measures(tick.requests, Counter(tick.errors), tick.latency))
        self._publish(tick)

    def put(self, state: FleetRunState) -> None:
        """Take over the state of the run."""
        self.began, self.rate, self.paused = state.began, state.rate, state.paused
        self.failures, self.marks = list(state.failures), list(state.marks)
        self.written = dict(state.written)
        self.begun = {
            each.number: DeviceOutcome(each.state, each.epoch, each.notes, self._credentials(each))
            for each in state.devices
        }
        self.accounts.restore(state.accounts)
        if isinstance(self.plan.faults, RunFaults):
            _put_counts(self.plan.faults, state.faults)
        self.timings.real, self.timings.cpu = state.real, state.cpu
        self.timings.latency = Latency.of_pairs(state.sending)

    async def refresh(self) -> None:
        """Bring devices and accounts of a run in progress up to date."""
        if self._run is not None:
            self.put(await self._client.call(operations()["fleets.state"], self._run))

    async def command(self, name: str, *args: float) -> None:
        """Call `stop`, `pause`, `resume` or `scale_arrivals` of the run, once it has begun; nothing once it is over."""
        if name == "scale_arrivals":
            scaled(self.arrivals, *args)
        self.paused = {"pause": True, "resume": False}.get(name, self.paused)
        if self._run is None:
            self._early.append((name, args))
        elif not self._finished.is_set():
            await self._client.call(operations()[f"fleets.{name}"], self._run, *args)

    def _credentials(self, state: DeviceState) -> Credentials:
        had, given = self._members[state.number].credentials, state.credentials
        pair = had.certificate
        if given.certificate is not None and pair is not None and given.certificate == pair.certificate_pem:
            return had  # reading a certificate takes long
        return client_credentials(given)


def _put_counts(faults: RunFaults, counts: Iterable[FaultCount]) -> None:
    faults.counts.clear()
    faults.put({(each.fault, each.device): (each.seen, each.hits) for each in counts})
