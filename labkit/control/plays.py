"""Runs of fleets that are described by plain data: a number of devices with a behaviour that labkit has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from labkit.control.bounds import Id, Number, Values
from labkit.control.data import Data
from labkit.control.fleet_runs import FleetRunsControl
from labkit.control.fleets import FleetsControl, client_credentials
from labkit.control.following import Followed, Missed
from labkit.control.play_data import (
    Behaviours,
    DeviceFaultValues,
    Members,
    PlayBegun,
    PlayInterval,
    PlayState,
    Seed,
    device_faults,
    members_of,
)
from labkit.control.play_data import NamedBehaviour as NamedBehaviour
from labkit.control.started_plays import PlayStream, StartedPlays
from labkit.core.chance import fresh_seed
from labkit.core.errors import TakenError
from labkit.fleet.behaviours import BEHAVIOURS
from labkit.fleet.device import Credentials
from labkit.fleet.flow import LabAddress
from labkit.fleet.identities import identities
from labkit.fleet.measures import Latency, Tick
from labkit.fleet.plan import Member, Plan
from labkit.fleet.play import Play
from labkit.fleet.shape_data import shape_of
from labkit.platform import Platform

MAX_FAILURES = 100
Devices = Annotated[int, Field(ge=1, le=10_000)]
Duration = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
Interval = Annotated[float, Field(ge=0.001, le=1e9, allow_inf_nan=False)]
Factor = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


class PlayTick(Data):
    """Measurements of one interval of a run.

    product: of the devices; time: lab time at the end of the interval; devices: number by state; requests: number that
    ended; errors: number by kind; p50, p99: percentiles of the latency in seconds of lab time, None without requests.
    """

    product: str
    time: float
    devices: dict[str, int]
    requests: int
    errors: dict[str, int]
    p50: float | None
    p99: float | None


class PlayFailure(Data):
    """Failure of a device. time: lab time; number: of the device."""

    time: float
    identity: str
    number: int
    error: str


class PlayResult(Data):
    """Result of a run. seed: repeats it; seconds: of lab time; failed: the first failures of devices."""

    seed: int
    seconds: float
    requests: int
    errors: dict[str, int]
    failed: list[PlayFailure]
    p50: float | None
    p99: float | None


class PlayInfo(Data):
    """A run that was started with `start`. count: number of devices; time: lab time at its beginning."""

    run: str
    product: str
    count: int
    time: float
    over: bool
    paused: bool


class PlaysControl:
    """Runs of fleets that are described by plain data. `fleet_runs` has those with behaviours of a cell."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._runs = FleetRunsControl(platform)
        self._fleets = FleetsControl(platform)
        self._playing: set[str] = set()  # products
        self._watchers: list[Callable[[PlayTick], object]] = []
        self.started = StartedPlays(self._runs)

    async def run(
        self,
        product: Id,
        count: Devices,
        seconds: Duration,
        behaviour: NamedBehaviour = "thermostat",
        settings: Values | None = None,
        faults: DeviceFaultValues = (),
        seed: Number | None = None,
        prefix: Id | None = None,
        every: Duration = 60.0,
    ) -> PlayResult:
        """Run virtual devices for some seconds of lab time, and return the result.

        behaviour: a named one, with its `settings`; faults: of devices, each as the arguments of `fleet.faults.add`:
        `{"does": "drop after", "every": 10}`; prefix: of their identities; every: length of a tick. On a virtual clock
        the run advances the time. Raises TakenError while another run of the product is in progress.
        """
        found = self._platform.devices.products.get(product)
        if product in self._playing:
            raise TakenError(f"a fleet of {product!r} is running already; wait for its end, or end it")
        life = BEHAVIOURS[behaviour](**(settings or {}))
        seed = fresh_seed() if seed is None else seed
        names = identities(count, found.settings.identity_format, prefix, product)
        whom = [Member(number, name, life, Credentials()) for number, name in enumerate(names, 1)]
        injected = device_faults(seed, whom, faults)
        self._playing.add(product)
        try:
            given = await self._fleets.provision(product, names)
            members = [
                replace(each, credentials=client_credentials(one))
                for each, one in zip(whom, given, strict=True)
            ]
            address = self._platform.context.address
            plan = Plan(
                product=product,
                address=LabAddress(address.host, address.https_port, address.ca_pem),
                domain=found.domain,
                auth=found.settings.auth,
                seed=seed,
                members=members,
                every=every,
                faults=injected.begin(),
            )
            play = await self._prepare(plan)
            play.on_tick(lambda tick: self._report(product, tick))
            await self._runs.run(play, seconds)
        finally:
            self._playing.discard(product)
        return _result(play)

    async def follow(self) -> AsyncIterator[PlayTick | Missed]:
        """Return each tick of each run from now on."""

        def subscribe(add: Callable[[PlayTick], object]) -> Callable[[], None]:
            self._watchers.append(add)
            return lambda: self._watchers.remove(add)

        return Followed(subscribe, lambda tick: tick)

    async def start(
        self,
        product: Id,
        behaviours: Behaviours,
        members: Members,
        seconds: Duration,
        seed: Seed,
        every: Interval = 60.0,
        requests: bool = False,
        devices: Values | None = None,
        arrivals: Values | None = None,
        faults: DeviceFaultValues = (),
        transport: Literal["tls", "memory"] = "tls",
        accounts: bool | Id = False,
        outlives: bool = False,
    ) -> AsyncIterator[PlayBegun | PlayInterval | PlayState]:
        """Start a run of devices that have credentials, and return its beginning, each interval, and its result.

        every: length of an interval; requests: whether to return a row for each request; devices: number of devices
        online, arrivals: rate of `device.arrivals()`, as shapes: `{"kind": "Flat", "value": 5}`; faults: as in `run`;
        accounts: whether to follow what devices count, to an added handler or to that of a solution; outlives: whether
        the run continues when its client has gone. On a virtual clock the run advances the time.
        """
        clock, found = self._platform.context.clock, self._platform.devices.products.get(product)
        if not clock.rate:
            clock.expect_undriven()
        made = members_of(behaviours, members)
        address = self._platform.context.address
        plan = Plan(
            product=product,
            address=LabAddress(address.host, address.https_port, address.ca_pem),
            domain=found.domain,
            auth=found.settings.auth,
            seed=seed,
            members=made,
            every=every,
            requests=requests,
            devices=None if devices is None else shape_of(devices),
            arrivals=None if arrivals is None else shape_of(arrivals),
            faults=device_faults(seed, made, faults).begin(),
            transport=transport,
        )
        play = await self._prepare(plan)
        if accounts is True:
            await self._runs.watch_received(play)
        elif accounts:
            await self._runs.watch_returned(accounts, play)
        return self.started.start(play, seconds, accounts is not False, outlives)

    async def watch(self, run: Id) -> AsyncIterator[PlayBegun | PlayInterval | PlayState]:
        """Return what `start` returned of a run, from its beginning."""
        return PlayStream(self.started.find(run))

    async def state(self, run: Id) -> PlayState:
        """Return the state of a run: that of its devices, and its accounts compared with the stored datapoints now."""
        found = self.started.find(run)
        if not found.over:
            await self._runs.refresh(found.play)
        return found.state()

    async def all(self) -> list[PlayInfo]:
        """Return the runs in progress, and ended ones that outlived their clients."""
        return [
            PlayInfo(
                run=each.id,
                product=each.play.plan.product,
                count=len(each.play.plan.members),
                time=each.play.began,
                over=each.over,
                paused=each.play.paused,
            )
            for each in self.started.all()
        ]

    async def stop(self, run: Id) -> None:
        """Have a run end as soon as its devices allow it."""
        self.started.find(run).play.stop()

    async def pause(self, run: Id) -> None:
        """Pause all devices of a run; a virtual clock stands still meanwhile."""
        self.started.find(run).play.pause()

    async def resume(self, run: Id) -> None:
        """Resume all devices of a run."""
        self.started.find(run).play.resume()

    async def scale_arrivals(self, run: Id, factor: Factor) -> None:
        """Multiply a run's original arrival rate by `factor`, from each device's next request on."""
        self.started.find(run).play.scale_arrivals(factor)

    async def returns_numbers(self, solution: Id, product: Id) -> bool:
        """Return whether accounts follow what a solution's handler of datapoints returns, not its GET /accounts."""
        return self._runs.returns_numbers(solution, product)

    async def _prepare(self, plan: Plan) -> Play:
        play = await self._runs.prepare(plan)
        assert isinstance(play, Play)  # described devices run in this process
        return play

    def _report(self, product: str, tick: Tick) -> None:
        if self._watchers:
            p50, p99 = _percentiles(tick.latency)
            made = PlayTick(
                product=product,
                time=tick.time,
                devices=dict(tick.devices),
                requests=tick.requests,
                errors=dict(tick.errors),
                p50=p50,
                p99=p99,
            )
            for each in tuple(self._watchers):
                each(made)


def _result(play: Play) -> PlayResult:
    p50, p99 = _percentiles(play.total.latency)
    return PlayResult(
        seed=play.plan.seed,
        seconds=play.ticks[-1].time - play.began if play.ticks else 0.0,
        requests=play.total.requests,
        errors=dict(play.total.errors),
        failed=[
            PlayFailure(time=each.time, identity=each.identity, number=each.number, error=each.error)
            for each in play.failures[:MAX_FAILURES]
        ],
        p50=p50,
        p99=p99,
    )


def _percentiles(latency: Latency) -> list[float | None]:
    return [*latency.percentiles([50, 99])] if latency.count else [None, None]
