"""Example solutions in the forms that published ones have: each loads without a mistake, and passes its own tests."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from labkit.cli import main
from labkit.lab.folder_lab import lab_of_folder
from labkit.settings.notebooks import notebooks_folder

FOLDERS = notebooks_folder() / "solutions"
EXAMPLES = {  # with the number of tests, and the services that no lab has
    "air_conditioner": (2, []),
    "dashboard": (1, []),
    "door_lock": (2, []),
    "doorbell": (2, ["Twilio"]),
    "light_bulb": (4, []),
    "members": (2, []),
    "parcels": (1, []),
    "pumps": (2, []),
}


def test_each_folder_with_tests_is_an_example() -> None:
    assert {each.parent.name for each in FOLDERS.glob("*/tests")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_no_mistakes(name: str) -> None:
    result = CliRunner().invoke(main, ["check", "--json", str(FOLDERS / name)])
    found = json.loads(result.stdout)
    assert (result.exit_code, found["errors"], list(found["stubs"])) == (0, [], EXAMPLES[name][1])
    assert [each for each in found["warnings"] if "no service has the name" not in each] == []


@pytest.mark.filterwarnings("ignore:solution 'solution'. calls services that are not there yet. Twilio")
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_passes_its_tests(name: str) -> None:
    found = lab_of_folder(FOLDERS / name, None, 7)
    with found.lab:
        results = found.tests.run(found.tests.find(), progress=False)
    assert {each.test.name: each.message for each in results if each.status != "passed"} == {}
    assert len(results) == EXAMPLES[name][0]
    warnings = [*found.warnings, *results.warnings]
    assert [
        each for each in warnings if "no service 'Twilio'" not in each
    ] == []  # a vendor's, which is missing
