"""Effects of setting or faking the host's clock on a running lab: devices, journal and log."""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import freezegun
import pytest
import time_machine

from labkit import Lab
from labkit.core.host_time import RealTime
from labkit.core.records import Record
from labkit.fleet.device import VirtualDevice
from labkit.fleet.flow import LabAddress
from labkit.labtime.clock import VIRTUAL_START, Clock
from labkit.log import Log
from labkit.platform import Platform
from labkit.settings import LabSettings, ProductSettings, build
from tests.guard import PATIENCE

BEGUN = 1_800_000_000.0
NOT_FAKED = 2_500_000_000.0  # in 2049


class Host:
    """The clocks of a host, set by the test."""

    def __init__(self) -> None:
        self.wall = BEGUN
        self.steady = 500.0
        self.real = RealTime(lambda: self.wall, lambda: self.steady)

    def run(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


def platform(host: Host, data: Path | None = None, rate: float = 1.0) -> Platform:
    return Platform(LabSettings(https_port=0, data=data), clock=Clock(rate, real=host.real))


async def test_a_step_is_in_the_journal_and_in_the_log() -> None:
    host, stream = Host(), io.StringIO()
    async with platform(host) as lab:
        warned: asyncio.Queue[Record] = asyncio.Queue()
        lab.context.journal.watch_kind("warning", warned.put_nowait)
        with Log(stream).follow(lab.context.journal, lab.mailbox):
            host.wall -= 3600
            back = await asyncio.wait_for(warned.get(), PATIENCE)
            assert back.summary == (
                "the host's clock was set back by 1:00:00; lab time goes on 1:00:00 ahead of it, "
                "a twentieth slower until it has caught up"
            )
            assert lab.context.clock.now() >= BEGUN
            host.wall += 7200
            forward = await asyncio.wait_for(warned.get(), PATIENCE)
            assert forward.summary == (
                "the host's clock was set forward, or the machine slept, by 2:00:00; lab time follows it"
            )
    lines = [line.split(" ", 2)[2] for line in stream.getvalue().splitlines()]
    assert lines == [f"warning platform {each.summary}" for each in (back, forward)]


async def test_a_write_after_the_host_was_set_back_is_the_current_value(tmp_path: Path) -> None:
    host = Host()
    async with platform(host, tmp_path / "lab.db") as lab:
        await lab.add_product(build(ProductSettings, {"id": "thermostat", "resources": {"n": "number"}}, ""))
        address = lab.context.address
        there = LabAddress("127.0.0.1", address.https_port or 0, address.ca_pem)
        device = VirtualDevice(there, "thermostat.m2.lab.localhost", "token", "t-1", no_password)
        await device.activate()
        for number in range(3):
            await device.write({"n": number})
            assert await device.read(["n"]) == {"n": str(number)}
            host.run(5)
            host.wall -= 3600
        await device.close()


async def no_password(length: int) -> str:
    return "p" * length


@pytest.mark.parametrize("rate", [1.0, 60.0, 0.0])
async def test_lab_time_does_not_go_back_at_a_restart(tmp_path: Path, rate: float) -> None:
    host = Host()
    async with platform(host, tmp_path / "lab.db", rate) as lab:
        if rate:
            host.run(100)
        else:
            await lab.context.clock.advance(100)
        ended = lab.context.clock.now()
    assert ended == (BEGUN if rate else VIRTUAL_START) + 100 * (rate or 1)
    host.wall -= 3600
    async with platform(host, tmp_path / "lab.db", rate) as lab:
        assert lab.context.clock.now() == ended
        warnings = [each.summary for each in lab.context.journal.select("warning")]
        behind = "the host's clock is 1:00:00 behind the end of the data file; lab time goes on 1:00:00 ahead of it"
        assert warnings == ([f"{behind}, a twentieth slower until it has caught up"] if rate == 1 else [])


FAKES: dict[str, AbstractContextManager[Any]] = {
    "freezegun": freezegun.freeze_time("2050-01-01"),
    "time-machine": time_machine.travel("2050-01-01T00:00Z", tick=False),
}


@pytest.mark.parametrize("name", FAKES)
def test_labs_work_while_a_library_fakes_the_clock(name: str) -> None:
    """In a process of its own: the first certificate decides which class of dates is the right one."""
    call = f"from tests.test_host_clock import use_labs; use_labs({name!r})"
    subprocess.run([sys.executable, "-c", call], timeout=PATIENCE, check=True)


def use_labs(name: str) -> None:
    with FAKES[name]:
        labs = Lab(7), Lab()
        for lab in labs:
            device = lab.product("thing", resources={"n": "number"}).device("d").activate()
            device.write(n=1)
            assert device.read("n") == {"n": "1"}
        assert labs[1].clock.now.timestamp() < NOT_FAKED
    with labs[0], labs[1], Lab(7):
        assert [each.clock.now.timestamp() <= time.time() for each in labs] == [True, True]
