"""Successive runs: the state that outlives a run, and the state that must not."""

from __future__ import annotations

import gc
import ssl
import weakref
from typing import Any

import pytest

from labkit import Behaviour, Lab
from labkit.control import fleet_runs
from labkit.core.errors import LabError
from labkit.fleet import transport as fleet_transport
from labkit.fleet.connection import DeviceChannel, DeviceConnection
from labkit.fleet.device import VirtualDevice
from labkit.fleet.fleet_device import FleetDevice
from labkit.http.connection import Connection
from labkit.lab.run_options import Transport

RESOURCES = {"temperature": "number"}


class Once(Behaviour):
    """Behaviour that writes once."""

    async def run(self, device: Any) -> None:
        await device.write(temperature=1)


class Endless(Behaviour):
    """Behaviour that never sleeps. stubborn: it also catches the error."""

    stubborn: bool = False

    async def run(self, device: Any) -> None:
        while True:
            try:
                await device.write(temperature=1)
            except LabError:
                if not self.stubborn:
                    raise


def test_a_run_resumes_the_tls_session_of_the_run_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads no other session, since each session read from `ssl` may leak."""
    resumed: list[bool | None] = []
    sessions: list[object] = []
    session = fleet_transport.Transport.session

    async def connected(*args: Any) -> ssl.SSLSocket:
        agreed = await fleet_transport.secured(*args)
        resumed.append(agreed.session_reused)
        return agreed

    def counted(self: fleet_transport.Transport) -> ssl.SSLSession | None:
        sessions.append(found := session(self))
        return found

    monkeypatch.setattr("labkit.fleet.connection.secured", connected)
    monkeypatch.setattr(fleet_transport.Transport, "session", counted)
    with Lab(seed=7) as lab:
        fleet = lab.product("thermostat", resources=RESOURCES).fleet(5, Once)
        for _ in range(3):
            fleet.run(minutes=1)
    assert resumed == [False, *[True] * 14]
    assert len(sessions) == 1


def test_ended_connections_are_not_kept(lab: Lab) -> None:
    fleet = lab.product("thermostat", resources=RESOURCES).fleet(20, Once)
    before = _connections()
    for _ in range(2):
        fleet.run(minutes=1)
    lab.settle()
    assert len(lab.journal) > 40  # the journal is not read, since that would replace payloads by plain data
    assert _connections() == before


@pytest.mark.parametrize("transport", ["tls", "memory"])
def test_memory_is_returned_once_the_lab_has_seen_all_devices_leave(
    monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    """Memory of connections that still exist could not be returned, and the process would grow with each run."""
    left: list[int] = []
    monkeypatch.setattr(fleet_runs, "return_freed", lambda: left.append(_connections()))
    with Lab(seed=7) as lab:
        fleet = lab.product("thermostat", resources=RESOURCES).fleet(fleet_runs.LARGE, Once)
        before = _connections()
        fleet.run(minutes=1, transport=transport)
        fleet.run(minutes=1, transport=transport)
    assert left == [before, before]


def test_an_ended_run_keeps_no_device_and_is_freed_with_its_handle(lab: Lab) -> None:
    """At once, not by the garbage collector: a large fleet's next run begins before that looks at old objects."""
    kinds = (FleetDevice, VirtualDevice, DeviceConnection, DeviceChannel)
    others = {
        id(each): each for each in _objects(*kinds)
    }  # objects of other tests, kept so that no id is reused
    fleet = lab.product("thermostat", resources=RESOURCES).fleet(5, Once)
    fleet.run(minutes=1)
    gc.collect()
    gc.disable()
    try:
        run = fleet.run(minutes=1)
        lab.settle()
        assert not [each for each in _objects(*kinds) if id(each) not in others]
        assert list(run.devices()["state"]) == ["ended"] * 5
        assert list(run.devices()["epoch"]) == [2] * 5
        over = weakref.ref(run)
        del run
        fleet.run(minutes=1)
        assert over() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_device_that_never_sleeps_fails_and_the_run_ends(lab: Lab, stubborn: bool) -> None:
    fleet = lab.product("thermostat", resources=RESOURCES).fleet({Endless(stubborn=stubborn): 1, Once: 1})
    run = fleet.run(seconds=1)
    assert run.devices()["state"].to_dict() == {"t-001": "failed", "t-002": "ended"}
    (error,) = run.failures["error"]
    for part in ("'t-001'", "10,000 requests at one instant", "Endless.run", "device.sleep"):
        assert part in error
    assert run.latency.count == 10_001


def test_a_fleet_does_not_use_devices_of_handles(lab: Lab) -> None:
    thermostat = lab.product("thermostat", resources=RESOURCES)
    device = thermostat.device("t-002").activate()
    with pytest.raises(LabError, match=r"device 't-002' belongs to the handle .* prefix='tf-'"):
        thermostat.fleet(3, Once)
    device.write(temperature=1)
    thermostat.device("tf-001")  # a handle without credentials loses nothing
    for _ in range(2):
        assert thermostat.fleet(3, Once, prefix="tf-").run(minutes=1).latency.count == 3
    device.write(temperature=2)


def _connections() -> int:
    gc.collect()
    return len(_objects(Connection))


def _objects(*kinds: type) -> list[object]:
    return [each for each in gc.get_objects() if type(each) in kinds]
