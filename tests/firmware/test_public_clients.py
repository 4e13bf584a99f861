"""Public clients live on lab time, as their authors have published them.

curl is the program of the system, with libcurl. murano-client, a package for Python with requests, is the client of a
platform that has this API under another name of one header. newman plays Postman's collections with Node: a general
client, since no package for Node has this API. `.ci/public-clients` installs the last two, at exact versions.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from labkit import Lab
from labkit.lab.firmware import FirmwareRun
from labkit.lab.product import Product
from tests.firmware.programs import RESOURCES
from tests.sizes import size

HERE = Path(__file__).parent / "public"
NEWMAN = Path(os.environ.get("LABKIT_CLIENTS_FOLDER", "")) / "node_modules" / "newman" / "bin" / "newman.js"
HOURS = size(1, 24)  # of lab time
TOKEN = "0123456789" * 4

pytestmark = pytest.mark.timeout(1200)  # of a day on a busy machine
needs_curl = pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=7, wire={"token_headers": ["X-Platform-CIK", "X-Exosite-CIK"]}) as lab:
        yield lab


@pytest.fixture
def thermostat(lab: Lab) -> Product:
    return lab.product("thermostat", resources=RESOURCES)


@pytest.fixture
def clients() -> Path:
    """Folder with the clients that were installed."""
    folder = os.environ.get("LABKIT_CLIENTS_FOLDER", "")
    if not folder:
        pytest.skip("needs LABKIT_CLIENTS_FOLDER, a folder that .ci/public-clients has filled")
    return Path(folder)


def start(lab: Lab, thermostat: Product, *command: str | Path) -> FirmwareRun:
    environment = {"PLATFORM_URL": f"https://{thermostat.domain}"}
    return lab.firmware(command, identity="t-001", seed=3, env=environment)


def live(lab: Lab, thermostat: Product, run: FirmwareRun) -> None:
    """Let the program live, with a new setpoint in the last minute but one."""
    app = lab.solution("app", products=[thermostat])
    lab.clock.advance(hours=HOURS, minutes=-2)
    app.Device2.setIdentityState(pid="thermostat", identity="t-001", setpoint=23)
    lab.clock.advance(minutes=2)
    assert run.ended is None


def requests(lab: Lab) -> list[tuple[str, int | None]]:
    """Return method and status of each request but activations."""
    found = [(each.summary.partition(" ")[0], each.status) for each in lab.journal.select("request")]
    return [
        each
        for each, record in zip(found, lab.journal.select("request"), strict=True)
        if "alias" in record.summary
    ]


def minutes_of(lab: Lab) -> set[int]:
    """Return the minutes of lab time between two writes."""
    times = [each.time for each in lab.journal.select("request") if each.summary.startswith("POST /onep")]
    return {round((after - before) / 60_000_000) for before, after in pairwise(times)}


@needs_curl
def test_curl_writes_by_its_own_rate(lab: Lab, thermostat: Product) -> None:
    """One process, whose `--rate` waits between requests on one connection."""
    thermostat.allow("t-001", token=TOKEN)
    url = f"https://{thermostat.domain}/onep:v1/stack/alias#[1-{60 * HOURS + 9}]"
    token = f"X-Platform-CIK: {TOKEN}"
    start(lab, thermostat, "curl", "-sS", "--rate", "60/h", "-H", token, "-d", "temperature=21", url)
    lab.clock.advance(hours=HOURS, minutes=-1)
    assert requests(lab) == [("POST", 204)] * 60 * HOURS
    assert minutes_of(lab) == {1}


@pytest.mark.sampled
@needs_curl
def test_curl_in_a_shell(lab: Lab, thermostat: Product) -> None:
    """A shell that starts a process for each request and each wait."""
    run = start(lab, thermostat, "sh", HERE / "thermostat.sh", "t-001")
    live(lab, thermostat, run)
    found = requests(lab)
    assert 60 * HOURS <= found.count(("POST", 204)) <= 60 * HOURS + 2
    assert found.count(("GET", 200)) == 1
    assert {each for each in found if each[1]} == {("POST", 204), ("GET", 304), ("GET", 200)}
    assert "setpoint=23" in "".join(each.text for each in run.output)


def test_murano_client(lab: Lab, thermostat: Product, clients: Path) -> None:
    python, url = clients / "python" / "bin" / "python", f"https://{thermostat.domain}"
    run = start(lab, thermostat, python, HERE / "thermostat.py", url, "t-001", lab.ca_file)
    live(lab, thermostat, run)
    found = requests(lab)
    assert 60 * HOURS <= found.count(("POST", 204)) <= 60 * HOURS + 1
    assert found.count(("GET", 200)) == 1
    assert 120 * HOURS - 2 <= found.count(("GET", 304)) <= 120 * HOURS
    assert "setpoint=23" in [each.text for each in run.output]


if NEWMAN.is_file():  # where npm reached no registry, .ci/public-clients has said that it is not tried

    def test_newman(lab: Lab, thermostat: Product) -> None:
        variables = ["--env-var", f"url=https://{thermostat.domain}", "--env-var", "identity=t-001"]
        rounds = ["-n", str(64 * HOURS + 9), "--delay-request", "10000", "--reporters", "progress"]
        run = start(lab, thermostat, "node", NEWMAN, "run", HERE / "thermostat.json", *variables, *rounds)
        live(lab, thermostat, run)
        found = requests(lab)
        rounds_lived = range(60 * HOURS, 64 * HOURS + 1)  # three pauses of ten seconds, and a poll of 28
        assert found.count(("POST", 204)) in rounds_lived
        assert found.count(("GET", 200)) == 1
        assert found.count(("GET", 304)) + 1 in rounds_lived
