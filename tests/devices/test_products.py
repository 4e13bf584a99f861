"""Products: accepted values of resources, changes of settings, and domain names."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.core.errors import SettingsError
from labkit.devices.products import PlatformProduct
from labkit.settings import ProductSettings, build
from tests.cases import cases


def product(**settings: Any) -> PlatformProduct:
    return PlatformProduct(build(ProductSettings, {"id": "p", **settings}), "p.m2.lab.localhost")


# --- values -------------------------------------------------------------------------------------------------

RANGE = {"min": 0, "max": 10}
FITS: list[tuple[Any, list[str]]] = [
    ("string", ["", "x", "\n\x00", "ü" * 1000]),
    ("number", ["0", "-1", "+1", "1.5", ".5", "5.", "1e5", "1E-5", "9" * 300]),
    ("float", ["0", "-1.5", "1e300"]),
    ("integer", ["0", "-1", "+1", "007", "9" * 300]),
    ("boolean", ["true", "false", "1", "0"]),
    ({"format": "number", "allowed": [RANGE, 99]}, ["0", "10", "5.5", "1e1", "99", "99.0"]),
    ({"format": "integer", "allowed": [RANGE]}, ["0", "10"]),
    ({"format": "string", "allowed": ["on", "off"]}, ["on", "off"]),
    ({"format": "boolean", "allowed": [True]}, ["true", "1"]),
    ({"format": "string", "allowed": [5]}, ["5", "5.0"]),
]
MISMATCHES: list[tuple[Any, list[str]]] = [
    (
        "number",
        [
            "",
            " ",
            "x",
            "1 ",
            " 1",
            "1_0",
            "0x1",
            "nan",
            "inf",
            "-Infinity",
            "1e999",
            "٣",
            "1,5",
            "--1",
            "\x00",
        ],
    ),
    ("float", ["", "x", "nan"]),
    ("integer", ["", "1.0", "1e3", "x", "1_0", "٣", " 1", "9" * 400, "9" * 5000]),
    ("boolean", ["", "TRUE", "yes", "2", "true "]),
    ({"format": "number", "allowed": [RANGE, 99]}, ["-0.1", "10.0001", "98", "x"]),
    ({"format": "integer", "allowed": [RANGE]}, ["5.0", "11"]),
    ({"format": "string", "allowed": ["on", "off"]}, ["ON", "", "on "]),
    ({"format": "boolean", "allowed": [False]}, ["true", "1"]),
]


@cases(
    ("resource", "values"),
    FITS,
)
def test_a_value_that_fits(resource: Any, values: list[str]) -> None:
    made = product(resources={"a": resource})
    assert {value: made.value_error("a", value) for value in values} == dict.fromkeys(values)


@cases(
    ("resource", "values"),
    MISMATCHES,
)
def test_a_value_that_does_not(resource: Any, values: list[str]) -> None:
    made = product(resources={"a": resource})
    for value in values:
        reason = made.value_error("a", value)
        assert reason is not None, value
        assert reason.startswith("a: ")
        assert value not in reason or len(value) < 3  # it may be long, or secret


# --- settings -----------------------------------------------------------------------------------------------


def test_settings_change_while_the_lab_runs() -> None:
    made = product(resources={"a": "number"})
    made.change(self_registration=False, resources={"b": {"format": "string", "allowed": ["x"]}})
    assert (made.settings.self_registration, list(made.settings.resources)) == (False, ["b"])
    assert made.value_error("b", "y") is not None
    made.change(auth="password")  # the earlier change remains
    assert (made.settings.self_registration, made.settings.auth) == (False, "password")


@cases(
    ("change", "reason"),
    [
        ({"auth": "none"}, r"^product 'p'\.auth: expected 'token'"),
        ({"auht": "token"}, r"^product 'p'\.auht: unknown key; did you mean auth\?$"),
        ({"self_registration": False, "resources": {"a": "text"}}, r"^product 'p'\.resources\.a: expected"),
        ({"id": "q"}, r"^id: cannot change"),
        ({"domain": "q.localhost"}, r"^domain: cannot change"),
    ],
)
def test_an_invalid_change_changes_nothing(change: dict[str, Any], reason: str) -> None:
    made = product()
    before = made.settings
    with pytest.raises(SettingsError, match=reason):
        made.change(**change)
    assert made.settings is before
