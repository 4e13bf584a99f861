"""Handles for tests of clients in other processes: trust, names, polls, lost credentials, and their writes."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import httpx
import pytest

from labkit import Credentials, DeviceError, Lab, LabError, LabWarning, SettingsError
from labkit.lab.product import Product
from tests.guard import PATIENCE

ALIAS = "/onep:v1/stack/alias"


@pytest.fixture(params=["token", "password", "certificate"])
def product(lab: Lab, request: pytest.FixtureRequest) -> Product:
    return lab.product(
        "thermostat", auth=request.param, resources={"temperature": "number", "message": "string"}
    )


@pytest.fixture
def thermostat(lab: Lab) -> Product:
    return lab.product("thermostat", resources={"temperature": "number", "message": "string"})


# --- trust and names ------------------------------------------------------------------------------------------


def test_the_ca_file_is_written_once_and_removed_with_the_lab(lab: Lab) -> None:
    path = lab.ca_file
    assert path.read_text() == lab.address.ca_pem
    assert lab.ca_file == path
    with Lab(seed=7) as other:
        assert other.ca_file != path
    lab.close()
    assert not path.exists()
    lab.close()


KILLED = """import os, signal
from labkit import Lab
from labkit.firmware.program import new_folder
lab, folder = Lab(), new_folder()
(folder / "socket").touch()
print(lab.ca_file, folder, sep="\\n", flush=True)
os.kill(os.getpid(), signal.SIGKILL)"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which processes live")
def test_what_a_killed_lab_left_behind_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", KILLED], env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    left = [Path(each) for each in ended.stdout.splitlines()]
    assert (ended.returncode, [each.exists() for each in left]) == (-signal.SIGKILL, [True, True])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Lab() as first, Lab() as second:
        files = {first.ca_file, second.ca_file}
        assert set(tmp_path.iterdir()) == files
    assert not any(each.exists() for each in left)


def test_the_ca_file_of_a_lab_that_nobody_closed_is_removed() -> None:
    path = Lab(seed=7).ca_file
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "labkit":
            thread.join(PATIENCE)
    assert not path.exists()


def test_resolve_has_each_host(lab: Lab, thermostat: Product) -> None:
    acme = lab.solution("acme")
    port = lab.address.https_port
    assert f"{thermostat.domain}:{port}:127.0.0.1" in lab.resolve
    assert f"{acme.domain}:{port}:127.0.0.1" in lab.resolve
    assert [each.partition(":")[0] for each in lab.resolve] == lab.hosts


def test_domains_of_a_product_and_a_solution_with_one_id() -> None:
    with Lab(seed=7) as lab:
        product, solution = lab.product("acme"), lab.solution("acme")
        assert lab.domains == {"acme product": product.domain, "acme": solution.domain}


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_resolve_has_ipv6_addresses_in_brackets() -> None:
    with Lab(seed=7, host="::1") as lab:
        lab.product("thermostat")
        assert f"thermostat.m2.lab.localhost:{lab.address.https_port}:[::1]" in lab.resolve


def test_a_lab_has_its_seed() -> None:
    with Lab(seed=3) as lab, Lab() as other:
        assert (lab.seed, other.seed) == (3, None)


# --- polls --------------------------------------------------------------------------------------------------


def test_wait_for_poll_waits_for_any_client(lab: Lab, thermostat: Product) -> None:
    token = thermostat.device("t-1").activate().credentials.token
    url = thermostat.url(f"{ALIAS}?message").replace(thermostat.domain, "127.0.0.1")
    answers: list[int] = []

    def poll() -> None:
        with httpx.Client(verify=False) as client:
            headers = {"Host": thermostat.domain, "X-Platform-CIK": token or "", "Request-Timeout": "30000"}
            request = client.build_request(
                "GET", url, headers=headers, extensions={"sni_hostname": thermostat.domain}
            )
            answers.append(client.send(request).status_code)

    client = threading.Thread(target=poll)
    client.start()
    assert thermostat.wait_for_poll("t-1", "message", within=20) is None  # type: ignore[func-returns-value]
    assert answers == []
    lab.clock.advance(30)
    client.join(PATIENCE)
    assert answers == [304]


def test_wait_for_poll_says_what_is_missing(thermostat: Product) -> None:
    with pytest.raises(LabError, match=r"the lab holds 0 polls of t-1/message, not 2, after 0\.01 s"):
        thermostat.wait_for_poll("t-1", "message", count=2, within=0.01)


# --- lost credentials -----------------------------------------------------------------------------------------


def test_a_device_whose_credentials_are_forgotten_provisions_anew(lab: Lab, product: Product) -> None:
    device = product.device("t-1").activate()
    device.write(temperature=1)
    product.forget_credentials("t-1")
    with pytest.raises(DeviceError, match="t-1: write: 401 credentials are not valid"):
        device.write(temperature=2)
    device.use(Credentials()).activate().write(temperature=3)
    assert device.read("temperature") == {"temperature": "3"}
    assert [each.values for each in lab.journal.writes("t-1")] == [{"temperature": "1"}, {"temperature": "3"}]


def test_it_provisions_anew_where_devices_may_not_register(thermostat: Product) -> None:
    thermostat.settings.self_registration = False
    thermostat.allow("t-1")
    device = thermostat.device("t-1").activate()
    thermostat.forget_credentials("t-1")
    [known] = thermostat.devices().itertuples()
    assert tuple(known) == ("t-1", "whitelisted", True)
    device.use(Credentials()).activate()
    thermostat.lock("t-1")
    thermostat.forget_credentials("t-1")
    with pytest.raises(DeviceError, match="401 this device is locked"):
        device.use(Credentials()).activate()


def test_a_held_poll_ends_with_its_credentials(thermostat: Product) -> None:
    poll = thermostat.device("t-1").activate().start_poll("message")
    thermostat.forget_credentials("t-1")
    with pytest.raises(DeviceError, match="401"):
        poll.result()


def test_an_unknown_device_has_no_credentials_to_forget(thermostat: Product) -> None:
    with pytest.raises(LabError, match="product 'thermostat' has no device 't-9'"):
        thermostat.forget_credentials("t-9")


def test_a_fault_loses_the_credentials_of_one_device(lab: Lab, product: Product) -> None:
    one, two = (product.device(each).activate() for each in ("t-1", "t-2"))
    fault = lab.faults.add(f"POST {ALIAS}", forget=True, identity="t-1", first=1)
    two.write(temperature=1)
    for _ in range(2):  # once by the fault, then since the credentials are unknown
        answer = one.request("POST", ALIAS, data={"temperature": "1"})
        assert (answer.status_code, "WWW-Authenticate" in answer.headers) == (401, True)
    one.use(Credentials()).activate().write(temperature=2)
    two.write(temperature=3)
    assert (fault.hits, fault.info.does) == (1, "forget")
    assert [each.values["temperature"] for each in lab.journal.writes("t-1")] == ["2"]


def test_a_fault_spares_a_device_the_conflict_of_an_activation(lab: Lab, thermostat: Product) -> None:
    thermostat.device("t-1").activate()
    data = {"id": "t-1"}
    device = thermostat.device("t-2")
    assert device.request("POST", "/provision/activate", credentials=False, data=data).status_code == 409
    lab.faults.add("POST /provision/activate", forget=True, first=1)
    assert device.request("POST", "/provision/activate", credentials=False, data=data).status_code == 200


def test_the_fault_has_no_effect_without_a_device(lab: Lab, thermostat: Product) -> None:
    lab.faults.add("* /*", forget=True)
    acme = lab.solution("acme")
    acme.route("GET", "/x", lua="return 'x'")
    assert acme.get("/x").text == "x"
    assert thermostat.device("t-1").activate().credentials.token
    for more in ({"status": 503}, {"cut": "before"}, {"put": {"a": 1}}, {"when": "after"}):
        with pytest.raises(SettingsError, match="forget"):
            lab.faults.add("GET /x", forget=True, **more)


# --- writes -------------------------------------------------------------------------------------------------


def test_equal_writes_of_one_second_are_all_there(lab: Lab, thermostat: Product) -> None:
    device = thermostat.device("t-1").activate()
    device.write(temperature=21)
    device.write(temperature=21)
    device.write(temperature=21, message="x")
    device.record({"temperature": {1_700_000_000: 5}})
    lab.product("lamp", resources={"temperature": "number"}).device("t-1").activate().write(temperature=7)
    thermostat.device("t-2").activate().write(temperature=8)
    now = lab.clock.time
    writes = lab.journal.writes("t-1", product="thermostat")
    assert [(each.time, each.values) for each in writes] == [
        (now, {"temperature": "21"}),
        (now, {"temperature": "21"}),
        (now, {"temperature": "21", "message": "x"}),
        (1_700_000_000, {"temperature": "5"}),
    ]
    assert len({each.request for each in writes}) == 4
    assert [each.product for each in lab.journal.writes("t-1")] == ["thermostat"] * 4 + ["lamp"]
    assert len(lab.sql("select * from datapoint where identity = 't-1' and product = 'thermostat'")) == 3


def test_a_refused_write_and_one_of_another_identity_are_not_there(lab: Lab, thermostat: Product) -> None:
    device = thermostat.device("t-1").activate()
    device.request("POST", ALIAS, data={"temperature": "warm"})
    with pytest.warns(LabWarning, match="no device 't-'; did you mean t-1?"):
        assert lab.journal.writes("t-1") == lab.journal.writes("t-") == []
    device.write(message="x" * 30_000)
    [write] = lab.journal.writes("t-1")
    assert write.values["message"].startswith("x" * 100)


def test_a_running_clock_says_to_freeze_it_first() -> None:
    with Lab(seed=7, speed=1) as lab, pytest.raises(LabError, match=r"call freeze\(\) first"):
        lab.clock.advance(1)
