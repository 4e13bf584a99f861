"""Types, names and errors of the values and faults that a terminal adds to a lab.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labkit.core.errors import SettingsError
from labkit.settings import LabSettings, load
from labkit.settings.faults import ROLES

LAB_YAML = """
https_port: 0
domain: lab.localhost
products:
  - &first
    id: thermostat
    resources: &shared {temperature: number}
  - id: lamp
    resources: *shared
solutions:
  - {id: acme, products: [thermostat]}
providers:
  social:
    - {name: google, people: [{id: p-1, name: Ann}]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "lab.yaml").write_text(LAB_YAML)
    return tmp_path / "lab.yaml"


def overlaid(file: Path | None, *texts: str) -> LabSettings:
    return load(file, assignments=texts)


VALUES: dict[str, tuple[str, Any]] = {
    "products.0.auth=password": ("products.0.auth", "password"),
    "products[0].auth=password": ("products.0.auth", "password"),
    "products.thermostat.auth=certificate": ("products.0.auth", "certificate"),
    "products.lamp.self_registration=no": ("products.1.self_registration", False),
    "https_port=8443": ("https_port", 8443),
    "http_port=0": ("http_port", 0),
    "guard.header=2.5": ("guard.header", 2.5),
    "datapoints.kept=500": ("datapoints.kept", 500),
    "solutions.acme.environment.PIN=007": ("solutions.0.environment.PIN", "007"),
    "solutions.acme.environment={PIN: '1', A: b}": ("solutions.0.environment", {"PIN": "1", "A": "b"}),
    "solutions.acme.environment.TIME=2026-01-01": ("solutions.0.environment.TIME", "2026-01-01"),
    "solutions.acme.environment.TEXT=a=b": ("solutions.0.environment.TEXT", "a=b"),
    "solutions.acme.environment.TEXT=*x*": ("solutions.0.environment.TEXT", "*x*"),
    "solutions.acme.environment.TEXT=": ("solutions.0.environment.TEXT", ""),
    "solutions.acme.business=1": ("solutions.0.business", "1"),
    "solutions.acme.products=[lamp]": ("solutions.0.products", ("lamp",)),
    "providers.social.google.people.p-1.name=Anna": ("providers.social.0.people.0.name", "Anna"),
    "control=true": ("control.port", 0),
    "profile=field": ("profile", "field"),
    "products.lamp.identities=[a, 'b-{1..2}']": ("products.1.identities", ("a", "b-1", "b-2")),
}


def at(settings: Any, path: str) -> Any:
    for step in path.split("."):
        if isinstance(settings, tuple):
            settings = settings[int(step)]
        else:
            settings = settings[step] if isinstance(settings, dict) else getattr(settings, step)
    return settings


@pytest.mark.parametrize(("text", "expected"), VALUES.items(), ids=VALUES)
def test_a_value_is_replaced_and_has_the_type_of_its_key(
    file: Path, text: str, expected: tuple[str, Any]
) -> None:
    assert at(overlaid(file, text), expected[0]) == expected[1]


def test_all_else_stays_and_later_values_win(file: Path) -> None:
    plain = load(file)
    changed = overlaid(file, "products.0.auth=password", "products.0.auth=certificate")
    assert changed.products[0] == plain.products[0].model_copy(update={"auth": "certificate"})
    assert changed.model_copy(update={"products": plain.products}) == plain


def test_an_alias_of_yaml_is_replaced_at_one_place_alone(file: Path) -> None:
    settings = overlaid(file, "products.thermostat.resources.temperature=string")
    assert [each.resources["temperature"].format for each in settings.products] == ["string", "number"]


def test_without_a_file_the_values_are_those_of_a_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "acme").mkdir()
    settings = overlaid(None, "https_port=0", "products=[{id: lamp}]", "solutions=[{id: acme, path: acme}]")
    assert [each.id for each in settings.products] == ["lamp"]
    assert settings.solutions[0].path[0].samefile(tmp_path / "acme")


def test_names_of_files_are_relative_to_the_folder_of_the_file(file: Path) -> None:
    (file.parent / "acme").mkdir()
    assert overlaid(file, "solutions.acme.path=acme").solutions[0].path == (file.parent / "acme",)


WRONG = {
    "products.0.auth=tokn": "products.thermostat.auth: expected 'token', 'password' or 'certificate', not 'tokn'",
    "products.thermostat.atuh=token": "products.thermostat.atuh: unknown key; did you mean auth?",
    "products.lmp.auth=token": (
        "--set: 'products.lmp.auth=token': expected an index from 0 to 2, not 'lmp', or one of: thermostat, lamp; "
        "did you mean lamp?"
    ),
    "products.3.auth=token": (
        "--set: 'products.3.auth=token': expected an index from 0 to 2, not '3', or one of: thermostat, lamp"
    ),
    "faults.slow.status=500": "--set: 'faults.slow.status=500': expected an index from 0 to 0, not 'slow'",
    "https_port=http": "https_port: expected a valid integer, not 'http'",
    "https_port.x=1": "--set: 'https_port.x=1': 0 has no 'x', since it is no table",
    "gard.header=1": "gard: unknown key; did you mean guard?",
    "solutions.acme.products=[lamb]": "solutions.acme.products[0]: no product 'lamb', "
    "there are: thermostat, lamp; did you mean lamp?",
    "solutions.acme.path=none": "solutions.acme.path: no such file or folder: none",
    "solutions.acme.environment.TEXT=[": (
        "--set: 'solutions.acme.environment.TEXT=[': the value is not YAML: '['"
    ),
}


@pytest.mark.parametrize(("text", "expected"), WRONG.items(), ids=WRONG)
def test_a_wrong_value_names_its_key(file: Path, text: str, expected: str) -> None:
    with pytest.raises(SettingsError) as raised:
        overlaid(file, text)
    assert str(raised.value) == expected


def test_a_mistake_in_the_file_itself_has_its_line(file: Path) -> None:
    file.write_text(LAB_YAML + "gard: {}\n")
    with pytest.raises(SettingsError, match=r"^gard: unknown key \(line 15\); did you mean guard\?$"):
        overlaid(file, "https_port=1")


# --- faults ---------------------------------------------------------------------------------------------------

FAULTS: dict[str, dict[str, Any]] = {
    "POST /provision/activate status=503 first=2": {"status": 503, "first": 2},
    "POST /x status=503 body=slow headers.Retry-After=5 headers.X= name='a name' when=before": {
        "status": 503,
        "body": "slow",
        "headers": {"Retry-After": "5", "X": ""},
        "name": "a name",
        "when": "before",
    },
    "POST /x 'body={\"error\": [1]}' every=3": {"body": {"error": [1]}, "every": 3},
    "POST /x body.error=busy body.code=7": {"body": {"error": "busy", "code": 7}},
    "GET /x?a=1 delay=2.5 chance=0.5 identity=12345 product=[a,b] site=*.localhost": {
        "delay": 2.5,
        "chance": 0.5,
        "identity": ("12345",),
        "product": ("a", "b"),
        "site": ("*.localhost",),
    },
    "POST /x cut=inside": {"cut": "inside"},
    "POST /x forget=true": {"forget": True},
    "GET /x drop=users.0.email replace.a=1 put.b.c=x edit.d=[multiply,1000] edit.e=lower": {
        "drop": ("users.0.email",),
        "replace": {"a": 1},
        "put": {"b.c": "x"},
        "edit": {"d": ["multiply", 1000], "e": "lower"},
    },
    "User.listUsers lost=yes solution=acme": {"lost": True, "solution": ("acme",)},
    "User.listUsers status=500 if_given.filter=*ann* if_status=200 if_answer.id=7 when=after": {
        "status": 500,
        "if_given": {"filter": "*ann*"},
        "if_status": 200,
        "if_answer": {"id": "7"},
        "when": "after",
    },
    "device datapoint doubled=true late=3": {"doubled": True, "late": 3.0},
    "https://a.example/x cut=before if_given.@Accept=*json*": {
        "cut": "before",
        "if_given": {"@Accept": "*json*"},
    },
    "provider google token does=slow": {"does": "slow"},
    "Keystore.set restart=true down=30 when=after after=60 seconds=600": {
        "restart": True,
        "down": 30.0,
        "when": "after",
        "after": 60.0,
        "seconds": 600.0,
    },
    "POST /x delay=[0.1,2]": {"delay": (0.1, 2.0)},
    "Keystore.* status=503 scripts=true": {"status": 503, "scripts": True},
}


@pytest.mark.parametrize(("text", "expected"), FAULTS.items(), ids=FAULTS)
def test_a_fault_is_written_as_its_place_and_its_keys(text: str, expected: dict[str, Any]) -> None:
    [fault] = load(None, faults=[text]).faults
    found = fault.model_dump(exclude_defaults=True)
    found.pop("where")
    assert found == expected


def test_every_key_of_a_fault_is_among_these() -> None:
    used = {key for each in FAULTS.values() for key in each}
    assert used == {*ROLES, "name", "first", "every", "chance", "after", "seconds"}


WRONG_FAULTS = {
    "POST /x status=500 status=501": "--fault: 'POST /x status=500 status=501': status is given twice",
    "GET /x headers.A=1 headers.A=2": "--fault: 'GET /x headers.A=1 headers.A=2': headers.A is given twice",
    "GET /x cut=before cut.x=1": "--fault: 'GET /x cut=before cut.x=1': cut.x is given twice",
    "status=500": "--fault: expected a place and settings, as in ",
    "GET /x status=500 soon": "--fault: expected a place and settings, as in ",
    "GET /x": "--fault: expected a place and settings, as in ",
    "POST /x staus=500": "faults[0].staus: unknown key; did you mean status?",
    "POST /x status=many": "faults[0].status: expected a valid integer",
    "POST x status=500": "faults[0].where: the path of a request begins with /: 'POST /x'",
    "device datapoint status=500": "faults[0].status: is not for an event (device datapoint), but: ",
    "POST /x status=500 cut=before": "faults[0]: cut cannot go with status",
}


@pytest.mark.parametrize(("text", "expected"), WRONG_FAULTS.items(), ids=WRONG_FAULTS)
def test_a_wrong_fault_says_what_was_expected(file: Path, text: str, expected: str) -> None:
    with pytest.raises(SettingsError) as raised:
        load(file, faults=[text])
    assert str(raised.value).startswith(expected)
    assert "(line " not in str(raised.value)  # it is in no file
