"""A plain `pip install labkit`: features that work, and one-line errors of the others."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from labkit.cli import JUPYTER
from labkit.conformance.fork_server import AVAILABLE, ForkServer, start
from tests import base_install

pytestmark = [
    pytest.mark.skipif(not AVAILABLE, reason="the system has no fork"),
    pytest.mark.xdist_group("base install"),  # one process that the others are forked from
]
ROOT = Path(__file__).parent.parent
LAB = "products:\n  - {id: thermostat, resources: {count: number}}\n"
STORY = """
from contextlib import redirect_stderr
from io import StringIO

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
    with redirect_stderr(StringIO()):  # it draws if the machine takes half a second
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


Run = Callable[[str], subprocess.CompletedProcess[str]]
Labkit = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    """Fork server without the libraries that a plain installation lacks."""
    with ForkServer(base_install.__name__) as server:
        assert server.wait()
        yield server


@pytest.fixture
def run(server: ForkServer, tmp_path: Path) -> Run:
    """Function that runs code in a process of its own, in an empty folder."""

    def run(code: str) -> subprocess.CompletedProcess[str]:
        environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        printed = [tmp_path / "out", tmp_path / "err"]
        with ExitStack() as files:
            opened = [files.enter_context(each.open("w")) for each in printed]
            nothing = files.enter_context(Path(os.devnull).open())
            process = start(
                *(server.address, f"{base_install.__name__}:{base_install.execute.__name__}", code),
                [each.fileno() for each in (nothing, *opened)],
                environment=environment,
                folder=str(tmp_path),
                at_exit=True,
            )
        return subprocess.CompletedProcess(code, process.wait(), *(each.read_text() for each in printed))

    return run


@pytest.fixture
def labkit(run: Run, tmp_path: Path) -> Labkit:
    """Function that runs a command of `labkit`."""
    (tmp_path / "lab.yaml").write_text(LAB)
    return lambda *arguments: run(f"from labkit.cli import main; main({list(arguments)!r})")


def test_labs_and_fleets_work_and_tables_are_refused_in_one_line(run: Run) -> None:
    ended = run(STORY)
    assert (ended.returncode, ended.stderr) == (0, "")
    tables, _, others = ended.stdout.partition("---\n")
    assert tables == "pandas is not installed: pip install 'labkit[tables]'\n" * 15
    *dashboards, workers = others.splitlines()
    assert dashboards == ["matplotlib is not installed: pip install 'labkit[lab]'"] * 2
    assert workers == "fleets over several processes take distributed, cloudpickle: pip install 'labkit[lab]'"


def test_a_fleet_at_a_terminal_prints_its_result(labkit: Labkit) -> None:
    ended = labkit(
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
        ("serve --config lab.yaml --reload", "--reload takes watchfiles: pip install 'labkit[reload]'"),
        ("bench write", "measures take psutil: pip install 'labkit[bench]'"),
        ("bench growth --chart x.png", "--chart takes matplotlib: pip install 'labkit[lab]'"),
        (
            "report",
            f"report runs notebooks, which takes {', '.join(JUPYTER)}: pip install 'labkit[lab]'",
        ),
    ],
)
def test_a_command_names_missing_libraries_in_one_line(labkit: Labkit, arguments: str, line: str) -> None:
    more = "--config lab.yaml --product thermostat --hours 1" if arguments.startswith("fleet") else ""
    ended = labkit(*arguments.split(), *more.split())
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", f"labkit: {line}\n")
