"""Operations that run fleets of devices. Like `functions`, they accept objects of this process, and work only in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from labkit.control.run_faults import RestartsAndLosses
from labkit.core.errors import LabError
from labkit.core.marks import MAX_MARKS, Mark
from labkit.core.process import return_freed
from labkit.core.records import Record
from labkit.devices.state import Datapoint, values
from labkit.fleet.accounts import ALIAS
from labkit.fleet.cluster import ClusterFleetRun
from labkit.fleet.connection import DeviceServer, MemoryServer
from labkit.fleet.descriptors import provide
from labkit.fleet.fleet_run import FleetRun, OwnFleetRun
from labkit.fleet.live import Live
from labkit.fleet.local_run import LocalFleetRun
from labkit.fleet.plan import Plan
from labkit.labtime.clock import Clock
from labkit.labtime.device_scheduler import DeviceScheduler
from labkit.labtime.events import Event, HandlerOutcome
from labkit.labtime.simulated import Simulated
from labkit.labtime.story_fleet import StoryFleet
from labkit.labtime.story_work import CURRENT
from labkit.platform import Platform
from labkit.settings import SolutionSettings

Key = tuple[str, str]  # product, identity
LARGE = 100  # devices; after a run of that many or more, freed memory of the connections is returned to the system


class FleetRunsControl:
    """Operations that run fleets on the lab's event loop, or on the workers of a cluster."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._servers: dict[str, DeviceServer] = {}  # of simulated fleets, by domain
        # Callbacks that get the numbers of counting devices: returned by a solution's handler (by solution), and
        # received by a handler that the run added (by product and identity).
        self._returned: dict[str, dict[Key, Callable[[str, object], object]]] = {}
        self._received: dict[str, dict[str, Callable[[str, object], object]]] = {}

    @property
    def is_any_running(self) -> bool:
        """Whether a fleet is running."""
        return bool(self._platform.runs)

    async def prepare(self, plan: Plan) -> FleetRun:
        """Prepare a run of a fleet in this process: on a virtual clock one device at a time, else concurrently.

        Raises LabError if the system allows too few open files for the connections of live devices.
        """
        live = bool(self._platform.context.clock.rate)
        provide(len(plan.members), strict=live)
        plan = self._in_step(plan)
        return LocalFleetRun(plan, self._pace(plan.seed), None if live else self._server(plan))

    async def prepare_on_cluster(
        self, plan: Plan, client: Any, shares: int, close: Callable[[], object]
    ) -> FleetRun:
        """Prepare a run of a fleet on the workers of a dask cluster.

        client: dask client of the cluster; shares: number of parts into which the fleet is divided; close: called at
        the end of the run.
        """
        return ClusterFleetRun(self._in_step(plan), self._platform.context.clock, client, shares, close)

    def _in_step(self, plan: Plan) -> Plan:
        return replace(plan, in_step=self._platform.context.faults.in_step)

    async def watch_received(self, fleet_run: FleetRun) -> None:
        """Report each number that an added handler receives from devices of a run to the run's accounts.

        Replaces the reports to earlier runs of the same devices. The handler belongs to an extra solution,
        `accounts-<product>`, so that existing solutions are not changed.
        """
        product, handled = fleet_run.plan.product, fleet_run.accounts.handled
        callbacks = self._received.setdefault(product, {})
        callbacks.update({member.identity: handled for member in fleet_run.plan.members})
        id = f"accounts-{product}"
        if id not in self._platform.context.solutions:
            await self._platform.solutions.add(SolutionSettings(id=id, products=(product,)))

        async def datapoint(data: Mapping[str, Any]) -> None:
            callback = callbacks.get(data["device_sn"])
            if callback is not None and data["alias"] == ALIAS:
                callback(data["device_sn"], data["value"][1])

        self._platform.solutions.get(id).on("device", "datapoint", datapoint)

    async def watch_returned(self, solution: str, fleet_run: FleetRun) -> bool:
        """Report each number that the solution's own handler of datapoints returns to the accounts of a run.

        Returns False, and does nothing, if the solution has a route GET /accounts, or no such handler.
        Raises LabError for a solution that is not linked to the product.
        """
        product, handled = fleet_run.plan.product, fleet_run.accounts.handled
        if not self.returns_numbers(solution, product):
            return False
        returned = self._returned.setdefault(solution, {})
        returned.update({(product, member.identity): handled for member in fleet_run.plan.members})

        def ended(event: Event, payload: Any, outcome: HandlerOutcome) -> None:
            if event.product is None or (event.kind.service, event.kind.event) != ("device", "datapoint"):
                return
            callback = returned.get((event.product, payload["device_sn"]))
            if callback is not None and payload["alias"] == ALIAS:
                callback(payload["device_sn"], outcome.result)

        self._platform.solutions.delivery.watch(solution, ended)
        return True

    def returns_numbers(self, solution: str, product: str) -> bool:
        """Return whether the handler's return values supply the accounts.

        False if it has a route GET /accounts, or no such handler. Raises LabError for a solution that is not linked to
        the product.
        """
        found = self._platform.solutions.get(solution)
        routed = any((each.method, each.path) == ("GET", "/accounts") for each in found.routes)
        if routed or found.find("device", "datapoint", product) is None:
            return False
        if product not in found.products:
            raise LabError(
                f"accounts: solution {solution!r} gets no events of product {product!r}: link them with products="
            )
        return True

    async def refresh(self, fleet_run: FleetRun) -> None:
        """Compare the accounts of a run with the stored datapoints: which numbers of its devices are stored now."""
        product, database = fleet_run.plan.product, self._platform.context.database
        for identity, epochs in fleet_run.accounts.senders().items():
            found = database.read_now(partial(values, key=(product, identity, ALIAS)))
            fleet_run.accounts.take_stock(identity, epochs, found)
            await asyncio.sleep(0)  # a large fleet has many

    def _watch_stored(self, fleet_run: FleetRun) -> Callable[[], None]:
        """Report each number that the platform stores to the accounts of a run. Returns a function that ends this."""
        product, identities = fleet_run.plan.product, {member.identity for member in fleet_run.plan.members}

        def stored(of: str, identity: str, points: Sequence[Datapoint]) -> None:
            if of == product and identity in identities:
                for point in points:
                    if point.alias == ALIAS:
                        fleet_run.accounts.written(identity, point.timestamp, point.value)

        return self._platform.devices.state.watch(stored)

    async def run(self, fleet_run: FleetRun, seconds: float | None, counted: bool = False) -> None:
        """Run the devices of a fleet for `seconds` of lab time; None: until `stop`.

        counted: whether to keep accounts of the numbers that the platform stores. On a virtual clock the run alone
        advances the time. Raises LabError there without `seconds`, and while another run is in progress.
        """
        runs = self._platform.runs
        runs[fleet_run.id] = fleet_run
        try:
            self._platform.firmware.expect_all()
            await self._run_counted(fleet_run, seconds, counted)
        except Exception as error:
            fleet_run.error = error
            raise
        finally:
            del runs[fleet_run.id]
            fleet_run.end()

    async def _run_counted(self, fleet_run: FleetRun, seconds: float | None, counted: bool) -> None:
        if not counted:
            await self._run(own(fleet_run), seconds)
            return
        stop_watching = self._watch_stored(fleet_run)
        try:
            await self._run(own(fleet_run), seconds)
            await self._platform.settle()  # acknowledged numbers are still in transit to handlers
        finally:
            stop_watching()
        await self.refresh(fleet_run)

    async def _run(self, fleet_run: OwnFleetRun, seconds: float | None) -> None:
        clock = self._platform.context.clock
        await fleet_run.prepare()
        until = None if seconds is None else clock.after(seconds)
        if until is None and not clock.rate:
            raise LabError("this clock stands still: pass a duration, as in run(days=1)")
        faults, lag = (
            RestartsAndLosses(self._platform, fleet_run),
            HandlerLag(self._platform, fleet_run.plan.product),
        )
        fleet_run.lag = lag.pop_longest
        unmark, pace = self._mark(fleet_run), getattr(fleet_run, "pace", None)
        try:
            if isinstance(pace, StoryFleet):
                await self._run_in_story(fleet_run, pace, until)
                return
            if clock.rate:
                await fleet_run.run(until)
                return
            with clock.drive("the run of a fleet"):
                await fleet_run.run(until)
        finally:
            lag.stop()
            await faults.stop()
            unmark()
            if len(fleet_run.plan.members) >= LARGE:
                return_freed()
        if until is not None and fleet_run.reached:
            await clock.advance_to(until)

    async def _run_in_story(self, fleet_run: OwnFleetRun, part: StoryFleet, until: float | None) -> None:
        """Run the devices while other things happen in the story, whose scheduler moves the clock."""
        work = CURRENT.get()
        assert work is not None
        part.belongs_to(work)
        token = CURRENT.set(None)  # the devices' own work is counted as theirs
        try:
            await fleet_run.run(until)
        finally:
            CURRENT.reset(token)
            part.remove()

    def _mark(self, fleet_run: OwnFleetRun) -> Callable[[], None]:
        """Add the faults that a run begins with to its marks, and then its own faults and each new mark of the lab.

        Returns a function that ends this.
        """
        context = self._platform.context
        texts = [each.title for each in context.faults if each.state == "active"]
        fleet_run.marks[:] = [Mark(context.clock.now(), "fault", each) for each in texts]
        ends = [
            context.journal.marks.watch(partial(add_mark, fleet_run)),
            *mark_own_faults(fleet_run, context.clock),
        ]

        def end() -> None:
            for each in ends:
                each()

        return end

    def _server(self, plan: Plan) -> DeviceServer | MemoryServer:
        """Return the server to which a simulated fleet connects, the same for each run, so that its TLS session is
        reused. Connections are not reused, since keep-alive is limited in real time and events name the connection.
        """
        address = self._platform.context.address
        if plan.transport == "memory":
            assert address.connect_in_memory is not None
            return MemoryServer(plan.address, plan.domain, address.connect_in_memory)
        server = self._servers.get(plan.domain)
        if server is None or server.address != plan.address:
            server = DeviceServer(plan.address, plan.domain, connect=address.connect, shares_session=True)
            self._servers[plan.domain] = server
        return server

    def _pace(self, seed: int) -> DeviceScheduler:
        context = self._platform.context
        if context.clock.rate:
            return Live(context.clock)
        if self._platform.story is not None:
            return self._platform.story.part(seed)
        return Simulated(context.clock, context.holding, context.activity, seed)


def add_mark(fleet_run: FleetRun, mark: Mark) -> None:
    """Add a mark to those of a run, unless it has the maximum number."""
    if len(fleet_run.marks) < MAX_MARKS:
        fleet_run.marks.append(mark)


def mark_own_faults(fleet_run: OwnFleetRun, clock: Clock) -> list[Callable[[], None]]:
    """Add each of a run's own faults to its marks when it begins. Returns functions that end this."""
    began, timers = clock.now(), []
    for after, text in (
        () if fleet_run.plan.faults is None else fleet_run.plan.faults.beginnings(fleet_run.plan.members)
    ):
        mark = Mark(began + after, "fault", text)
        if after:
            timers.append(clock.call_at(mark.time, partial(add_mark, fleet_run, mark)))
        else:
            add_mark(fleet_run, mark)
    return [each.cancel for each in timers]


def own(fleet_run: FleetRun) -> OwnFleetRun:
    """Return a run that this process controls."""
    assert isinstance(fleet_run, OwnFleetRun)
    return fleet_run


class HandlerLag:
    """Measurement of how long the events of a product's devices wait for their handlers, in seconds of lab time."""

    def __init__(self, platform: Platform, product: str) -> None:
        self._context = platform.context
        self._prefix = f"{product}/"
        self._longest: float | None = None
        self.stop = self._context.journal.watch_kind("script", self._look)

    def pop_longest(self) -> float | None:
        """Return the longest wait since the previous call; None if no handler ran.

        On a virtual clock, handlers run at the instant of the event unless a fault delays it, so 0 is None there, too.
        """
        longest, self._longest = self._longest, None
        return longest if longest or self._context.clock.rate else None

    def _look(self, entry: Record) -> None:
        if entry.cause is None:
            return
        event = self._context.journal.find(entry.cause)
        if event is not None and event.kind == "event" and event.actor.startswith(self._prefix):
            self._longest = max(self._longest or 0.0, (entry.time - event.time) / 1_000_000)
