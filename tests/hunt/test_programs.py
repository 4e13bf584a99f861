"""Programs on lab time in stories: their faults, the promises about them, and hunts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labkit import Lab, LabError
from labkit.firmware.program import ProgramEndedError
from labkit.hunt import (
    Draw,
    Menu,
    Played,
    Promise,
    Story,
    hunt,
    keeps_polling,
    play,
    programs_run,
    recovers_within,
    replay,
    requests_bounded,
    story,
)
from labkit.hunt.plays.replaying import ReplayOutcome
from labkit.hunt.story import Act
from tests.firmware.programs import RESOURCES, compiled, device_in_c, python
from tests.hunt.hunted import whole
from tests.hunt.judged import Writes

DEVICE = {"program": "t-001"}
THERMOSTAT: dict[str, Any] = {"temperature": "number", "message": "string"}
POLL = "GET /onep:v1/stack/alias*"


def lives(lab: Lab, draw: Draw, *, minutes: float = 10) -> None:
    """Let a device live that keeps its credential in a file."""
    lab.product("thermostat", resources=THERMOSTAT)
    lab.firmware([*device_in_c(), "t-001", "100000"], identity="t-001")
    lab.wait(minutes=minutes)


def keeps_its_token(folder: Path, minutes: float = 10) -> Act:
    """Return a story of a device that keeps its credential in a file over restarts."""

    def act(lab: Lab, draw: Draw) -> None:
        (folder / "token").unlink(missing_ok=True)
        lab.product("thermostat", resources=THERMOSTAT)
        command = [*device_in_c(), "t-001", "100000", str(folder / "token")]
        lab.firmware(command, identity="t-001")
        lab.wait(minutes=minutes)

    return act


def runs(code: str, *, ends: bool = False, minutes: float = 1) -> Act:
    """Return a story of a program in Python."""

    def act(lab: Lab, draw: Draw) -> None:
        lab.firmware(python(code), identity="d", ends=ends)
        lab.wait(minutes=minutes)

    return act


def verdict(act: Act, promise: Promise, *faults: Any) -> Any:
    [found] = play(Story(act, {}, [promise]), 1, check=False, faults=faults).verdicts
    return found


def requests(played: Played) -> int:
    return played.journal.count('"summary": "POST /onep:v1/stack/alias"')


def test_each_fault_hits_once_repeats_and_ends(tmp_path: Path) -> None:
    told = Story(keeps_its_token(tmp_path), {})
    calm = requests(play(told, 1))
    for kind, settings, least in [
        ("program restart", {"down": 60}, calm - 2),
        ("program power cut", {"down": 60}, calm - 2),
    ]:
        fault = (kind, {**DEVICE, "after": 90, **settings})
        first, second = (play(told, 1, faults=[fault]) for _ in range(2))
        assert whole(first) == whole(second)
        assert first.hits == (1,)
        assert 0 < least <= requests(first) < calm + 2
        assert first.journal.count('"kind": "start"') == 2
    lost = play(told, 1, faults=[("program credential lost", {**DEVICE, "after": 90})])
    assert lost.hits == (1,)
    assert '"status": 401' in lost.journal
    assert '"status": 401' not in play(told, 1).journal


def test_the_name_of_no_program_is_told() -> None:
    for kind in ("program restart", "program power cut", "program credential lost"):
        played = play(Story(lives, {}), 1, check=False, faults=[(kind, {"program": "t-002", "after": 60})])
        assert played.hits == (0,)
        assert "no program 't-002'" in played.absent[0]
        with pytest.raises(LabError, match=r"t-002.*t-001"):
            play(Story(lives, {}), 1, faults=[(kind, {"program": "t-002", "after": 60})])


def test_wrong_settings_of_faults() -> None:
    told = Story(lives, {})
    with pytest.raises(LabError, match="no setting 'down', there are: program, after"):
        play(told, 1, faults=[("program credential lost", {**DEVICE, "down": 3})])
    with pytest.raises(LabError, match="down: expected seconds, 0 or more, not -1"):
        play(told, 1, faults=[("program restart", {**DEVICE, "down": -1})])
    with pytest.raises(LabError, match="program: expected the identity of a run"):
        play(told, 1, faults=[("program restart", {"after": 3})])


def test_a_program_that_has_ended_is_not_hit() -> None:
    told = Story(runs("print('done')", ends=True), {})
    assert play(told, 1, faults=[("program restart", {"program": "d", "after": 30})]).hits == (0,)


def test_a_program_that_never_runs_is_told() -> None:
    def act(lab: Lab, draw: Draw) -> None:
        lab.product("thermostat", resources=THERMOSTAT)
        lab.wait(60)

    told = Story(act, {}, [programs_run(), keeps_polling(60)])
    played = play(told, 1, check=False, faults=[("program restart", {**DEVICE, "after": 3})])
    assert (played.hits, "t-001" in played.absent[0]) == ((0,), True)
    assert [each.state for each in played.verdicts] == ["untested", "untested"]


def test_programs_run() -> None:
    crash = "import os, signal, time\ntime.sleep(5)\nos.kill(os.getpid(), signal.SIGSEGV)"
    found = verdict(runs(crash), programs_run())
    assert (found.state, "SIGSEGV" in found.reason) == ("broken", True)
    found = verdict(runs("import sys, time\ntime.sleep(5)\nsys.exit(3)"), programs_run())
    assert (found.state, "status 3" in found.reason) == ("broken", True)
    assert verdict(runs("print('done')", ends=True), programs_run()).state == "kept"
    assert verdict(lives, programs_run(), ("program restart", {**DEVICE, "after": 60})).state == "kept"
    assert verdict(lambda lab, draw: lab.wait(5), programs_run()).state == "untested"


def test_an_end_that_no_promise_is_about_is_an_error_of_the_story() -> None:
    played = play(Story(runs("import time\ntime.sleep(5)"), {}, [keeps_polling(60)]), 1, check=False)
    assert isinstance(played.error, ProgramEndedError)
    with pytest.raises(ProgramEndedError, match="ended with status 0"):
        play(Story(runs("import time\ntime.sleep(5)"), {}), 1)


def thermostat(program: Path, minutes: float = 20) -> Act:
    def act(lab: Lab, draw: Draw) -> None:
        product = lab.product("thermostat", resources=RESOURCES)
        url = {"PLATFORM_URL": product.url()}
        lab.firmware([program, "t-001"], identity="t-001", env=url)
        lab.wait(minutes=minutes)

    return act


def test_keeps_polling(tmp_path: Path) -> None:
    outage = ("request error", {"where": POLL, "status": 503, "after": 120, "seconds": 60})
    bad, mended = compiled(tmp_path).rename(tmp_path / "bad"), compiled(tmp_path, "-DMENDED")
    found = verdict(thermostat(bad), keeps_polling(300), outage)
    assert found.state == "broken"
    assert found.reason == "thermostat/t-001 has not polled setpoint within 300 s of the last fault"
    assert verdict(thermostat(bad), keeps_polling(300)).state == "kept"
    assert verdict(thermostat(mended), keeps_polling(300), outage).state == "kept"
    assert verdict(runs("import time\ntime.sleep(1000)"), keeps_polling(300)).state == "untested"


def test_a_program_recovers_or_does_not(tmp_path: Path) -> None:
    """One that forgets its token is refused for ever: the platform has given it one before."""
    restart = ("program restart", {**DEVICE, "after": 100, "down": 5})
    assert verdict(keeps_its_token(tmp_path), recovers_within(120), restart).state == "kept"
    found = verdict(lives, recovers_within(120), restart)
    assert found.state == "broken"
    assert found.reason.endswith("its last request was POST /provision/activate, 409")
    assert verdict(lives, recovers_within(120)).state == "untested"


def test_requests_of_programs_are_bounded() -> None:
    assert verdict(lives, requests_bounded(5)).state == "kept"
    found = verdict(lives, requests_bounded(2))
    assert (found.state, "thermostat/t-001 sent 3 requests within 60 s" in found.reason) == ("broken", True)


def test_a_fleet_beside_a_program() -> None:
    def act(lab: Lab, draw: Draw) -> str:
        product = lab.product("thermostat", resources=THERMOSTAT)
        run = product.fleet(3, Writes, prefix="f-").start(minutes=10)
        lab.firmware([*device_in_c(), "t-001", "100000"], identity="t-001")
        run.wait()
        return str(run.devices().to_csv())

    told = Story(act, {}, [recovers_within(200), programs_run()])
    fault = ("request error", {"where": "POST /*", "status": 503, "after": 100, "seconds": 60})
    first, second = (play(told, 2, faults=[fault]) for _ in range(2))
    assert whole(first) == whole(second)
    assert [each.state for each in first.verdicts] == ["kept", "kept"]
    assert "thermostat/f-" in first.journal


@story(promises=[recovers_within(120)])
def forgets(lab: Lab, draw: Draw) -> None:
    """A device that does not keep its token."""
    lives(lab, draw, minutes=10)


@pytest.mark.sampled
@pytest.mark.timeout(300)
def test_a_hunt_in_two_processes_cuts_down_writes_and_replays(tmp_path: Path) -> None:
    menu = Menu("rough", kinds="program restart")
    found = hunt(forgets, 20, workers=2, level=menu, progress=False)
    [failure] = found.failures.values()
    assert failure.title == "recovers_within 120 s"
    assert failure.smallest is not None
    [fault] = failure.smallest.played.faults
    assert (fault.kind, fault.settings["program"]) == ("program restart", "t-001")
    file = failure.save(tmp_path)
    space: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    outcome: ReplayOutcome = replay(space["PLAY"], beside=file, check=False)
    assert (outcome.state, outcome.is_exact) == ("broken", True)
