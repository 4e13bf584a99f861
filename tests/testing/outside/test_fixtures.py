"""Each fixture in a project that has no conftest and no settings of pytest."""

from __future__ import annotations

import sys
import unittest
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from labkit import Lab
    from labkit.lab.product import Product
    from labkit.testing.firmware import Firmware
    from labkit.testing.server import LabServer

labs: list[Lab] = []


def thermostat(lab: Lab) -> Product:
    return lab.product("thermostat", resources={"temperature": "number"})


@pytest.mark.parametrize("number", [1, 2])
def test_each_test_has_a_lab_of_its_own(lab: Lab, number: int) -> None:
    assert [each.closed for each in labs] == [True] * (number - 1)
    labs.append(lab)
    assert len(lab.journal) == 0
    thermostat(lab).device("t-001").activate().write(temperature=number)
    assert len({each.seed for each in labs}) == number


@pytest.mark.lab(config="lab.yaml", seed=5)
class TestMarker:
    def test_a_class_has_a_marker(self, lab: Lab) -> None:
        assert lab.seed == 5
        assert lab.product("thermostat").settings.resources.keys() == {"temperature", "target"}

    @pytest.mark.lab(seed=6, speed=60)
    def test_the_closest_marker_has_priority(self, lab: Lab) -> None:
        assert (lab.seed, lab.clock.rate) == (6, 60)
        assert lab.product("thermostat").id == "thermostat"


def test_a_program_lives_on_the_time_of_the_lab(lab: Lab, firmware: Firmware) -> None:
    run = firmware([sys.executable, "-c", "import time; time.sleep(60); print(1); time.sleep(60)"], ends=True)
    lab.clock.advance(119)
    assert [each.text for each in run.output] == ["1"]
    assert run.ended is None
    assert firmware.runs == [run]


def test_the_shared_lab_begins_empty(lab_session: Lab) -> None:
    thermostat(lab_session).device("t-001").activate()


def test_the_shared_lab_stays(lab_session: Lab) -> None:
    thermostat(lab_session).device("t-001").write(temperature=1)


@pytest.mark.lab(config="lab.yaml", profile="field")
def test_a_server_serves_a_file(labkit_server: LabServer) -> None:
    assert labkit_server.products == {
        "thermostat": f"https://thermostat.m2.lab.localhost:{labkit_server.https_port}"
    }
    assert labkit_server.hosts == ["thermostat.m2.lab.localhost"]
    assert labkit_server.ca_file.read_text().startswith("-----BEGIN CERTIFICATE-----")


@pytest.mark.lab(config="lab.yaml", control=True)
def test_a_server_with_control_is_driven_from_the_test(labkit_server: LabServer) -> None:
    from labkit import Lab

    with Lab.connect(**labkit_server.control) as lab:
        assert lab.seed == labkit_server.seed
        assert lab.product("thermostat").settings.resources.keys() == {"temperature", "target"}
    assert labkit_server.control["token"] not in labkit_server.target + repr(labkit_server)


@pytest.mark.lab(config="lab.yaml")
def test_a_server_without_control_says_how_to_ask_for_it(labkit_server: LabServer) -> None:
    from labkit import LabError

    with pytest.raises(
        LabError, match=r"no control over HTTP: ask for it with @pytest.mark.lab\(control=True\)"
    ):
        _ = labkit_server.control


@pytest.mark.asyncio
async def test_an_async_test_uses_a_lab(lab: Lab) -> None:
    assert thermostat(lab).device("t-001").activate().read("temperature") == {}


@pytest.mark.usefixtures("lab")
class OldTest(unittest.TestCase):
    lab: Lab

    def test_a_test_case_has_a_lab(self) -> None:
        thermostat(self.lab).device("t-001").activate()
