"""SIGINT and SIGTERM end each command cleanly, also if the process inherited SIGINT as ignored."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from labkit import Lab
from labkit.core.interrupts import interruptible
from tests.fleet.lives import Announces
from tests.forked_starts import Forked, python
from tests.guard import PATIENCE

pytestmark = pytest.mark.xdist_group("served")
SIGNALS = [signal.SIGINT, signal.SIGTERM]
LAB_YAML = "{https_port: 0, products: [{id: thermostat, resources: {temperature: number}}]}"
FLEET = (
    *("fleet", "--product", "thermostat", "--devices", "2", "--days", "300", "--json"),
    *("--behaviour", f"{Announces.__module__}:Announces"),
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "lab.yaml"
    path.write_text(LAB_YAML)
    return path


def begun(*arguments: str | Path) -> Forked:
    """Start a command in a process that ignores SIGINT, as a shell's background job does."""
    ignoring = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); from labkit.cli import main; main()"
    )
    return python("-c", ignoring, *arguments)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_serve(config: Path, number: signal.Signals) -> None:
    with begun("serve", "--config", config, "--json") as process:
        assert json.loads(process.stdout.readline())["https_port"]
        process.send_signal(number)
        assert process.communicate() == ("", "")
        assert process.returncode == 0


@pytest.mark.parametrize("speed", [0, 1], ids=["virtual", "wall"])
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_fleet_with_its_results(config: Path, speed: int, number: signal.Signals) -> None:
    with begun(*FLEET, "--config", config, "--speed", str(speed)) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        process.send_signal(number)  # as `timeout` does
        out, err = process.communicate()
        outcome = json.loads(out.splitlines()[-1])
        assert (outcome["interrupted"], outcome["failed"], err) == (True, [], "")
        assert outcome["requests"] >= 1
        assert process.returncode == 130


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_fleet_against_a_target(config: Path, number: signal.Signals) -> None:
    with Lab(config=config) as lab:
        ca_file = config.with_name("ca.pem")
        ca_file.write_text(lab.address.ca_pem)
        with begun(*FLEET, "--target", lab.product("thermostat").url(), "--ca-file", ca_file) as process:
            assert process.stdout.readline() == "begun\n"
            process.send_signal(number)
            out, err = process.communicate()
    outcome = json.loads(out.splitlines()[-1])
    assert (outcome["interrupted"], outcome["failed"], err) == (True, [], "")
    assert process.returncode == 130


@pytest.mark.sampled
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_report_with_its_verdicts_and_all_its_processes(
    tmp_path: Path, number: signal.Signals
) -> None:
    with begun("report", "--only", "DEV KEY", "--output", tmp_path / "report") as process:
        seen = ""
        while "checks; " not in seen:  # of its progress bar, after a check
            seen += process.stderr.read(1)
        children = psutil.Process(process.pid).children(recursive=True)
        assert children
        process.send_signal(number)
        out, err = process.communicate()
        assert process.returncode == 130
        over = re.search(r"\nlabkit report: interrupted: ([1-9]\d*) of \d+ checks were over; .*\n$", err)
        assert over, err
        assert f" notebooks, {over[1]} check" in out
        found = json.loads((tmp_path / "report" / "verdicts.json").read_text())
        assert (len(found["verdicts"]), found["interrupted"]) == (int(over[1]), True)
        assert f"Interrupted: {over[1]} of " in (tmp_path / "report" / "report.html").read_text()
        assert "Traceback" not in err
        _, left = psutil.wait_procs(children, timeout=PATIENCE)
        assert not left


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore")
@pytest.mark.xdist_group("dask")
def test_sigterm_of_all_processes_ends_a_fleet_over_workers(config: Path) -> None:
    """As a service manager sends it: also to the workers."""
    options = ("--config", str(config), "--speed", "1", "--workers", "2")
    with subprocess.Popen(
        [sys.executable, "-m", "labkit", *FLEET, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            os.killpg(process.pid, signal.SIGTERM)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert json.loads(out.splitlines()[-1])["interrupted"] is True
    assert "Traceback" not in err


def test_handlers_are_restored_afterwards_and_other_threads_have_none() -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    for each in SIGNALS:
        with pytest.raises(KeyboardInterrupt), interruptible():
            signal.raise_signal(each)
        assert [signal.getsignal(number) for number in SIGNALS] == before
    entered = threading.Event()

    def enter() -> None:
        with interruptible():
            entered.set()

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered.is_set()
