"""The promise: two runs with one seed give the same canonical journal, byte for byte, under faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit import Lab
from labkit.fleet.behaviours import Thermostat
from tests.firmware.programs import PYTHON, device_in_c
from tests.sizes import size

WRITE, POLL = "POST /onep:v1/stack/alias", "GET /onep:v1/stack/alias?*"
PAIRS = size(1, 30)
HOURS = size(1, 7 * 24)


def played(commands: list[list[str]], seed: int, hours: float, folder: Path) -> str:
    """Return the canonical journal of some hours of programs under drawn faults and a restart of the platform."""
    with Lab(seed=seed, journal={"records": 1_000_000}) as lab:
        lab.product("thermostat", resources={"temperature": "number", "message": "string"})
        chance = 0.1 if hours < 24 else 0.01
        lab.faults.add(WRITE, name="busy", status=503, chance=chance)
        lab.faults.add(WRITE, name="cut before", cut="before", chance=chance)
        lab.faults.add(WRITE, name="cut after", cut="after", chance=chance)
        lab.faults.add(WRITE, name="slow", delay=30, when="after", chance=chance)
        lab.faults.add(POLL, name="cut inside", cut="inside", chance=chance)
        runs = []
        for number, command in enumerate(commands):
            identity = f"t-{number:03}"
            credentials = folder / f"{seed}-{identity}"
            credentials.unlink(missing_ok=True)
            runs.append(lab.firmware([*command, identity, "10000000", credentials], identity=identity))
        lab.clock.advance(hours=hours / 3)
        lab.restart(down=45)
        lab.clock.advance(hours=hours / 3)
        runs[0].restart(down=20)
        lab.clock.advance(hours=hours / 3)
        assert sum(len(each.output) for each in runs) > len(runs)
        return lab.journal.canonical()


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("pair", range(PAIRS))
@pytest.mark.parametrize("language", ["c", "python"])
def test_two_runs_are_equal(language: str, pair: int, tmp_path: Path) -> None:
    command = device_in_c() if language == "c" else PYTHON
    first, second = (played([command], pair, HOURS, tmp_path) for _ in range(2))
    assert first == second
    assert first.count("POST /onep:v1/stack/alias") > 30 * HOURS


def test_two_runs_of_several_programs_are_equal(tmp_path: Path) -> None:
    commands = [device_in_c(), PYTHON, device_in_c()]
    first, second = (played(commands, 3, 0.5, tmp_path) for _ in range(2))
    assert first == second


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


def test_a_story_with_a_fleet_repeats(tmp_path: Path) -> None:
    assert told(tmp_path) == told(tmp_path)


def test_seeds_differ(tmp_path: Path) -> None:
    first, second = (played([PYTHON], seed, 0.2, tmp_path) for seed in (1, 2))
    assert first != second
