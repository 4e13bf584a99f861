"""A lab whose process is killed: whatever was acknowledged of timers, series and devices is in its data file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from labkit import Lab, Solution
from tests.forked_starts import python
from tests.rig import written
from tests.sizes import size

FILES = {
    "services/device2.yaml": "resources: {level: {format: number}, target: {format: number, settable: true}}\n",
    "services/tsdb.yaml": "default_retention: 2d\nmetrics_retention: {b: 1d, c: infinity}\n",
    "services/timer.yaml": "schedule: {hourly: true, daily: true}\n",
}
FEW, SEVERAL = ["a", "b", "c"], ["a", "b", "c", "d", "e", "f"]


def opened(folder: Path, data: Path | None) -> tuple[Lab, Solution]:
    lab = Lab(seed=7, data=data and str(data))
    return lab, lab.solution("acme", path=folder)


def steps(seed: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield calls of operations without end; `clock` advances the clock."""
    pick = Random(seed)
    number = 0
    while True:
        number += 1
        one = {"identity": pick.choice(SEVERAL)}
        timer = {"timer_id": pick.choice(FEW), "message": {"number": number}}
        tag = {"name": pick.choice(FEW), "value": pick.choice(FEW)}
        point = {"metrics": {pick.choice(FEW): number}, "tags": {"of": pick.choice(FEW)}}
        alias = {"alias": pick.choice([*FEW, "level"])}
        calls: list[tuple[str, str, dict[str, Any]]] = [
            ("Timer", "sendAfter", {**timer, "duration": pick.randrange(10_000_000)}),
            ("Timer", "sendInterval", {**timer, "duration": pick.randrange(600_000, 10_000_000)}),
            ("Timer", "schedule", {**timer, "schedule": {pick.choice(["hourly", "weekly"]): True}}),
            ("Timer", "cancel", {"timer_id": timer["timer_id"]}),
            ("Timer", pick.choice(["cancelAll", *["list"] * 4]), {}),
            *[("Tsdb", "write", point)] * 4,
            ("Tsdb", "multiWrite", {"datapoints": [point, {**point, "metrics": {"c": number}}]}),
            ("Tsdb", pick.choice(["deleteAll", *["listMetrics"] * 9]), {}),
            ("Device2", "addIdentity", one),
            ("Device2", "addIdentities", {"identities": SEVERAL[: pick.randrange(1, 7)]}),
            ("Device2", "updateIdentity", {**one, "locked": pick.random() < 0.5}),
            ("Device2", "removeIdentity", one),
            ("Device2", "removeIdentities", {"identities": FEW}),
            ("Device2", "addIdentityTag", {**one, "tags": [tag], "replace": pick.random() < 0.5}),
            ("Device2", "removeIdentityTag", {**one, "tags": [tag]}),
            ("Device2", "setIdentityState", {**one, "target": number}),
            ("Device2", "addGatewayResource", {**alias, "format": "number"}),
            ("Device2", "updateGatewayResource", {**alias, "unit": str(number)}),
            ("Device2", "removeGatewayResource", alias),
            ("Device2", "updateGatewaySettings", {"provisioning": {"enabled": pick.random() < 0.5}}),
            *[("clock", "advance", {"minutes": pick.randrange(1, 200)})] * 3,
        ]
        yield pick.choice(calls)


def play(lab: Lab, acme: Solution, step: tuple[str, str, dict[str, Any]]) -> None:
    service, operation, arguments = step
    if service == "clock":
        lab.clock.advance(**arguments)
    else:
        dict(acme.call(service, operation, arguments))
    lab.settle()


def seen(lab: Lab, acme: Solution, until: datetime) -> dict[str, Any]:
    """Return what scripts see at a time."""
    lab.clock.advance_to(until)
    return {
        "timers": acme.Timer.list()["timers"],
        "series": acme.Tsdb.query(metrics=FEW, epoch="u", mode="split", start_time=0),
        "tags": acme.Tsdb.listTags(),
        "devices": acme.Device2.listIdentities()["devices"],
        "resources": acme.Device2.getGatewayResourceList(),
        "settings": acme.Device2.getGatewaySettings(),
    }


def act(folder: str, data: str, seed: int) -> None:
    """Print a line after each step that has been acknowledged, until the process is killed."""
    lab, acme = opened(Path(folder), Path(data))
    for step in steps(seed):
        play(lab, acme, step)
        sys.stdout.write("done\n")
        sys.stdout.flush()


@pytest.mark.parametrize("seed", range(size(2, 30)))
def test_acknowledged_calls_survive_kill_9(tmp_path: Path, seed: int) -> None:
    """The call that was not acknowledged is there as a whole or not at all."""
    folder, data = written(tmp_path / "acme", FILES), tmp_path / "lab.db"
    with python("-c", f"from {__name__} import act; act({str(folder)!r}, {str(data)!r}, {seed})") as process:
        lines = [process.stdout.readline() for _ in range(Random(seed).randrange(10, 80))]
        assert all(lines), process.stderr.read()
        process.kill()
        count = len(lines + process.stdout.readlines())
    expected: list[dict[str, Any]] = []
    until = datetime.min.replace(tzinfo=UTC)
    for played in (count + 1, count):
        lab, acme = opened(folder, None)
        with lab:
            for step in islice(steps(seed), played):
                play(lab, acme, step)
            until = max(until, lab.clock.now + timedelta(hours=1))
            expected.append(seen(lab, acme, until))
    lab, acme = opened(folder, data)
    with lab:
        assert seen(lab, acme, until) in expected
