"""Runs of fleets that are described by plain data: a number of devices with a behaviour that labkit has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from labkit.control.bounds import Id, Number, Values
from labkit.control.data import Data
from labkit.control.fleet_runs import FleetRunsControl
from labkit.control.fleets import FleetsControl, client_credentials
from labkit.control.following import Followed, Missed
from labkit.control.json_values import JsonValue
from labkit.core.chance import fresh_seed
from labkit.core.errors import LabError, TakenError
from labkit.fleet.behaviours import BEHAVIOURS
from labkit.fleet.faults import FleetFaults
from labkit.fleet.flow import LabAddress
from labkit.fleet.identities import identities
from labkit.fleet.measures import Latency, Tick
from labkit.fleet.plan import Member, Plan
from labkit.fleet.play import Play
from labkit.platform import Platform

MAX_FAILURES = 100
# Not `replay`, which needs a table.
NamedBehaviour = Literal["bulb", "counter", "flaky", "sensor", "thermostat", "updater"]
Devices = Annotated[int, Field(ge=1, le=10_000)]
Duration = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
DeviceFaultValues = Annotated[
    Sequence[Annotated[Mapping[Id, Annotated[Any, JsonValue]], Field(min_length=1)]], Field(max_length=100)
]


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


class PlaysControl:
    """Runs of fleets that are described by plain data. `fleet_runs` has those with behaviours of a cell."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._runs = FleetRunsControl(platform)
        self._fleets = FleetsControl(platform)
        self._playing: set[str] = set()  # products
        self._watchers: list[Callable[[PlayTick], object]] = []

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
        injected = FleetFaults(seed, dict(enumerate(names, 1)))
        for each in faults:
            _add(injected, each)
        self._playing.add(product)
        try:
            given = await self._fleets.provision(product, names)
            members = [
                Member(number, name, life, client_credentials(each))
                for number, (name, each) in enumerate(zip(names, given, strict=True), 1)
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
            play = await self._runs.prepare(plan)
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


def _add(faults: FleetFaults, given: Mapping[str, Any]) -> None:
    """Add a fault. Raises LabError for a wrong argument."""
    try:
        faults.add(**given)
    except TypeError as error:
        raise LabError(f"faults: {str(error).removeprefix('FleetFaults.add() ')}") from None


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
