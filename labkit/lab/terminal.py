"""`labkit fleet`: from what was typed to a run, and what came of it as plain data."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from labkit.core.chance import fresh_seed
from labkit.core.errors import LabError
from labkit.core.loops import loop_factory
from labkit.fleet.behaviour import Behaviour
from labkit.fleet.behaviours import BEHAVIOURS
from labkit.fleet.device import Credentials
from labkit.fleet.identities import identity
from labkit.fleet.measures import Latency, Tick, frame
from labkit.fleet.play import Member, Plan, Play
from labkit.fleet.remote import elsewhere, play_elsewhere, provisioned
from labkit.lab.fleet import INTERVALS, TICKS
from labkit.lab.lab import Lab
from labkit.lab.run import Progress
from labkit.settings import load

if TYPE_CHECKING:
    import pandas

PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "max": 100.0}


@dataclass(frozen=True)
class Order:
    """What was asked for. seconds: of lab time; prefix: of identities, "" for the usual one."""

    product: str
    devices: int
    behaviour: Behaviour
    seconds: float
    seed: int | None = None
    prefix: str = ""


class FailedDevice(NamedTuple):
    """A device that failed, and when in lab time."""

    time: float
    identity: str
    error: str


@dataclass(frozen=True)
class Outcome:
    """What came of a run."""

    order: Order
    seed: int
    ticks: Sequence[Tick]
    failed: Sequence[FailedDevice]
    latency: Latency
    timings: Mapping[str, float]
    seconds: float = field(default=0.0)

    @property
    def requests(self) -> int:
        return sum(tick.requests for tick in self.ticks)

    @property
    def errors(self) -> dict[str, int]:
        """By kind."""
        kinds = sorted({kind for tick in self.ticks for kind in tick.errors})
        return {kind: sum(tick.errors.get(kind, 0) for tick in self.ticks) for kind in kinds}

    def frame(self) -> pandas.DataFrame:
        """A row an interval."""
        return frame(self.ticks)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON: latencies in seconds of lab time, timings in real ones."""
        taken = self.latency.percentiles(list(PERCENTILES.values()))
        latency = dict(zip(PERCENTILES, taken, strict=True)) if self.latency.count else None
        return {
            "product": self.order.product,
            "behaviour": type(self.order.behaviour).__name__,
            "devices": self.order.devices,
            "seed": self.seed,
            "seconds": round(self.seconds, 6),
            "requests": self.requests,
            "errors": self.errors,
            "failed": [{**each._asdict(), "time": _when(each.time)} for each in self.failed],
            "latency": latency,
            "timings": {name: each if each == each else None for name, each in self.timings.items()},
        }

    def line(self) -> str:
        """The run in one line, for a terminal."""
        errors = ", ".join(f"{count} × {kind}" for kind, count in self.errors.items())
        rate = self.timings["requests per second"]
        return (
            f"{self.order.devices} devices of {self.order.product}, {_lasted(self.seconds)} of lab time in "
            f"{self.timings['real']:.1f} s: {self.requests} requests ({rate:,.0f} a second), "
            f"errors: {errors or 'none'}, {len(self.failed)} devices failed; seed {self.seed}"
        )

    def problems(self, most: int = 10) -> list[str]:
        """A line for each device that failed, up to so many."""
        lines = [f"{each.identity} failed at {_when(each.time)}: {each.error}" for each in self.failed[:most]]
        more = len(self.failed) - most
        return [*lines, f"… and {more} more"] if more > 0 else lines


def fleet_run(
    *,
    config: Path | None,
    target: str | None,
    ca_file: Path | None,
    product: str,
    devices: int,
    behaviour: str,
    parameters: Sequence[str],
    days: float,
    hours: float,
    minutes: float,
    seconds: float,
    seed: int | None,
    prefix: str,
    speed: float | None,
    workers: int | None,
    auth: str,
) -> Outcome:
    """What `labkit fleet` asks for. Raises LabError or SettingsError."""
    lasting = seconds + 60 * minutes + 3600 * hours + 86_400 * days
    if not lasting:
        raise LabError("for how long? say --days, --hours, --minutes or --seconds")
    order = Order(product, devices, behaviour_of(behaviour, parameters), lasting, seed, prefix)
    if target is None:
        if config is None:
            raise LabError("where? say --config lab.yaml for a lab of its own, or --target")
        return in_a_lab(order, config, 0.0 if speed is None else speed, workers)
    for name, value in {"--config": config, "--speed": speed, "--workers": workers}.items():
        if value is not None:
            raise LabError(f"{name}: not with --target, which is a lab elsewhere on a clock of its own")
    return against(order, target, ca_file, auth)


def behaviour_of(name: str, parameters: Sequence[str]) -> Behaviour:
    """A behaviour by its name, or as `module:Class`, with `NAME=VALUE` parameters. Raises LabError."""
    given = dict(_parameter(each) for each in parameters)
    if ":" not in name:
        if name not in BEHAVIOURS:
            raise LabError(f"no behaviour {name!r}, there are: {', '.join(BEHAVIOURS)}; or say module:Class")
        return BEHAVIOURS[name](**given)
    module, _, attribute = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # a module of the present folder
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise LabError(f"--behaviour {name}: {error}") from None
    except Exception as error:  # noqa: BLE001  whatever somebody's module raises while it is imported
        raise LabError(f"--behaviour {name}: {type(error).__name__}: {error}") from None
    if not (isinstance(found, type) and issubclass(found, Behaviour)):
        raise LabError(f"--behaviour {name}: expected a class of labkit.Behaviour, not {found!r}")
    return found(**given)


def in_a_lab(
    order: Order, config: Path, speed: float, workers: int | None, *, bar: bool | None = None
) -> Outcome:
    """A run in a lab of its own. speed: seconds of lab time for each real one, 0 for the virtual clock."""
    known = [each.id for each in load(config).products]
    if order.product not in known:
        raise LabError(
            f"--product: {config} has no {order.product!r}, there are: {', '.join(known) or 'none'}"
        )
    seed = fresh_seed() if order.seed is None else order.seed
    with Lab(seed, config=config, speed=speed) as lab:
        more: dict[str, Any] = {} if workers is None else {"workers": workers}
        product = lab.product(order.product)
        fleet = product.fleet(order.devices, order.behaviour, prefix=order.prefix or None)
        run = fleet.start(order.seconds, **more).wait(progress=bar)
        failures = run.failures.reset_index()
        failures["time"] = failures["time"].astype("int64") / 1_000_000
        failed = [FailedDevice(*row) for row in failures[list(FailedDevice._fields)].to_numpy().tolist()]
        timings = {str(name): float(value) for name, value in run.timings().items()}
        lasted = (run.ticks[-1].time - run.began) if run.ticks else 0.0
        return Outcome(order, fleet.seed, run.ticks, failed, run.latency, timings, lasted)


def against(
    order: Order, target: str, ca_file: Path | None, auth: str, *, bar: bool | None = None
) -> Outcome:
    """A run against a platform elsewhere, on the wall clock. Its devices provision themselves first."""
    there = elsewhere(target, order.product, ca_file)
    seed = fresh_seed() if order.seed is None else order.seed
    prefix = order.prefix or f"{order.product[:1]}-{fresh_seed() % 16**6:06x}-"  # never one from before
    members = [
        Member(number, identity(number, "opaque", prefix, 0, upper=False), order.behaviour, Credentials())
        for number in range(1, order.devices + 1)
    ]

    async def live() -> Play:
        held = await provisioned(there, auth, members)
        every = float(next((each for each in INTERVALS if order.seconds / each <= TICKS), INTERVALS[-1]))
        plan = Plan(order.product, *there, auth, seed, tuple(held), every)
        with Watched(order.seconds, bar) as watched:
            return await play_elsewhere(plan, order.seconds, watched.watch)

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        play = runner.run(live())
    total = play.total
    timings = play.timings.figures(total.requests)
    failed = [FailedDevice(each.time, each.identity, each.error) for each in play.failures]
    lasted = (play.ticks[-1].time - play.began) if play.ticks else 0.0
    return Outcome(order, seed, play.ticks, failed, total.latency, timings, lasted)


class Watched:
    """A progress bar over a run that begins later."""

    def __init__(self, lasting: float, wanted: bool | None) -> None:
        self.lasting = lasting
        self.began = 0.0
        self._wanted = wanted
        self._play: Play | None = None
        self._bar: Progress | None = None

    def watch(self, play: Play) -> None:
        """Show how far it is."""
        self._play, self.began = play, play.began
        self._bar = Progress(self, self._wanted)

    def on_tick(self, callback: Callable[[Tick], object]) -> None:
        assert self._play is not None
        self._play.on_tick(callback)

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.__exit__(*error)


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise LabError(f"--parameter: {text!r} is no parameter: want name=value")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _lasted(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
