"""Runs without TLS: `transport="memory"` is refused where TLS counts, and meets what TLS meets elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from labkit import Behaviour, Lab, LabError
from labkit.fleet.fleet_device import FleetDevice

CONTENT = bytes(range(256)) * 4096  # a mebibyte: more than a writer may have under way


class Downloads(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        assert await device.download("fw.bin") == CONTENT
        await device.write(temperature=1)


class Reports(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        while True:
            await device.write(temperature=1)
            await device.sleep(60)


def of(lab: Lab, **settings: Any) -> Any:
    return lab.product("thermostat", resources={"temperature": "number"}, **settings)


@pytest.mark.parametrize("framing", ["both", "length", "chunked"])
def test_large_answers_arrive_whole(framing: str) -> None:
    with Lab(seed=7, wire={"download_framing": framing}) as lab:
        product = of(lab)
        product.content.add("fw.bin", CONTENT)
        run = product.fleet(3, Downloads).run(minutes=1, transport="memory")
        assert run.summary == "3 devices, 0 s of lab time, 6 requests, in memory without TLS"
        assert run.failures.empty
        assert run.frame().attrs["transport"] == "memory"


def test_devices_meet_the_same_restart_as_over_tls() -> None:
    """Refused connections while the platform is down are counted as such."""
    told = []
    for transport in ("tls", "memory"):
        with Lab(seed=7) as lab:
            fleet = of(lab).fleet(4, Reports)
            fleet.faults.add("platform restart", after=150, seconds=100)
            run = fleet.run(minutes=10, transport=transport, requests=True)
            told.append((run.requests().to_csv(), run.frame().to_csv(), lab.journal.canonical()))
            assert "refused" in set(run.requests()["error"])
    assert told[0] == told[1]


def test_a_product_with_certificates_refuses_it_by_name(lab: Lab) -> None:
    with pytest.raises(LabError, match="'thermostat' have certificates, which take TLS"):
        of(lab, auth="certificate").fleet(2, Reports).run(minutes=1, transport="memory")


def test_a_running_clock_refuses_it() -> None:
    with Lab(seed=7, speed=1) as lab, pytest.raises(LabError, match="only on a virtual clock"):
        of(lab).fleet(2, Reports).run(seconds=1, transport="memory")


def test_another_transport_is_an_error(lab: Lab) -> None:
    with pytest.raises(LabError, match="expected 'tls' or 'memory', not 'plain'"):
        of(lab).fleet(2, Reports).run(minutes=1, transport="plain")
