"""Power cuts of the platform: work in progress is lost, stored data is not, and the outside world runs on."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from labkit import Lab, LabError
from labkit.lab.device import Device
from tests.guard import PATIENCE

COUNT = """
counted = (counted or 0) + 1
Keystore.set({key = data.device_sn, value = data.value[2]})
if data.value[2] == "wait" then
  Outside.wait()
  Keystore.set({key = "after", value = "it went on"})
end
print(counted)
"""


@pytest.fixture(params=[False, True], ids=["memory", "data"])
def durable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def lab(durable: bool, tmp_path: Path) -> Iterator[Lab]:
    with Lab(seed=7, data=str(tmp_path / "lab.db") if durable else None) as lab:
        yield lab


def devices(lab: Lab) -> tuple[Device, Device]:
    aliases = {"text": "string", "config": "string"}
    thermostat = lab.product("thermostat", resources=aliases)
    lamp = lab.product("lamp", resources=aliases, auth="password")
    return thermostat.device("t-001").activate(), lamp.device("l-001").activate()


def waits(lab: Lab) -> threading.Event:
    """Add a service that never answers; return an event that is set once it is called."""
    called = threading.Event()

    async def wait() -> None:
        called.set()
        await asyncio.Event().wait()

    lab.service("Outside", wait=wait)
    return called


def test_stored_data_remains_and_work_in_progress_is_lost(lab: Lab) -> None:
    device, other = devices(lab)
    called = waits(lab)
    solution = lab.solution("acme", products=["thermostat", "lamp"])
    solution.on("device", "datapoint", lua=COUNT)
    solution.User.createUser(email="ann@example.com", name="Ann", password="correct horse battery")
    device.write(text="kept")
    other.write(text="kept too")
    lab.settle()
    polls = [device.start_poll("config", timeout=300), other.start_poll("config", timeout=300)]
    began = lab.begin(device.write, text="wait")
    assert called.wait(PATIENCE)
    device.write(text="behind it")  # its event is queued behind the script that waits
    began.result()

    lab.restart()
    lab.settle()  # no work from before is in progress
    for poll in polls:
        with pytest.raises(Exception, match=r"disconnected|closed|reset|without"):
            poll.result()
    assert device.read("text") == {"text": "behind it"}
    assert other.read("text") == {"text": "kept too"}
    assert solution.Keystore.get(key="t-001") == {"value": "wait"}
    assert solution.Keystore.get(key="after") == {}
    assert solution.Keystore.get(key="l-001") == {"value": "kept too"}
    assert [each["email"] for each in solution.User.listUsers()] == ["ann@example.com"]

    before = len(solution.logs)
    device.write(text="anew")
    lab.settle()
    assert solution.Keystore.get(key="t-001") == {"value": "anew"}
    assert "1" in str(solution.logs.iloc[-1]["text"])  # its globals were lost with the environment
    assert len(solution.logs) == before + 2


def test_a_poll_after_it_misses_nothing(lab: Lab) -> None:
    device, _ = devices(lab)
    device.write(config="first")
    lab.clock.advance(10)
    lab.restart()
    poll = device.start_poll("config", timeout=30)
    device.write(config="second")
    assert poll.result() == "second"
    assert [each.actor for each in lab.journal.frame().itertuples() if each.kind == "restart"] == ["platform"]


def test_connections_are_refused_while_the_platform_is_down(lab: Lab) -> None:
    device, _ = devices(lab)
    device.write(text="before")
    now = lab.clock.now
    lab.restart(down=60)
    with pytest.raises(
        httpx.ConnectError, match=r"refused: the platform .* without power for 60 s .*\(seconds=60\)"
    ):
        device.write(text="down")
    with pytest.raises(OSError, match=r"refused"), socket.create_connection(port(lab)):
        pass
    lab.clock.advance(59.5)
    with pytest.raises(OSError, match=r"refused"), socket.create_connection(port(lab)):
        pass
    lab.clock.advance(0.5)
    device.write(text="up")
    assert device.read("text") == {"text": "up"}
    assert lab.clock.now - now == timedelta(seconds=60)


def port(lab: Lab) -> tuple[str, int]:
    return lab.address.host, lab.address.https_port


def test_a_python_handler_can_call_no_service_after_it() -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    seen: list[str] = []
    with Lab() as lab:
        device, _ = devices(lab)
        solution = lab.solution("acme", products=["thermostat"])

        def handle(data: Any, services: Any) -> None:
            services.Keystore.set(key="begun", value="yes")
            begun.set()
            go_on.wait(PATIENCE)
            try:
                services.Keystore.set(key="late", value="yes")
            except LabError as error:
                seen.append(str(error))
            ended.set()

        solution.on("device", "datapoint", handle)
        device.write(text="a")
        assert begun.wait(PATIENCE)
        lab.restart()
        go_on.set()
        assert ended.wait(PATIENCE)
        assert seen == ["the platform was restarted while this handler ran"]
        assert solution.Keystore.get(key="begun") == {"value": "yes"}
        assert solution.Keystore.get(key="late") == {}


def test_a_python_handler_that_waits_for_a_service_is_ended() -> None:
    ended = threading.Event()
    seen: list[str] = []
    with Lab() as lab:
        device, _ = devices(lab)
        called = waits(lab)

        def handle(data: Any, services: Any) -> None:
            try:
                services.Outside.wait()
            except LabError as error:
                seen.append(str(error))
            ended.set()

        lab.solution("acme", products=["thermostat"]).on("device", "datapoint", handle)
        device.write(text="a")
        assert called.wait(PATIENCE)
        lab.restart()
        assert ended.wait(PATIENCE)
        assert seen == ["the platform was restarted while this handler waited for a service"]
        lab.settle()


def test_a_restart_does_not_wait_for_a_handler_that_ignores_its_end() -> None:
    begun, seen = threading.Event(), []
    over: list[bool] = []
    with Lab() as lab:
        device, _ = devices(lab)

        async def handle(data: Any, services: Any) -> None:
            begun.set()
            seen.append(data["value"][1])
            while not over:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.01)

        lab.solution("acme", products=["thermostat"]).on("device", "datapoint", handle)
        device.write(text="a")
        device.write(text="queued")
        assert begun.wait(60)
        lab.restart()
        over.append(True)
        device.write(text="b")
        lab.settle()
    assert seen == ["a", "b"]


def test_a_lab_that_is_down_for_ever_can_be_reset_and_closed(lab: Lab) -> None:
    device, _ = devices(lab)
    lab.restart(down=1000)
    lab.restart(down=2000)
    lab.clock.advance(1500)
    with pytest.raises(OSError, match=r"refused"), socket.create_connection(port(lab)):
        pass
    lab.restart()
    device.write(text="up")
    lab.restart(down=1000)
    lab.reset()  # which forgets that too
    device.activate()
    lab.restart(down=1000)


def test_parameters_set_by_scripts_remain(lab: Lab) -> None:
    solution = lab.solution("acme", services={"Email": {"subject": "set"}})
    solution.Config.setParameters(service="Email", parameters={"text": "by a script"})
    lab.restart()
    left = solution.Config.getParameters(service="Email")["parameters"]
    assert left == {"subject": "set", "text": "by a script"}


def test_an_invalid_duration_is_an_error_and_changes_nothing(lab: Lab) -> None:
    for wrong in (-1, "soon", True):
        with pytest.raises(LabError, match="down"):
            lab.restart(down=wrong)  # type: ignore[arg-type]
