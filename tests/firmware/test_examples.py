"""Example firmware against a lab in real time, as anyone may start it: no program is on lab time here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from labkit import Lab
from labkit.lab.product import Product
from labkit.lab.solution import Solution
from labkit.testing.environment import client_environment
from tests.firmware.programs import NAMES, RESOURCES, compiled, example
from tests.guard import PATIENCE
from tests.rig import ran

ALIAS = "/onep:v1/stack/alias"

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="needs node")


@pytest.fixture
def thermostat(lab: Lab) -> Product:
    return lab.product("thermostat", domain="localhost", resources=RESOURCES)


@pytest.fixture
def app(lab: Lab, thermostat: Product) -> Solution:
    return lab.solution("app", products=[thermostat])


def started(lab: Lab, thermostat: Product, words: list[str]) -> subprocess.Popen[str]:
    environment = os.environ | client_environment(lab.ca_file, lab.hosts) | {"PLATFORM_URL": thermostat.url()}
    return subprocess.Popen([*words, "t-001"], env=environment, stdout=subprocess.PIPE, text=True)


def line(client: subprocess.Popen[str]) -> str:
    assert client.stdout is not None
    return client.stdout.readline().strip()


def set_point(app: Solution, value: int) -> None:
    assert app.Device2.setIdentityState(identity="t-001", setpoint=value) is not None


@needs_node
@pytest.mark.parametrize("name", NAMES)
def test_it_writes_and_gets_each_setpoint(
    lab: Lab, thermostat: Product, app: Solution, tmp_path: Path, name: str
) -> None:
    """A setpoint whose answer is cut off comes again, since its Last-Modified was not kept."""
    with started(lab, thermostat, example(name, tmp_path)) as client:
        try:
            assert line(client) == "activated"
            thermostat.wait_for_poll("t-001", "setpoint", within=PATIENCE)
            assert [each.values for each in lab.journal.writes("t-001")] == [{"temperature": "18.2"}]
            lab.clock.advance(1)
            lab.faults.add(f"GET {ALIAS}?*", cut="inside", first=1)
            set_point(app, 23)
            assert line(client).startswith(f"{ALIAS}?setpoint: ")
            assert [line(client), line(client)] == ["poll: 0", "setpoint 23.0"]
        finally:
            client.kill()
    assert sorted({each.status for each in lab.journal.select("request") if each.status}) == [200, 204]


@needs_node
@pytest.mark.parametrize("name", NAMES)
def test_it_activates_again_when_its_token_is_lost(
    lab: Lab, thermostat: Product, tmp_path: Path, name: str
) -> None:
    lab.faults.add(f"POST {ALIAS}", forget=True, first=1)
    with started(lab, thermostat, example(name, tmp_path)) as client:
        try:
            assert [line(client) for _ in range(3)] == ["activated", "write: 401, attempt 1", "activated"]
            thermostat.wait_for_poll("t-001", "setpoint", within=PATIENCE)
        finally:
            client.kill()
    assert len(lab.journal.writes("t-001")) == 1


def test_the_planted_bug_stops_the_polls_of_the_c_client(
    lab: Lab, thermostat: Product, tmp_path: Path
) -> None:
    lab.faults.add(f"GET {ALIAS}?*", status=503, first=2)
    with started(lab, thermostat, [str(compiled(tmp_path))]) as client:
        try:
            said = [line(client) for _ in range(4)]
        finally:
            client.kill()
    assert said == ["activated", "poll: 503", "poll: 503", "no more polls until the platform is back"]


def test_the_c_client_says_how_it_is_used(tmp_path: Path) -> None:
    done = ran(compiled(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: PLATFORM_URL=")
