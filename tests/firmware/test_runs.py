"""Programs on lab time: what they see and say, and how they begin and end."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab, LabError
from labkit.core.errors import TakenError
from labkit.lab.product import Product
from tests.firmware.programs import PYTHON, device_in_c, python

SLEEPER = "import time\nwhile True:\n  print(int(time.time() - {start}))\n  time.sleep(10)"
START = 1_767_225_600


def sleeper() -> list[str]:
    return python(SLEEPER.format(start=START))


@pytest.mark.parametrize("language", ["c", "python"])
def test_a_device_lives_on_lab_time(lab: Lab, thermostat: Product, language: str) -> None:
    command = device_in_c() if language == "c" else PYTHON
    run = lab.firmware([*command, "t-001", "100000"], identity="t-001")
    lab.clock.advance(300)
    assert [each.text for each in run.output] == ["active"]
    values = lab.sql("select value from datapoint where alias = 'temperature' order by timestamp")
    assert len(values) == 6
    assert run.ended is None
    assert lab.clock.time == START + 300


def test_output_has_lab_times_and_odd_bytes(lab: Lab) -> None:
    run = lab.firmware(
        python(
            "import os, time\n"
            "os.write(1, b'caf\\xc3\\xa9\\r\\n\\xff\\n')\n"
            "time.sleep(2.5)\n"
            "os.write(2, b'x' * 20000 + b'\\nlast')\n"
        ),
        ends=True,
    )
    assert [each.text for each in run.output] == ["café", r"\xff"]
    lab.clock.advance(3)
    times = [each.time - START for each in run.output]
    assert times == [0, 0, 2.5, 2.5, 2.5, 2.5]
    assert [len(each.text) for each in run.output[2:]] == [8192, 8192, 20000 - 16384, 4]
    assert run.output[-1].text == "last"
    assert str(run.output[-1]) == "2026-01-01 00:00:02  last"
    assert run.ended is not None
    assert (run.ended.status, run.ended.signal, run.ended.time - START) == (0, None, 2.5)
    assert str(run.ended) == "ended with status 0 at 2026-01-01 00:00:02"


def test_the_journal_has_starts_ends_and_lines_without_what_differs_between_machines(lab: Lab) -> None:
    run = lab.firmware(sleeper(), identity="d")
    lab.clock.advance(15)
    run.kill()
    records = lab.journal.select(actor="firmware/d")
    assert [(each.kind, each.summary) for each in records] == [
        ("start", "python started"),
        ("output", "0"),
        ("output", "10"),
        ("end", "python was killed"),
    ]
    assert "time.sleep" not in lab.journal.canonical()


def test_kill_and_restart(lab: Lab) -> None:
    run = lab.firmware(sleeper())
    lab.clock.advance(15)
    run.restart(down=7)
    assert str(run.ended) == "was ended for a restart at 2026-01-01 00:00:15"
    lab.clock.advance(20)
    assert [int(each.text) for each in run.output] == [0, 10, 22, 32]
    assert str(run.ended) == "None"
    run.restart()
    assert [int(each.text) for each in run.output][-1] == 35
    run.kill()
    ends = lab.journal.select("end")
    assert [each.summary for each in ends] == ["python was ended for a restart"] * 2 + ["python was killed"]
    assert [(each.detail or {})["by"] for each in ends] == ["restart", "restart", "kill"]
    run.stop()
    lab.clock.advance(100)
    assert len(run.output) == 5
    with pytest.raises(LabError, match="this run was stopped"):
        run.restart()


def test_a_power_cut_is_silence(lab: Lab, thermostat: Product) -> None:
    """The platform holds the poll of a device without power, and takes that of one that was killed for ended."""
    polls = []
    for act in ("power_cut", "kill"):
        run = lab.firmware([*device_in_c(), f"t-{act}", "100000"], identity=f"t-{act}")
        lab.clock.advance(10)
        assert len(lab.journal.select(actor=f"thermostat/t-{act}")) > 0
        getattr(run, act)()
        polls.append(len(lab._runtime.control._platform.context.holding))  # type: ignore[attr-defined]
        lab.clock.advance(60)
        run.stop()
        lab.clock.advance(60)
    assert polls == [1, 0]


def test_twenty_programs(lab: Lab, thermostat: Product) -> None:
    runs = [
        lab.firmware([*device_in_c(), f"t-{number}", "100000"], identity=f"t-{number}")
        for number in range(20)
    ]
    lab.clock.advance(150)
    counts = lab.sql("select identity, count(*) as n from datapoint group by identity")
    assert sorted(counts.n) == [3] * 20
    assert all(each.ended is None for each in runs)


def test_a_program_beside_a_fleet(lab: Lab, thermostat: Product) -> None:
    from labkit.fleet.behaviours import Thermostat

    run = lab.firmware(sleeper())
    thermostat.fleet(3, Thermostat()).run(minutes=2)
    assert [int(each.text) for each in run.output] == [*range(0, 130, 10)]


def test_a_program_in_a_story(lab: Lab, thermostat: Product, tmp_path: Path) -> None:
    with lab.story():
        lab.wait(seconds=5)
        run = lab.firmware([*device_in_c(), "t-001", "100000", str(tmp_path / "credentials")])
        lab.wait(seconds=20)
        lab.at(10, lambda: run.restart(down=5))
        lab.wait(seconds=60)
    assert [each.text for each in run.output] == ["active", "active"]
    assert lab.clock.time == START + 85


# --- refusals -------------------------------------------------------------------------------------------------


def test_acts_that_cannot_be_while_a_program_runs(lab: Lab) -> None:
    run = lab.firmware(sleeper(), identity="d")
    for act in (lab.reset, lab.snapshot, lab.clock.run, lambda: lab.fork(lambda lab, value: None, over=[1])):
        with pytest.raises(TakenError, match="the program of firmware 'd' is running: stop"):
            act()
    with pytest.raises(TakenError, match="'d' is running already"):
        lab.firmware(sleeper(), identity="d")
    run.stop()
    lab.reset()
    lab.snapshot()


def test_a_running_clock_is_refused() -> None:
    with Lab() as lab, pytest.raises(LabError, match="firmware: needs a virtual clock"):
        lab.firmware(sleeper())


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("./client", "expected a program and its arguments"),
        ([], "expected a program and its arguments"),
        (["./nothing"], "there is no file"),
        (["no-such-program"], "no program 'no-such-program' on the PATH"),
        (["python3", 7], "expected texts as arguments"),
        (["/etc/passwd"], "is no program"),
    ],
)
def test_commands_that_cannot_work(lab: Lab, command: list[str], text: str) -> None:
    with pytest.raises(LabError, match=text):
        lab.firmware(command)
    lab.reset()


@pytest.mark.parametrize("identity", ["", "a\nb", "a\x00", "tab\t", "x" * 257, 7])
def test_identities_that_are_no_names(lab: Lab, identity: str) -> None:
    with pytest.raises(
        LabError, match="identity: expected a name of 1 to 256 characters without line breaks, not"
    ):
        lab.firmware(sleeper(), identity=identity)
    assert lab.firmware.runs == {}


@pytest.mark.parametrize("identity", ["x" * 256, "caf\u00e9 {7} 'é/..", "\U0001f321"])
def test_identities_with_odd_characters(lab: Lab, identity: str) -> None:
    assert lab.firmware(sleeper(), identity=identity).identity == identity
    assert lab.journal.select("start")[0].actor == f"firmware/{identity}"


def test_a_program_in_a_fresh_folder(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is empty at the start, stays over a restart, and is another one for each run."""
    monkeypatch.chdir(tmp_path)
    Path("state.py").write_text("import os, time\nprint(os.listdir())\nopen('state', 'w')\ntime.sleep(1e6)\n")
    runs = [lab.firmware([*PYTHON[:1], "state.py"], identity=each, fresh=True) for each in ("a", "b")]
    runs[0].restart()
    assert [each.text for each in runs[0].output] == ["[]", "['state']"]
    assert [each.text for each in runs[1].output] == ["[]"]
    assert [each.name for each in runs[0].cwd.iterdir()] == ["state"]
    assert runs[0].cwd != runs[1].cwd
    runs[0].stop()
    assert not runs[0].cwd.exists()
    assert [each.name for each in tmp_path.iterdir()] == ["state.py"]
    assert lab.firmware(sleeper(), cwd=tmp_path).cwd == tmp_path


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"cwd": ".", "fresh": True}, "cwd: goes without fresh=True"),
        ({"fresh": "yes"}, "fresh: expected True or False, not 'yes'"),
        ({"cwd": 7}, "cwd: expected the path of a folder, not 7"),
        ({"cwd": "nowhere"}, "cwd: there is no folder '/.*/nowhere'"),
    ],
)
def test_folders_that_are_none(lab: Lab, options: dict[str, Any], text: str) -> None:
    with pytest.raises(LabError, match=text):
        lab.firmware(sleeper(), **options)


def test_close_ends_the_program(tmp_path: Path) -> None:
    with Lab(seed=7) as lab:
        run = lab.firmware(python("import time\ntime.sleep(1000)"))
        pid = run.pid
        folder = run._run._folder
        assert Path(f"/proc/{pid}").exists()
        assert folder.exists()
    assert not Path(f"/proc/{pid}").exists()
    assert not folder.exists()


@pytest.mark.timeout(120)
def test_a_program_ends_with_a_lab_that_is_killed() -> None:
    loop = "import time\nwhile True: time.sleep(100)"
    code = f"""
from labkit import Lab
with Lab(seed=7) as lab:
    run = lab.firmware({python(loop)!r})
    print(run.pid, flush=True)
    input()
"""
    holder = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        ended = os.pidfd_open(int(holder.stdout.readline()))
        holder.kill()
        assert select.select([ended], [], [], 30)[0], "it lives on"
    os.close(ended)
