"""The promise: two runs with one seed give the same canonical journal, byte for byte, under faults."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab
from labkit.fleet.behaviours import Thermostat
from tests.firmware import programs
from tests.firmware.programs import PYTHON, device_in_c, example
from tests.sizes import size

ALIAS = "/onep:v1/stack/alias"
RESOURCES: dict[str, str | Mapping[str, Any]] = {
    "temperature": "number",
    "message": {"format": "string", "settable": True},
}
PAIRS = [(60, pair) for pair in range(size(1, 3))]  # seconds of three requests, and the seed
SLOW_PAIRS = [(600, pair) for pair in range(size(0, 30))]
HOURS = size(1, 7 * 24)
PRINTS_PID = 'echo $$; exec "$0" "$@"'
STEPS = size(4, 12)
NODE_MINUTES = size(6, 24 * 60)


def add_faults(lab: Lab, chance: float) -> None:
    write, poll = f"POST {ALIAS}", f"GET {ALIAS}?*"
    lab.faults.add(write, name="busy", status=503, chance=chance)
    lab.faults.add(write, name="cut before", cut="before", chance=chance)
    lab.faults.add(write, name="cut after", cut="after", chance=chance)
    lab.faults.add(write, name="slow", delay=30, when="after", chance=chance)
    lab.faults.add(poll, name="cut inside", cut="inside", chance=chance)


def life(commands: list[list[str]], hours: float, folder: Path, *, period: int = 60) -> Callable[[Lab], None]:
    """Return a story: some hours of programs under drawn faults, with messages, restarts and power cuts."""

    def story(lab: Lab) -> None:
        thermostat = lab.product("thermostat", resources=RESOURCES)
        app = lab.solution("app", products=[thermostat])
        add_faults(lab, 0.1 if hours < 24 else 0.02)
        runs = []
        for number, command in enumerate(commands):
            identity = f"t-{number:03}"
            credentials = folder / identity
            credentials.unlink(missing_ok=True)
            words = [*command, identity, "10000000", str(credentials), str(period)]
            runs.append(lab.firmware(words, identity=identity))

        def message() -> None:
            app.Device2.setIdentityState(pid="thermostat", identity="t-000", message="ü=&")

        acts: list[Callable[[], None]] = [
            message,
            lambda: lab.restart(down=45),
            lambda: runs[0].restart(down=20),
            lambda: runs[0].power_cut(down=30),
        ]
        for step in range(STEPS):
            lab.clock.advance(hours=hours / (STEPS + 1))
            acts[step % len(acts)]()
        lab.clock.advance(hours=hours / (STEPS + 1))
        assert sum(len(each.output) for each in runs) > len(runs)

    return story


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep the machine busy with this number of processes beside."""
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in beside:
            each.kill()
            each.wait()


@pytest.mark.sampled
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("period", "pair"), SLOW_PAIRS + PAIRS)
@pytest.mark.parametrize("language", ["c", "python"])
def test_two_runs_are_equal(
    language: str,
    period: int,
    pair: int,
    tmp_path: Path,
    lab: Lab,
    record_property: Callable[[str, object], None],
) -> None:
    """Every second pair beside two processes that compute."""
    command = ["sh", "-c", PRINTS_PID, *(device_in_c() if language == "c" else PYTHON)]
    story = life([command], HOURS, tmp_path, period=period)
    with busy(pair % 2 * 2):
        found = lab.firmware.twice(story, seed=pair, journal={"records": 1_000_000})
    requests = sum("/onep:v1/stack/alias" in each for each in found.a.lines)
    record_property("records", len(found.a.lines))
    record_property("requests", requests)
    assert found.line is None, str(found)
    assert requests > 0.9 * 3 * HOURS * 3600 / period


@pytest.mark.sampled
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
@pytest.mark.parametrize("seed", range(size(1, 3)))
def test_two_runs_of_node_are_equal(seed: int, tmp_path: Path, lab: Lab) -> None:
    """Not promised to the byte, since it has threads; requests, answers and times are."""

    def story(lab: Lab) -> None:
        thermostat = lab.product("thermostat", resources=programs.RESOURCES)
        app = lab.solution("app", products=[thermostat])
        add_faults(lab, 0.05)
        environment = {"PLATFORM_URL": f"https://{thermostat.domain}"}
        lab.firmware([*example("node", tmp_path), "t-000"], identity="t-000", env=environment)
        lab.clock.advance(minutes=NODE_MINUTES / 2)
        app.Device2.setIdentityState(pid="thermostat", identity="t-000", setpoint=23)
        lab.clock.advance(minutes=NODE_MINUTES / 2)

    found = lab.firmware.twice(story, seed=seed)
    first, second = (
        [
            (each["time"], each["summary"], each["status"])
            for each in map(json.loads, lines)
            if each["kind"] == "request"
        ]
        for lines in (found.a.lines, found.b.lines)
    )
    assert first == second
    assert len(first) > 2 * NODE_MINUTES


@pytest.mark.sampled
def test_two_runs_of_several_programs_are_equal(tmp_path: Path, lab: Lab) -> None:
    commands = [device_in_c(), PYTHON, device_in_c()]
    found = lab.firmware.twice(life(commands, 0.5, tmp_path), seed=3)
    assert found.line is None, str(found)
    assert len(found.a.lines) > 300


def told(folder: Path) -> str:
    """Return the canonical journal of a story with a fleet, two programs and a restart."""
    with Lab(seed=5) as lab:
        thermostat = lab.product("thermostat", resources={"temperature": "number", "message": "string"})
        for path in folder.iterdir():
            path.unlink()
        with lab.story():
            fleet = thermostat.fleet(5, Thermostat(every=20)).start(minutes=8)
            programs = [
                lab.firmware(
                    [*command, f"p-{number}", "10000000", folder / f"{number}"], identity=f"p-{number}"
                )
                for number, command in enumerate((device_in_c(), PYTHON))
            ]
            lab.at(100, lambda: lab.restart(down=30))
            lab.at(150, lambda: programs[0].power_cut(down=60))
            lab.wait(minutes=5)
            fleet.wait()
        assert len(lab.journal.select(actor="thermostat/p-0")) > 10
        return lab.journal.canonical()


@pytest.mark.sampled
def test_a_story_with_a_fleet_repeats(tmp_path: Path) -> None:
    assert told(tmp_path) == told(tmp_path)
