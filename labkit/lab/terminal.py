"""The command `labkit fleet`: turns its options into a run, and the run into plain data."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from labkit.core.chance import fresh_seed
from labkit.core.errors import LabError, UnknownError
from labkit.core.handle import warn
from labkit.core.progress import Progress
from labkit.core.words import counted
from labkit.fleet.behaviour import Behaviour
from labkit.fleet.behaviours import BEHAVIOURS
from labkit.fleet.device import Credentials
from labkit.fleet.ending import error_text
from labkit.fleet.identities import Format, identity
from labkit.fleet.local_run import LocalFleetRun
from labkit.fleet.plan import Member, Plan
from labkit.fleet.remote import provisioned, remote_product, run_remote
from labkit.fleet.shapes import DailyWave, Flat, Ramp, Shape, Steps
from labkit.lab.arguments import ignored_writes
from labkit.lab.lab import Lab
from labkit.lab.outcome import FailedDevice, FleetOptions, Outcome, Watch
from labkit.lab.portal import Portal
from labkit.lab.run_options import Transport, interval
from labkit.lab.thresholds import Threshold
from labkit.labtime.device_scheduler import Failure
from labkit.settings import LabSettings, load

UNITS = {"s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}
NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)"
RATE = re.compile(rf"({NUMBER})/(s|min|h|d)")
RANGE = re.compile(rf"({NUMBER})\.\.({NUMBER})/(s|min|h|d):(?:({NUMBER})(s|min|h|d)|(daily))")
STEP = re.compile(rf"({NUMBER})(s|min|h|d)={RATE.pattern}")
EXPECTED = (
    "expected a rate such as 50/s, 0.1/s or 30/min, a ramp 1..50/s:10min, a daily wave 1..5/s:daily, "
    "or steps 0s=1/s,60s=50/s"
)


def rate_of(text: str) -> Shape:
    """Return the shape described by a text: a rate, a ramp between two rates, a daily wave, or steps.

    Units: s, min, h, d. Raises LabError for any other text.
    """
    given = text.replace(" ", "")
    if found := RATE.fullmatch(given):
        return Flat(float(found[1]) / UNITS[found[2]])
    if found := RANGE.fullmatch(given):
        low, high = (float(found[at]) / UNITS[found[3]] for at in (1, 2))
        if found[6]:
            return DailyWave(low, high)
        return Ramp(low, high, float(found[4]) * UNITS[found[5]])
    steps = [STEP.fullmatch(each) for each in given.split(",")]
    levels = {
        float(each[1]) * UNITS[each[2]]: float(each[3]) / UNITS[each[4]] for each in steps if each is not None
    }
    if len(levels) != len(steps):
        raise LabError(f"{EXPECTED}; not {text!r:.100}")
    return Steps(levels)


DIGITS = {"opaque": 10, "base10": 10, "base16": 16}  # base of identities whose length can be chosen
SPAN = 2**20  # range of numbers for the identities of one run; other runs begin at other numbers


def fleet_run(
    *,
    config: Path | None,
    assignments: Sequence[str] = (),
    faults: Sequence[str] = (),
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
    auth: str | None = None,
    identities: Format = "opaque",
    identity_length: int | None = None,
    accounts: bool = False,
    arrivals: str | None = None,
    fail_if: Sequence[str] = (),
    transport: Transport | None = None,
    watch: Watch = lambda ticks: None,
) -> Outcome:
    """Run a fleet with the options of `labkit fleet`, and return the result.

    watch: called with the intervals so far at the end of each, on the thread of the devices. Raises LabError or
    SettingsError for a wrong option.
    """
    lasting = seconds + 60 * minutes + 3600 * hours + 86_400 * days
    if not lasting:
        raise LabError("missing duration: use --days, --hours, --minutes or --seconds")
    order = FleetOptions(
        product, devices, parse_behaviour(behaviour, parameters), lasting, seed, prefix, accounts
    )
    counted = target is None and order.counted
    thresholds = [Threshold.of(each, counted) for each in fail_if]
    rate = None if arrivals is None else _rate(arrivals)
    order = replace(order, arrivals=rate, thresholds=thresholds, watch=watch, transport=transport or "tls")
    if target is None:
        if config is None:
            raise LabError("missing platform: use --config lab.yaml for a new lab, or --target")
        if identities != "opaque" or identity_length is not None:
            raise LabError("--identities: not with --config, whose products define the format")
        for name, given in {"--ca-file": ca_file, "--auth": auth}.items():
            if given is not None:
                raise LabError(f"{name}: not with --config")
        settings = load(config, assignments=assignments, faults=faults)
        known = [each.id for each in settings.products]
        known += [
            each.id for each in settings.solutions if each.path and not each.products
        ]  # by their folders
        if product not in known:
            raise UnknownError(
                f"--product: {config} has no {product!r}, there are: {', '.join(known) or 'none'}"
            )
        return run_in_lab(order, settings, 0.0 if speed is None else speed, workers)
    own = {
        "--config": config,
        "--set": assignments or None,
        "--fault": faults or None,
        "--speed": speed,
        "--workers": workers,
    }
    for name, value in own.items():
        if value is not None:
            raise LabError(f"{name}: not with --target, which has its own settings and clock")
    if transport is not None:
        raise LabError("--transport: not with --target, which is reached by HTTPS")
    if accounts:
        raise LabError("--accounts: not with --target, whose handlers are not accessible")
    named = _fresh_identities(order, identities, identity_length)
    return run_against_target(order, target, ca_file, auth or "token", named)


def parse_behaviour(name: str, parameters: Sequence[str]) -> Behaviour:
    """Return a behaviour with its parameters.

    name: of a built-in behaviour, or `module:Class`. parameters: texts `NAME=VALUE`. Raises LabError for wrong ones.
    """
    found = _class(name)
    declared = found.parameters()
    return found(**dict(_parameter(each, declared) for each in parameters))


def _class(name: str) -> type[Behaviour]:
    if ":" not in name:
        if name not in BEHAVIOURS:
            raise UnknownError(
                f"no behaviour {name!r}, there are: {', '.join(BEHAVIOURS)}; or use module:Class"
            )
        return BEHAVIOURS[name]
    module, _, attribute = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # finds modules in the current folder
    try:
        found = getattr(importlib.import_module(module.removesuffix(".py")), attribute)
    except Exception as error:  # noqa: BLE001  whatever somebody's module raises while it is imported
        raise LabError(f"--behaviour {name}: {error_text(error)}") from None
    if not (isinstance(found, type) and issubclass(found, Behaviour)):
        raise LabError(f"--behaviour {name}: expected a class of labkit.Behaviour, not {found!r}")
    return found


def run_in_lab(
    order: FleetOptions,
    settings: LabSettings,
    speed: float,
    workers: int | None,
    *,
    bar: bool | None = None,
) -> Outcome:
    """Run a fleet in a new lab.

    speed: seconds of lab time per real second, 0 for a virtual clock. bar: whether to show a progress bar; None: only
    in a terminal.
    """
    seed = fresh_seed() if order.seed is None else order.seed
    with Lab(seed, config=settings, speed=speed) as lab:
        product = lab.product(order.product)
        fleet = product.fleet(order.devices, order.behaviour, prefix=order.prefix or None)
        counted, interrupted = order.counted, False
        try:
            run = fleet.start(
                order.seconds,
                arrivals=order.arrivals,
                workers=workers,
                accounts=counted,
                transport=order.transport,
            )
            run.on_tick(lambda _: order.watch(run.ticks))
            run.wait(progress=bar)
        except KeyboardInterrupt:  # the run has ended cleanly
            if fleet.last is None:
                raise
            run, interrupted = fleet.last.stop(), True
        lasted = (run.ticks[-1].time - run.began) if run.ticks else 0.0
        return Outcome(
            order,
            fleet.seed,
            run.ticks,
            _failed(run.failed),
            run.latency,
            run.latency_from_sending,
            _timings(run.figures()),
            lasted,
            run.totals or {},
            interrupted,
        )


def run_against_target(
    order: FleetOptions,
    target: str,
    ca_file: Path | None,
    auth: str,
    identities: Sequence[str],
    *,
    bar: bool | None = None,
) -> Outcome:
    """Run a fleet against a platform elsewhere, in real time. Its devices provision themselves first."""
    there = remote_product(target, order.product, ca_file)
    seed = fresh_seed() if order.seed is None else order.seed
    members = [
        Member(number, name, order.behaviour, Credentials()) for number, name in enumerate(identities, 1)
    ]
    fleet_run: LocalFleetRun | None = None

    async def live() -> None:
        held = await provisioned(there, auth, members)
        address, domain = there.address, there.domain
        every = interval(order.seconds)
        plan = Plan(order.product, address, domain, auth, seed, tuple(held), every, arrivals=order.arrivals)
        await run_remote(plan, order.seconds, watch)

    def watch(begun: LocalFleetRun) -> None:
        nonlocal fleet_run
        fleet_run = begun
        begun.on_tick(lambda _: order.watch(begun.ticks))

    def look(progress: Progress) -> None:
        if fleet_run is not None:
            progress.done = round(fleet_run.clock.now() - fleet_run.began)
            progress.note = counted(fleet_run.requests, "request")

    with Progress("labkit fleet", order.seconds, "second", wanted=bar, look=look):
        interrupted = _interrupted(live, lambda: fleet_run)
    assert fleet_run is not None
    if there.resources is not None:
        for each in ignored_writes(fleet_run.written, order.product, there.resources):
            warn(each)
    total = fleet_run.total
    lasted = (fleet_run.ticks[-1].time - fleet_run.began) if fleet_run.ticks else 0.0
    return Outcome(
        order,
        seed,
        fleet_run.ticks,
        _failed(fleet_run.failures),
        total.latency,
        fleet_run.timings.latency,
        _timings(fleet_run.timings.figures(total.requests)),
        lasted,
        interrupted=interrupted,
    )


def _interrupted(live: Callable[[], Awaitable[None]], begun: Callable[[], LocalFleetRun | None]) -> bool:
    """Run devices on a separate thread, which no signal reaches. Return whether an interrupt ended the run early.

    Raises KeyboardInterrupt for an interrupt before the run has begun.
    """
    portal = Portal()
    task = portal.begin(live)
    try:
        task.wait()
    except KeyboardInterrupt:
        if (fleet_run := begun()) is None:
            raise
        portal.call(fleet_run.stop)
        task.wait()
        return True
    finally:
        task.cancel()  # no effect if it has ended
        portal.close()
    return False


def _fresh_identities(order: FleetOptions, format: Format, length: int | None = None) -> list[str]:
    """Return identities that no earlier run has used, unless the prefix determines them.

    Formats that have no room for a prefix start at a random number.
    """
    most = None if length is None else DIGITS.get(format, 0) ** length - 1
    if most is not None and most < order.devices:
        why = (
            f"{length} are too few for {order.devices} devices"
            if most > 0
            else f"{format} has one of its own"
        )
        raise LabError(f"--identity-length: {why}")
    first, prefix = 1, order.prefix
    if format != "opaque":
        seed = fresh_seed()
        first += seed % SPAN * SPAN if most is None else seed % (most - order.devices + 1)
    elif not prefix:
        prefix = f"{order.product[:1]}-{fresh_seed() % 16**6:06x}-"
    return [
        identity(number, format, prefix, length or 0, upper=False)
        for number in range(first, first + order.devices)
    ]


def _rate(text: str) -> Shape:
    try:
        return rate_of(text)
    except LabError as error:
        raise LabError(f"--arrivals: {error}") from None


def _parameter(text: str, declared: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the name and value of a parameter.

    The value is read as JSON. It stays a text if it is not JSON, or if the parameter is declared as a string.
    """
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals:
        raise LabError(f"--parameter: {text!r} is no parameter: expected name=value")
    try:
        read = json.loads(value)
    except ValueError:
        return name, value
    wanted = declared.get(name)
    kinds = set(get_args(wanted) or (wanted,))
    allowed = (str, NoneType) if NoneType in kinds else str
    return name, value if kinds - {NoneType} == {str} and not isinstance(read, allowed) else read


def _failed(failures: Iterable[Failure]) -> list[FailedDevice]:
    return [FailedDevice(each.time, each.identity, each.error) for each in failures]


def _timings(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: figures[name] for name in ("real", "cpu", "requests per second")}
