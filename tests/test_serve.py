"""`labkit serve` as a separate process, which may be killed."""

from __future__ import annotations

import json
import resource
import signal
import socket
import ssl
import subprocess
import sys
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from labkit.cli import main
from labkit.fleet.device import DeviceError, VirtualDevice
from labkit.fleet.flow import FlowClient, LabAddress
from labkit.lab.server_process import server_process
from tests import forked_starts
from tests.forked_starts import Forked, labkit, python
from tests.guard import PATIENCE
from tests.rig import invoked
from tests.sizes import size

pytestmark = pytest.mark.xdist_group("served")  # one process that the others are forked from
LAB_YAML = """
https_port: {port}
http_port: 0
data: lab.db
products:
  - id: thermostat
    resources: {{message: string, n: number}}
    identities: [t-preset]
    content: [{{id: fw.bin, file: fw.bin, description: firmware}}]
solutions:
  - id: acme
    path: acme
    products: [thermostat]
providers:
  social: [{{name: school, applications: [{{client_id: "1", client_secret: s, redirect: "https://a.example/"}}]}}]
  messaging: {{accounts: [{{sid: AC00000000000000000000000000000000, token: s}}]}}
"""
COUNT = """--#EVENT device datapoint
Keystore.command({key = "n", command = "incrby", args = {1}})
"""
ROUTE = """--#ENDPOINT GET /count
return Keystore.get({key = "n"})
--#ENDPOINT POST /large
local result = Keystore.set({key = "large", value = string.rep("v", 100000)})
return {status = result.status, error = result.error}
"""


def folder(path: Path, port: int = 0) -> Path:
    (path / "acme" / "endpoints").mkdir(parents=True)
    (path / "acme" / "services").mkdir()
    (path / "acme" / "services" / "count.lua").write_text(COUNT)
    (path / "acme" / "endpoints" / "count.lua").write_text(ROUTE)
    (path / "fw.bin").write_bytes(b"firmware")
    (path / "lab.yaml").write_text(LAB_YAML.format(port=port))
    return path / "lab.yaml"


def serving(
    config: Path, *arguments: str, log: str = "none"
) -> AbstractContextManager[tuple[Forked, dict[str, Any]]]:
    return forked_starts.serving("--config", config, "--log", log, *arguments)


def failing(*options: str) -> str:
    """Return the error output of a server that cannot start."""
    with labkit("serve", *options) as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (1, "")
    return err


def address(ready: dict[str, object]) -> LabAddress:
    return LabAddress("127.0.0.1", int(str(ready["https_port"])), Path(str(ready["ca_file"])).read_text())


async def password(length: int) -> str:
    return "p" * length


def virtual(ready: dict[str, object], identity: str) -> VirtualDevice:
    return VirtualDevice(address(ready), "thermostat.m2.lab.localhost", "token", identity, password)


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_serve_reports_when_it_is_ready_and_ends_cleanly(tmp_path: Path, name: signal.Signals) -> None:
    with serving(folder(tmp_path)) as (process, ready):
        assert ready["products"] == {
            "thermostat": f"https://thermostat.m2.lab.localhost:{ready['https_port']}"
        }
        assert ready["providers"] == {
            "school": f"https://school.social.lab.localhost:{ready['https_port']}",
            "messaging": f"https://messaging.lab.localhost:{ready['https_port']}",
        }
        ports = {"https_port", "http_port", "proxy"}
        assert ready["resources"] == {"thermostat": ["message", "n"]}
        assert set(ready) == {*ports, "host", "ca_file", "products", "resources", "solutions", "providers"}
        assert isinstance(ready["http_port"], int)
        process.send_signal(name)
        assert process.communicate() == ("", "")
        assert process.returncode == 0


@pytest.mark.parametrize("signalled", [True, False])
def test_a_process_that_was_not_forked_ends_cleanly_too(tmp_path: Path, signalled: bool) -> None:
    """From the command to the end of the interpreter, by SIGTERM or with its standard input."""
    command = [sys.executable, "-W", "error", "-m", "labkit", "serve", "--config", str(folder(tmp_path))]
    with subprocess.Popen(
        [*command, "--ca-file", "ca.pem", "--until-eof"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("labkit serves on 127.0.0.1:")
        assert "; trust ca.pem;" in line
        if signalled:
            process.terminate()
        _, err = process.communicate(timeout=PATIENCE)  # which closes its input
    assert (process.returncode, err) == (0, "")


def test_the_server_of_a_process_that_is_killed_ends(tmp_path: Path) -> None:
    with python("-c", f"from {__name__} import hold_server; hold_server({str(tmp_path)!r})") as process:
        server = psutil.Process(int(process.stdout.readline()))
    server.wait(PATIENCE)


def hold_server(path: str) -> None:
    with server_process(Path(path)):
        sys.stdout.write(f"{psutil.Process().children()[0].pid}\n")
        sys.stdout.flush()
        signal.pause()


def test_an_invalid_file_is_one_line_without_a_traceback(tmp_path: Path) -> None:
    config = folder(tmp_path)
    config.write_text(config.read_text().replace("resources", "resorces"))
    assert (
        failing("--config", str(config))
        == "labkit: products.thermostat.resorces: unknown key (line 7); did you mean resources?\n"
    )


def test_a_ca_file_in_a_missing_folder_is_one_line(tmp_path: Path) -> None:
    said = failing("--ca-file", str(tmp_path / "none" / "ca.pem"))
    assert said == f"labkit: --ca-file: {tmp_path}/none/ca.pem: No such file or directory\n"


def test_the_summaries_of_commands_are_complete() -> None:
    text = invoked("--help").stdout
    for name, verb in main.commands.items():
        assert f"\n  {name} " in text
        assert " ".join((verb.short_help or "").split()) in " ".join(text.split())
        assert verb.short_help
    assert "..." not in text.partition("Commands:")[2]


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config = folder(tmp_path, taken.getsockname()[1])
        said = failing("--config", str(config))
    assert said.startswith("labkit: https_port: cannot listen on 127.0.0.1:")
    assert said.count("\n") == 1


async def test_acknowledged_writes_survive_kill_9(tmp_path: Path) -> None:
    """Rounds of writers that are killed; after each, every write answered 204 is stored."""
    import asyncio

    config = folder(tmp_path)
    tokens: dict[str, str] = {}
    acknowledged: dict[str, int] = {}
    for round_ in range(size(3, 20)):
        with serving(config) as (process, ready):
            devices = [virtual(ready, f"w-{number}") for number in range(8)]
            enough = threading.Event()
            for device in devices:
                if device.identity in tokens:  # credentials survive, too
                    device.token = tokens[device.identity]
                    values = await device.read(["n"])
                    assert int(values["n"]) >= acknowledged[device.identity]
                else:
                    await device.activate()
                    tokens[device.identity] = device.token or ""

            async def write(device: VirtualDevice, begin: int, enough: threading.Event) -> None:
                for n in range(begin, begin + 100_000):
                    try:
                        await device.write({"n": n})
                    except httpx.TransportError:  # the process has ended
                        return
                    acknowledged[device.identity] = n
                    if n - begin > 20:
                        enough.set()

            begin = (round_ + 1) * 1_000_000
            writers = [asyncio.create_task(write(device, begin, enough)) for device in devices]
            await asyncio.to_thread(enough.wait, 60)
            process.kill()
            await asyncio.gather(*writers)
            for device in devices:
                await device.close()
    with serving(config) as (_, ready):
        for identity, token in tokens.items():
            device = virtual(ready, identity)
            device.token = token
            values = await device.read(["n"])
            assert int(values["n"]) >= acknowledged[identity] >= size(3, 20) * 1_000_000
            assert await device.content() == ["fw.bin"]
            assert await device.download("fw.bin") == b"firmware"
            await device.close()
        await check_count(ready, at_least=size(3, 20) * 20)


async def check_count(ready: dict[str, object], at_least: int) -> None:
    """Check the solution's Keystore, which survives as well; events that were queued at the kill may be lost."""
    client = FlowClient(address(ready), "acme.apps.lab.localhost")
    counted = int((await client.request("GET", "/count")).json()["value"])
    await client.close()
    assert counted >= at_least


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="no limit of another process can be set here")
async def test_a_full_disk_is_507_and_one_line_and_ends(tmp_path: Path) -> None:
    """The file may not grow for a while: each write of more than a page fails as on a full disk."""
    config, file = folder(tmp_path), tmp_path / "lab.db"
    unlimited = resource.RLIM_INFINITY
    with serving(config, log="problems") as (process, ready):
        device, solution = virtual(ready, "t-preset"), FlowClient(address(ready), "acme.apps.lab.localhost")
        await device.activate()
        await device.write({"message": "before"})

        def limit(size: int) -> None:
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, unlimited))

        limit(1)
        for _ in range(3):
            with pytest.raises(DeviceError) as raised:
                await device.write({"message": "m" * 1000})
            answer = raised.value.response
            assert answer.status_code == 507
            assert answer.text == f"no room for the data file {file}, nothing was stored: disk I/O error"
            refused = (await solution.request("POST", "/large")).json()
            assert refused == {"status": 507, "error": answer.text}
        assert await device.read(["message"]) == {"message": "before"}
        limit(unlimited)
        await device.write({"message": "after"})
        assert await device.read(["message"]) == {"message": "after"}
        await device.close()
        await solution.close()
        process.terminate()
        lines = [line.split(" ", 2)[2] for line in process.communicate()[1].splitlines()]
    assert lines == [
        f"warning platform no room for the data file {file}, nothing was stored: disk I/O error",
        f"warning platform there is room again for the data file {file}",
    ]


def test_a_damaged_data_file_is_one_line(tmp_path: Path) -> None:
    config, file = folder(tmp_path), tmp_path / "lab.db"
    with serving(config) as (process, _):
        process.terminate()
        process.communicate()
    damaged = bytearray(file.read_bytes())
    damaged[4096 * 3 :] = b"\xff" * (len(damaged) - 4096 * 3)
    file.write_bytes(damaged)
    said = failing("--config", str(config))
    assert said.startswith(f"labkit: data: {file} is damaged: ")
    assert said.count("\n") == 1


def test_a_terminal_adds_faults_and_settings_to_the_file_of_the_checks() -> None:
    options = ("--set", "https_port=0", "--fault", "GET /timestamp status=503 product=token-open")
    with forked_starts.serving("--conformance", *options, "--log", "none") as (_, ready):
        url = f"https://127.0.0.1:{ready['https_port']}/timestamp"
        context = ssl.create_default_context(cafile=ready["ca_file"])
        for product, status in (("token-open", 503), ("token-closed", 200)):
            host = ready["products"][product].removeprefix("https://").partition(":")[0]
            with httpx.Client(verify=context) as client:  # a connection has one server name
                request = client.build_request("GET", url, headers={"Host": host})
                request.extensions["sni_hostname"] = host
                assert client.send(request).status_code == status


@pytest.mark.skipif(sys.platform == "darwin", reason="127.0.0.2 needs a set-up there")
def test_a_fleet_finds_a_lab_that_listens_on_another_address(tmp_path: Path) -> None:
    config = folder(tmp_path)
    config.write_text(config.read_text().replace("n: number", "temperature: number"))
    with serving(config, "--set", "host=127.0.0.2") as (_, ready):
        assert ready["host"] == "127.0.0.2"
        arguments = ["fleet", "--target", json.dumps(ready), "--product", "thermostat"]
        run = invoked(*arguments, "--devices", "1", "--seconds", "0.1")
        assert run.exit_code == 0, run.output
        assert "errors: none" in run.output


def test_a_fault_at_a_misspelt_path_is_a_warning() -> None:
    options = ("--set", "https_port=0", "--fault", "POST /provision/activat status=503")
    with forked_starts.serving(*options) as (process, _):
        process.terminate()
        _, said = process.communicate()
    warned = "fault 'fault 1' at 'POST /provision/activat': no request has the path '/provision/activat'"
    assert f"labkit: warning: {warned}; did you mean /provision/activate?\n" in said


def test_wrong_additions_are_one_line(tmp_path: Path) -> None:
    config = str(folder(tmp_path))
    assert failing("--config", config, "--set", "products.0.auth=none").startswith(
        "labkit: products.thermostat.auth: "
    )
    assert failing("--fault", "GET /x").startswith("labkit: --fault: expected a place and settings")
    both = invoked("serve", "--conformance", "--config", config)
    assert (both.exit_code, "--conformance: cannot go with --config" in both.stderr) == (2, True)
