"""Plays of a story with one promise, for tests of promises."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.hunt import Draw, DrawnFault, Played, Promise, Story, Verdict
from labkit.hunt.plays.future import PlayPlan
from labkit.hunt.plays.player import play_seed
from labkit.hunt.story import Act
from labkit.lab.product import Product
from labkit.lab.solution import Solution

ALIAS = "POST /onep:v1/stack/alias"
RESOURCES: dict[str, Any] = {"temperature": "number", "target": {"format": "number", "settable": True}}


@dataclass(frozen=True)
class Given:
    """Faults of a play that are given, not drawn."""

    given: tuple[DrawnFault, ...]

    def faults(self, draw: Draw, promises: tuple[Promise, ...]) -> tuple[DrawnFault, ...]:
        return self.given


def played(act: Act, promises: Iterable[Promise], *faults: DrawnFault, seed: int = 1, **lab: Any) -> Played:
    plan = PlayPlan(Story(act, lab, promises), {}, Given(faults))  # type: ignore[arg-type]
    found = play_seed(plan, seed)
    assert found is not None
    if found.error is not None:
        raise found.error
    return found


def judged(act: Act, promise: Promise, *faults: DrawnFault, seed: int = 1, **lab: Any) -> Verdict:
    """Return the verdict of a play. lab: settings of its lab."""
    [verdict] = played(act, [promise], *faults, seed=seed, **lab).verdicts
    return verdict


class Writes(Behaviour):
    """Behaviour that writes every minute; a pause follows each error."""

    pause = 60.0

    async def run(self, device: FleetDevice) -> None:
        while True:
            try:
                await device.write(temperature=21)
                await device.sleep(60)
            except EXCHANGE_ERRORS:
                await device.sleep(self.pause)


class Polls(Behaviour):
    """Behaviour that polls for its target, in a session of `lasts` polls, then sleeps for `sleeps` seconds."""

    lasts = 1_000_000
    sleeps = 1.0

    async def run(self, device: FleetDevice) -> None:
        polls = 0
        while True:
            try:
                async for _ in device.poll("target"):
                    polls += 1
                    if polls % self.lasts == 0:
                        await device.sleep(self.sleeps)
            except EXCHANGE_ERRORS:
                await device.sleep(self.sleeps)


def home(lab: Lab, name: str = "thermostat") -> tuple[Product, Solution]:
    """Add a product, and a solution `name-app` that counts its datapoints."""
    product = lab.product(name, resources=RESOURCES)
    app = lab.solution(f"{name}-app", products=[product])
    app.on("device", "datapoint", count)
    return product, app


def count(services: Any) -> None:
    services.Keystore.command(key="n", command="incr")


def handled(function: Callable[..., object], *faults: dict[str, Any]) -> Act:
    """Return a story in which two devices write for five minutes, and a function handles their datapoints."""

    def act(lab: Lab, draw: Draw) -> None:
        product, app = home(lab)
        app.on("device", "datapoint", function, replace=True)
        for each in faults:
            lab.faults.add(**each)
        product.fleet(2, Writes).run(minutes=5)

    return act


def fine(services: Any) -> None:
    services.Keystore.command(key="n", command="incr")


def minds(services: Any) -> None:
    """Count, and fail where the service refuses."""
    found = services.Keystore.command(key="n", command="incr")
    assert "error" not in found, found


def fails_at_times(data: Any) -> None:
    if data["seq"] == 3:
        raise ValueError("ünfit")
