"""Values and faults that a terminal adds to a lab.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labkit import SettingsError
from labkit.settings import load
from labkit.settings.overlay import add_faults, set_values

DATA: dict[str, Any] = {"products": [{"id": "a", "auth": "token"}], "profile": "spec"}


@pytest.mark.parametrize(
    ("assignments", "changed"),
    [
        (["profile=field"], {**DATA, "profile": "field"}),
        (["products.0.auth=password"], {**DATA, "products": [{"id": "a", "auth": "password"}]}),
        (["products.1.id=b"], {**DATA, "products": [*DATA["products"], {"id": "b"}]}),
        (["guard.body=1.5", "guard.header=2"], {**DATA, "guard": {"body": 1.5, "header": 2}}),
        (["products=[]"], {**DATA, "products": []}),
        (["solutions.0.id=x=y"], {**DATA, "solutions": [{"id": "x=y"}]}),
        (["data="], {**DATA, "data": None}),
    ],
)
def test_a_value_is_replaced_or_added(assignments: list[str], changed: dict[str, Any]) -> None:
    before = repr(DATA)
    assert set_values(DATA, assignments) == changed
    assert repr(DATA) == before


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("profile", "--set: expected KEY=VALUE as in products.0.auth=token, not 'profile'"),
        ("=x", "--set: expected KEY=VALUE"),
        ("products.2.id=b", "--set: 'products.2.id=b': expected an index from 0 to 1, not '2'"),
        ("products.x.id=b", "expected an index from 0 to 1, not 'x'"),
        ("profile.x=1", "--set: 'profile.x=1': 'spec' has no 'x', since it is no table"),
        ("profile=[", "--set: 'profile=[': the value is not YAML: '['"),
    ],
)
def test_a_wrong_assignment_is_named(assignment: str, said: str) -> None:
    with pytest.raises(SettingsError) as raised:
        set_values(DATA, [assignment])
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "POST /provision/activate status=503 first=2",
            {"where": "POST /provision/activate", "status": 503, "first": 2},
        ),
        ("device datapoint lost=true", {"where": "device datapoint", "lost": True}),
        ("GET /x?a=b delay=1.5", {"where": "GET /x?a=b", "delay": 1.5}),
        (
            "GET /x body='not now' identity='[t-1, t-2]'",
            {"where": "GET /x", "body": "not now", "identity": ["t-1", "t-2"]},
        ),
    ],
)
def test_a_fault_is_added(text: str, fault: dict[str, Any]) -> None:
    assert add_faults({}, [text]) == {"faults": [fault]}
    assert add_faults({"faults": [1]}, [text, text]) == {"faults": [1, fault, fault]}
    assert add_faults(DATA, []) is DATA


@pytest.mark.parametrize(
    "text", ["GET /x", "status=503 GET /x", "GET status=503 /x", "GET '/x status=503", "GET /x body=["]
)
def test_a_wrong_fault_is_named(text: str) -> None:
    with pytest.raises(SettingsError, match=r"^--fault: "):
        add_faults({}, [text])
    with pytest.raises(SettingsError, match=r"--fault: the faults of lab\.yaml are no list"):
        add_faults({"faults": 1}, ["GET /x status=503"])


def test_settings_have_both(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text("products: [{id: a}]\n")
    settings = load(file, assignments=["products.0.auth=password"], faults=["GET /x status=503"])
    assert (settings.products[0].auth, settings.faults[0].status) == ("password", 503)
    assert load(None, assignments=["profile=field"]).profile == "field"
    with pytest.raises(SettingsError, match=r"products\.a\.auth: "):
        load(file, assignments=["products.0.auth=none"])
    with pytest.raises(SettingsError, match=r"faults\[0\]\.status: "):
        load(file, faults=["GET /x status=1"])
