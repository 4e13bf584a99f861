"""Runs of fleets, in this process only: they take and give what lives here, as functions do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from labkit.core.errors import LabError, LabkitError
from labkit.core.events import Event, HandlerOutcome
from labkit.core.journal import Record
from labkit.core.marks import MAX_MARKS, Mark
from labkit.core.memory import return_freed
from labkit.devices.state import Datapoint, values
from labkit.fleet.accounts import ALIAS
from labkit.fleet.cluster import ClusterPlay
from labkit.fleet.connection import MemoryServer, Server
from labkit.fleet.descriptors import provide
from labkit.fleet.live import Live
from labkit.fleet.pace import Pace
from labkit.fleet.plan import DeviceFaults, Plan, Restart
from labkit.fleet.play import Play
from labkit.fleet.simulated import Simulated
from labkit.platform import Platform
from labkit.settings import SolutionSettings

Key = tuple[str, str]  # product, identity
LARGE = 100  # devices of a run whose connections take enough memory to return it at the end


class PlaysControl:
    """Plays fleets on the lab's own loop, or has others play them."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._servers: dict[str, Server] = {}  # of simulated fleets, by domain
        self._returned: dict[str, dict[Key, Callable[[str, object], object]]] = {}  # by solution
        self._followed: dict[str, dict[str, Callable[[str, object], object]]] = {}  # by product and identity

    async def prepare(self, plan: Plan) -> Play:
        """A run of a fleet in this process: on a virtual clock one device at a time, else side by side.

        Raises LabError where the system allows too few open files for the connections of live devices.
        """
        live = bool(self._platform.context.clock.rate)
        provide(len(plan.members), strict=live)
        return Play(plan, self._pace(plan.seed), None if live else self._server(plan))

    async def spread(self, plan: Plan, client: Any, shares: int, close: Callable[[], object]) -> ClusterPlay:
        """A run of a fleet on the workers of a dask cluster, which `client` is one of."""
        return ClusterPlay(plan, self._platform.context.clock, client, shares, close)

    async def account(
        self, product: str, identities: Iterable[str], handled: Callable[[str, object], object]
    ) -> None:
        """Tell `handled` of each number that these counting devices write (identity, value), as a handler gets it.

        It takes the place of what was told before of the same devices; of others of the product others are told. The
        handler belongs to a solution of its own, `accounts-<product>`, so that no other is touched.
        """
        followed = self._followed.setdefault(product, {})
        followed.update(dict.fromkeys(identities, handled))
        id = f"accounts-{product}"
        if id not in self._platform.context.solutions:
            await self._platform.solutions.add(SolutionSettings(id=id, products=(product,)))

        async def datapoint(data: Mapping[str, Any]) -> None:
            told = followed.get(data["device_sn"])
            if told is not None and data["alias"] == ALIAS:
                told(data["device_sn"], data["value"][1])

        self._platform.solutions.get(id).on("device", "datapoint", datapoint)

    async def account_of(
        self, solution: str, product: str, identities: Iterable[str], handled: Callable[[str, object], object]
    ) -> bool:
        """Tell `handled` of each number that the solution's own handler of datapoints returns (identity, number).

        Return False, and do nothing, where the solution has a route GET /accounts, or no such handler.
        Raises LabError for a solution that is not linked to the product.
        """
        found = self._platform.solutions.get(solution)
        routed = any((each.method, each.path) == ("GET", "/accounts") for each in found.routes)
        if routed or found.find("device", "datapoint", product) is None:
            return False
        if product not in found.products:
            raise LabError(
                f"accounts: solution {solution!r} gets no events of product {product!r}: link them with products="
            )
        returned = self._returned.setdefault(solution, {})
        returned.update({(product, identity): handled for identity in identities})

        def ended(event: Event, payload: Any, outcome: HandlerOutcome) -> None:
            if event.product is None or (event.kind.service, event.kind.event) != ("device", "datapoint"):
                return
            told = returned.get((event.product, payload["device_sn"]))
            if told is not None and payload["alias"] == ALIAS:
                told(payload["device_sn"], outcome.result)

        self._platform.solutions.delivery.watch(solution, ended)
        return True

    async def take_stock(self, play: Play | ClusterPlay) -> None:
        """Have the accounts of a run know which numbers of its devices are datapoints now."""
        product, database = play.plan.product, self._platform.context.database
        for identity, epochs in play.accounts.senders().items():
            found = database.read_now(partial(values, key=(product, identity, ALIAS)))
            play.accounts.take_stock(identity, epochs, found)
            await asyncio.sleep(0)  # a large fleet has many

    def watch_stored(self, play: Play | ClusterPlay) -> Callable[[], None]:
        """Have the accounts of a run know what the platform stores of its devices, until the returned function is
        called.
        """
        product, identities = play.plan.product, {member.identity for member in play.plan.members}

        def stored(of: str, identity: str, points: Sequence[Datapoint]) -> None:
            if of == product and identity in identities:
                for point in points:
                    if point.alias == ALIAS:
                        play.accounts.written(identity, point.timestamp, point.value)

        return self._platform.devices.state.watch(stored)

    async def play(self, play: Play | ClusterPlay, seconds: float | None) -> None:
        """Let the devices live for so long, on lab time; None: until `Play.stop`.

        On a virtual clock nobody else moves it meanwhile. Raises LabError there where no time is given, and where
        another run is under way.
        """
        clock = self._platform.context.clock
        if isinstance(play, ClusterPlay):
            await play.prepare()
        until = None if seconds is None else clock.after(seconds)
        if until is None and not clock.rate:
            raise LabError("this clock stands still: say for how long, as in run(days=1)")
        restarts, lag = Restarts(self._platform, play), HandlerLag(self._platform, play.plan.product)
        play.lag = lag.take
        unmark = self._mark(play)
        try:
            if clock.rate:
                await play.run(until)
                return
            with clock.drive("the run of a fleet"):
                await play.run(until)
        finally:
            lag.stop()
            await restarts.stop()
            unmark()
            if isinstance(play, Play) and len(play.plan.members) >= LARGE:
                return_freed()
        if until is not None and isinstance(play, Play) and play.reached:
            await clock.advance_to(until)

    def _mark(self, play: Play | ClusterPlay) -> Callable[[], None]:
        """Have the run know the faults that it begins with, and each mark of the lab until the returned function is
        called.
        """
        context = self._platform.context
        own = play.plan.faults
        texts = [each.title for each in context.faults if not each.spent]
        texts += [] if own is None else list(own.titles)
        play.marks[:] = [Mark(context.clock.now(), "fault", each) for each in texts]

        def add(mark: Mark) -> None:
            if len(play.marks) < MAX_MARKS:
                play.marks.append(mark)

        return context.journal.marks.watch(add)

    def _server(self, plan: Plan) -> Server | MemoryServer:
        """Return the server of a simulated fleet's connections, the same for each run: its TLS session outlives them.
        Connections do not, since keep-alive is real time and events name the connection.
        """
        address = self._platform.context.address
        if plan.transport == "memory":
            assert address.connect_in_memory is not None
            return MemoryServer(plan.address, plan.domain, address.connect_in_memory)
        server = self._servers.get(plan.domain)
        if server is None or server.address != plan.address:
            server = Server(plan.address, plan.domain, connect=address.connect, shares_session=True)
            self._servers[plan.domain] = server
        return server

    def _pace(self, seed: int) -> Pace:
        context = self._platform.context
        if context.clock.rate:
            return Live(context.clock)
        return Simulated(context.clock, context.holding, context.activity, seed)


class HandlerLag:
    """How long the events of a product's devices wait for their handlers, in seconds of lab time."""

    def __init__(self, platform: Platform, product: str) -> None:
        self._context = platform.context
        self._prefix = f"{product}/"
        self._longest: float | None = None
        self.stop = self._context.journal.watch_kind("script", self._look)

    def take(self) -> float | None:
        """The longest since it was asked last; None where no handler ran. On a virtual clock handlers run at the
        instant of the event, and only what a fault makes late is worth telling.
        """
        longest, self._longest = self._longest, None
        return longest if longest or self._context.clock.rate else None

    def _look(self, entry: Record) -> None:
        if entry.cause is None:
            return
        event = self._context.journal.find(entry.cause)
        if event is not None and event.kind == "event" and event.actor.startswith(self._prefix):
            self._longest = max(self._longest or 0.0, (entry.time - event.time) / 1_000_000)


class Restarts:
    """Restarts the platform while a run goes on, as its faults say."""

    def __init__(self, platform: Platform, play: Play | ClusterPlay) -> None:
        self._platform = platform
        self._play = play
        self._tasks: set[asyncio.Task[None]] = set()
        clock, faults = platform.context.clock, play.plan.faults
        self._timers = []
        for each in () if faults is None else faults.restarts:
            begin = partial(self._begin, each, faults)
            self._timers.append(clock.call_at(clock.now() + (each.after or 0.0), begin))

    async def stop(self) -> None:
        """No more of them; returns once that which is under way is done."""
        for timer in self._timers:
            timer.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, fault: Restart, faults: DeviceFaults | None) -> None:
        if faults is not None:
            faults.restarted(fault)
        self._platform.context.activity.begin()  # time stands still meanwhile
        task = asyncio.get_running_loop().create_task(self._restart(fault.seconds))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _restart(self, down: float) -> None:
        context = self._platform.context
        try:
            await self._platform.restart(down)
            if context.clock.driven and isinstance(self._play, Play):
                await self._play.disconnected()  # else what they meet next would be a matter of real time
        except LabkitError as error:
            context.journal.record_error(error)
        finally:
            context.activity.end()
