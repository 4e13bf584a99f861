"""A plain `pip install labkit`: features that work, and one-line errors of the others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.cli import JUPYTER

ROOT = Path(__file__).parent.parent
LAB = "products:\n  - {id: thermostat, resources: {count: number}}\n"
STORY = """
from labkit import Behaviour, Lab, LabError
from labkit.fleet.behaviours import Counter, Thermostat

class Failing(Behaviour):
    async def run(self, device):
        await device.activate()
        await device.write(temperature=1)
        raise ValueError("broken")

def refused(function):
    try:
        function()
    except LabError as error:
        print(error)
    else:
        print("worked")

with Lab(seed=7) as lab:
    thermostat = lab.product("thermostat", resources={"temperature": "number", "count": "number"})
    acme = lab.solution("acme", products=[thermostat])
    acme.on("device", "datapoint", lua="print(datapoint.value)")
    device = thermostat.device("t-100").activate()
    device.write(temperature=21.5)
    assert device.read("temperature") == {"temperature": "21.5"}
    lab.settle()
    assert len(lab.journal) == len(list(lab.journal)) > 0
    repr(lab), repr(thermostat), repr(acme), lab._repr_html_()
    fleet = thermostat.fleet(3, Counter())
    run = fleet.start(hours=1, accounts=True).wait(progress=True)
    assert run.latency.count > 0 and run.ticks and not run.failed, run
    assert run.figures()["requests per second"] > 0
    assert "3 devices" in run.summary and run._repr_html_()
    assert run.totals["lost"] == 0
    failing = thermostat.fleet(1, Failing, prefix="f-").run(minutes=1)
    assert [(each.identity, each.error) for each in failing.failed] == [("f-001", "ValueError: broken")]
    for function in (
        lambda: lab.sql("select 1"), lab.journal.frame, lambda: lab.journal.trace(1), lambda: acme.logs,
        lab.faults.frame, thermostat.devices, thermostat.content.frame,
        run.frame, run.timings, run.devices, lambda: failing.failures, lambda: run.losses,
        lambda: thermostat.fleet(1, Thermostat(), prefix="r-").run(minutes=1, requests=True).requests(),
        fleet.faults.frame, lab.handsets.frame,
    ):
        refused(function)
    print("---")
    refused(lab.dashboard)
    refused(fleet.dashboard)
    refused(lambda: fleet.start(minutes=1, workers=2))
"""


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.base_install", code],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def labkit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "lab.yaml").write_text(LAB)
    return run(f"from labkit.cli import main; main({list(arguments)!r})", folder)


def test_labs_and_fleets_work_and_tables_are_refused_in_one_line(tmp_path: Path) -> None:
    ended = run(STORY, tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")  # without a progress bar, too
    tables, _, others = ended.stdout.partition("---\n")
    assert tables == "pandas is not installed: pip install 'labkit[tables]'\n" * 15
    *dashboards, workers = others.splitlines()
    assert dashboards == ["matplotlib is not installed: pip install 'labkit[lab]'"] * 2
    assert workers == "fleets over several processes take distributed, cloudpickle: pip install 'labkit[lab]'"


def test_a_fleet_at_a_terminal_prints_its_result(tmp_path: Path) -> None:
    ended = labkit(
        tmp_path,
        *("fleet", "--config", "lab.yaml", "--product", "thermostat", "--hours", "1"),
        *("--behaviour", "counter", "--json"),
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    result = json.loads(ended.stdout)
    assert result["requests"] > 0
    assert (result["failed"], result["accounts"]["lost"]) == ([], 0)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("fleet --csv x.csv", "--csv takes pandas: pip install 'labkit[tables]'"),
        ("fleet --parquet x.parquet", "--parquet takes pandas, pyarrow: pip install 'labkit[parquet]'"),
        ("fleet --behaviour replay -p table=x.csv", "pandas is not installed: pip install 'labkit[tables]'"),
        ("bench write", "measures take psutil: pip install 'labkit[bench]'"),
        ("bench growth --chart x.png", "--chart takes matplotlib: pip install 'labkit[lab]'"),
        (
            "report",
            f"report runs notebooks, which takes {', '.join(JUPYTER)}: pip install 'labkit[lab]'",
        ),
    ],
)
def test_a_command_names_missing_libraries_in_one_line(tmp_path: Path, arguments: str, line: str) -> None:
    more = "--config lab.yaml --product thermostat --hours 1" if arguments.startswith("fleet") else ""
    ended = labkit(tmp_path, *arguments.split(), *more.split())
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", f"labkit: {line}\n")
