"""Reference of faults: every key has an example that a lab accepts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from labkit import Lab, Thermostat
from labkit.fleet.fault_kinds import KINDS
from labkit.providers.messaging.faults import FAULTS as MESSAGING
from labkit.providers.social.faults import FAULTS as SOCIAL
from labkit.reference import faults
from labkit.settings import FaultSettings, LabSettings

PAGES = {page.path: page for page in faults.pages()}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(seed=7) as lab:
        thermostat = lab.product("thermostat", resources={"temperature": "number"})
        lab.solution("acme", products=thermostat)
        yield lab


def _blocks(body: str, language: str) -> list[str]:
    return [part.partition("```")[0] for part in body.split(f"```{language}\n")[1:]]


def test_each_key_has_an_example_that_uses_it() -> None:
    assert set(faults.examples()) == set(FaultSettings.model_fields)
    assert [name for name, example in faults.examples().items() if name not in example] == []


def test_the_examples_are_accepted_in_lab_yaml_and_in_python(lab: Lab) -> None:
    entries = PAGES["reference/faults/lab"].entries
    for entry in entries:
        [in_yaml], [in_python] = _blocks(entry.body, "yaml"), _blocks(entry.body, "python")
        LabSettings.model_validate(yaml.safe_load(in_yaml))
        exec(in_python, {"lab": lab})
        lab.faults.clear()
    assert len(entries) == len(FaultSettings.model_fields)


def test_the_examples_of_devices_are_accepted(lab: Lab) -> None:
    fleet = lab.product("lamp", resources={"temperature": "number"}).fleet(1, Thermostat())
    for name, kind in KINDS.items():
        exec(faults.device_example(name, kind), {"fleet": fleet})
    assert [each.name for each in PAGES["reference/faults/devices"].entries] == [*KINDS]


def test_the_examples_of_providers_are_accepted(lab: Lab) -> None:
    entries = PAGES["reference/faults/providers"].entries
    for entry in entries:
        for line in _blocks(entry.body, "python"):
            exec(line, {"lab": lab})
    assert {each.name for each in entries} == {*SOCIAL, *MESSAGING}
