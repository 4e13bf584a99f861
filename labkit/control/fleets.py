"""Credentials of fleets, and runs that are described by plain data: devices with a behaviour that labkit has."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificate
from pydantic import Field

from labkit.control.addresses import lab_address
from labkit.control.bounds import Id, Number, Values
from labkit.control.data import Data, in_slices
from labkit.control.fleet_run_data import (
    Behaviours,
    DeviceCredentials,
    DeviceFaultValues,
    FleetRunBegun,
    FleetRunInterval,
    FleetRunState,
    Members,
    Seed,
    client_credentials,
    device_faults,
    members_of,
)
from labkit.control.fleet_run_data import NamedBehaviour as NamedBehaviour
from labkit.control.fleet_runs import FleetRunsControl
from labkit.control.following import Followed, Missed
from labkit.control.started_runs import FleetRunStream, StartedRuns, state_of
from labkit.core.certificates import client_certificate
from labkit.core.chance import fresh_seed
from labkit.core.errors import LabError, TakenError
from labkit.devices.identities import identity_error
from labkit.devices.registry import fingerprint, password_digest
from labkit.fleet.behaviours import BEHAVIOURS
from labkit.fleet.device import Credentials
from labkit.fleet.identities import identities
from labkit.fleet.local_run import LocalFleetRun
from labkit.fleet.measures import Latency, Tick
from labkit.fleet.plan import Member, Plan
from labkit.fleet.shape_data import shape_of
from labkit.platform import Platform
from labkit.settings.ranges import MAX_NAMES


def _certificates(identities: Sequence[str]) -> list[DeviceCredentials]:
    made = (client_certificate(each) for each in identities)
    return [DeviceCredentials(certificate=certificate, key=key) for certificate, key in made]


def _proof(given: DeviceCredentials) -> tuple[bytes, bytes | None]:
    """Return digest and salt of a credential, as the device registry stores them."""
    if given.token is not None:
        return fingerprint(given.token), None
    if given.password is not None:
        salt = secrets.token_bytes(16)
        return password_digest(given.password, salt), salt
    assert given.certificate is not None
    return fingerprint(load_pem_x509_certificate(given.certificate).public_bytes(Encoding.DER)), None


MAX_FAILURES = 100
Devices = Annotated[int, Field(ge=1, le=10_000)]
Duration = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
Interval = Annotated[float, Field(ge=0.001, le=1e9, allow_inf_nan=False)]
Factor = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


class FleetRunTick(Data):
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


class FleetRunFailure(Data):
    """Failure of a device. time: lab time; number: of the device."""

    time: float
    identity: str
    number: int
    error: str


class FleetRunResult(Data):
    """Result of a run. seed: repeats it; seconds: of lab time; failed: the first failures of devices."""

    seed: int
    seconds: float
    requests: int
    errors: dict[str, int]
    failed: list[FleetRunFailure]
    p50: float | None
    p99: float | None


class FleetRunInfo(Data):
    """A run of a fleet. count: number of devices; time: lab time at its beginning."""

    run: str
    product: str
    count: int
    time: float
    over: bool
    paused: bool


class FleetsControl:
    """Credentials of fleets, and runs described by plain data. `fleet_runs` has those with behaviours of a cell."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._runs = FleetRunsControl(platform)
        self._playing: set[str] = set()  # products
        self._watchers: list[Callable[[FleetRunTick], object]] = []
        self.started = StartedRuns(self._runs, platform.runs)

    async def provision(
        self, product: Id, identities: Annotated[Sequence[Id], Field(max_length=MAX_NAMES)]
    ) -> list[DeviceCredentials]:
        """Whitelist identities, and return new credentials for each, of the product's kind; old ones become invalid.

        Raises LabError for an unknown product, and for an identity that does not have the product's format.
        """
        settings = self._platform.devices.products.get(product).settings
        for identity in identities:
            if wrong := identity_error(settings.identity_format, identity):
                raise LabError(f"{identity!r}: {wrong}; say prefix=… or identities=…")
        made: list[DeviceCredentials] = []
        async for some in in_slices(identities):
            made += await self._provision(product, settings.auth, some)
        return made

    async def _provision(self, product: str, auth: str, identities: Sequence[str]) -> list[DeviceCredentials]:
        if auth == "certificate":
            made = await asyncio.to_thread(_certificates, identities)
        else:
            made = [self._secret(product, auth, identity) for identity in identities]
        given = zip(identities, made, strict=True)
        await self._platform.devices.registry.provision_all(
            product, {name: _proof(each) for name, each in given}
        )
        return made

    def _secret(self, product: str, auth: str, identity: str) -> DeviceCredentials:
        identifiers = self._platform.context.identifiers
        if auth == "token":
            return DeviceCredentials(token=identifiers.hex(f"token/{product}/{identity}", 40))
        return DeviceCredentials(password=identifiers.alphanumeric(f"password/{product}/{identity}", 24))

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
    ) -> FleetRunResult:
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
            given = await self.provision(product, names)
            members = [
                replace(each, credentials=client_credentials(one))
                for each, one in zip(whom, given, strict=True)
            ]
            fleet_run = await self._prepare(
                product, seed=seed, members=members, every=every, faults=injected.begin()
            )
            fleet_run.on_tick(lambda tick: self._report(product, tick))
            await self._runs.run(fleet_run, seconds)
        finally:
            self._playing.discard(product)
        return _result(fleet_run)

    async def follow(self) -> AsyncIterator[FleetRunTick | Missed]:
        """Return each tick of each run from now on."""

        def subscribe(add: Callable[[FleetRunTick], object]) -> Callable[[], None]:
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
    ) -> AsyncIterator[FleetRunBegun | FleetRunInterval | FleetRunState]:
        """Start a run of devices that have credentials, and return its beginning, each interval, and its result.

        every: length of an interval; requests: whether to return a row for each request; devices: number of devices
        online, arrivals: rate of `device.arrivals()`, as shapes: `{"kind": "Flat", "value": 5}`; faults: as in `run`;
        accounts: whether to follow what devices count, to an added handler or to that of a solution; outlives: whether
        the run continues when its client has gone. On a virtual clock the run advances the time.
        """
        clock = self._platform.context.clock
        self._platform.devices.products.get(product)
        if not clock.rate:
            clock.expect_undriven()
        made = members_of(behaviours, members)
        fleet_run = await self._prepare(
            product,
            seed=seed,
            members=made,
            every=every,
            requests=requests,
            devices=None if devices is None else shape_of(devices),
            arrivals=None if arrivals is None else shape_of(arrivals),
            faults=device_faults(seed, made, faults).begin(),
            transport=transport,
        )
        if accounts is True:
            await self._runs.watch_received(fleet_run)
        elif accounts:
            await self._runs.watch_returned(accounts, fleet_run)
        return self.started.start(fleet_run, seconds, accounts is not False, outlives)

    async def watch(self, run: Id) -> AsyncIterator[FleetRunBegun | FleetRunInterval | FleetRunState]:
        """Return what `start` returned of a run, from its beginning."""
        return FleetRunStream(self.started.find(run))

    async def state(self, run: Id) -> FleetRunState:
        """Return the state of a run: that of its devices, and its accounts compared with the stored datapoints now."""
        found = self.started.find(run)
        if not found.ended:
            await self._runs.refresh(found)
        return state_of(found)

    async def all(self) -> list[FleetRunInfo]:
        """Return the runs in progress, the lab's own among them, and ended ones that outlived their clients."""
        return [
            FleetRunInfo(
                run=each.id,
                product=each.plan.product,
                count=len(each.plan.members),
                time=each.began,
                over=each.ended,
                paused=each.paused,
            )
            for each in self.started.all()
        ]

    async def stop(self, run: Id) -> None:
        """Have a run end as soon as its devices allow it."""
        await self.started.find(run).command("stop")

    async def pause(self, run: Id) -> None:
        """Pause all devices of a run; a virtual clock stands still meanwhile."""
        await self.started.find(run).command("pause")

    async def resume(self, run: Id) -> None:
        """Resume all devices of a run."""
        await self.started.find(run).command("resume")

    async def scale_arrivals(self, run: Id, factor: Factor) -> None:
        """Multiply a run's original arrival rate by `factor`, from each device's next request on."""
        await self.started.find(run).command("scale_arrivals", factor)

    async def returns_numbers(self, solution: Id, product: Id) -> bool:
        """Return whether accounts follow what a solution's handler of datapoints returns, not its GET /accounts."""
        return self._runs.returns_numbers(solution, product)

    async def _prepare(self, product: str, **options: Any) -> LocalFleetRun:
        """Prepare a run. options: as of Plan."""
        found, at = self._platform.devices.products.get(product), lab_address(self._platform)
        fleet_run = await self._runs.prepare(
            Plan(product=product, address=at, domain=found.domain, auth=found.settings.auth, **options)
        )
        assert isinstance(fleet_run, LocalFleetRun)  # described devices run in this process
        return fleet_run

    def _report(self, product: str, tick: Tick) -> None:
        if self._watchers:
            p50, p99 = _percentiles(tick.latency)
            made = FleetRunTick(
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


def _result(fleet_run: LocalFleetRun) -> FleetRunResult:
    p50, p99 = _percentiles(fleet_run.total.latency)
    return FleetRunResult(
        seed=fleet_run.plan.seed,
        seconds=fleet_run.ticks[-1].time - fleet_run.began if fleet_run.ticks else 0.0,
        requests=fleet_run.total.requests,
        errors=dict(fleet_run.total.errors),
        failed=[
            FleetRunFailure(time=each.time, identity=each.identity, number=each.number, error=each.error)
            for each in fleet_run.failures[:MAX_FAILURES]
        ],
        p50=p50,
        p99=p99,
    )


def _percentiles(latency: Latency) -> list[float | None]:
    return [*latency.percentiles([50, 99])] if latency.count else [None, None]
