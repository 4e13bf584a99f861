"""Content and meaning of a lab.yaml; profiles and their settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from labkit.core.errors import SettingsError
from labkit.settings import (
    FIELD,
    LabSettings,
    ProductSettings,
    Wire,
    build,
    load,
    validation,
)
from tests.cases import cases
from tests.settings.lab_yaml import WHOLE, loaded


def test_a_file_with_all_keys(folder: Path) -> None:
    settings = loaded(folder, WHOLE)
    [product], [solution] = settings.products, settings.solutions
    assert (product.id, product.auth, product.domain) == ("thermostat", "token", None)
    assert product.resources["temperature"].format == "number"
    assert product.resources["message"].format == "string"
    assert product.content[0].file == folder / "fw-1.2.bin"
    assert solution.path == (folder / "metrics",)
    assert solution.services == {"Notify": {"AccountSid": "AC1", "AuthToken": "abc"}}
    assert (settings.passwords.memory, settings.passwords.passes) == (1024, 1)
    assert (settings.guard.header, settings.guard.body, settings.guard.keep_alive) == (10, 5, 75)


def test_an_empty_file_is_a_lab_of_defaults(folder: Path) -> None:
    assert loaded(folder, "# nothing\n") == LabSettings()


@pytest.mark.parametrize(
    ("given", "meant"), [("lab.db", "{}/lab.db"), ("sqlite:////var/lab.db", "sqlite:////var/lab.db")]
)
def test_file_names_are_relative_to_the_file(folder: Path, given: str, meant: str) -> None:
    assert str(loaded(folder, f"data: {given}").data) == meant.format(folder)


def test_allowed_values_keep_their_types() -> None:
    product = build(
        ProductSettings,
        {"id": "p", "resources": {"a": {"allowed": [1, 1.5, "1", "on", True, {"min": 0, "max": 0}]}}},
    )
    kept = product.resources["a"].allowed
    assert [(type(each).__name__, each) for each in kept[:5]] == [
        ("float", 1.0),
        ("float", 1.5),
        ("str", "1"),
        ("str", "on"),
        ("bool", True),
    ]


def identities(*written: str) -> tuple[str, ...]:
    return ProductSettings(id="p", identities=written).identities


def test_identities_can_be_ranges() -> None:
    assert identities("a", "w-{1..3}-x") == ("a", "w-1-x", "w-2-x", "w-3-x")
    assert identities("w-{008..011}") == ("w-008", "w-009", "w-010", "w-011")
    assert identities("{1..2}{0..1}") == ("10", "11", "20", "21")
    assert identities("{a..c}", "{1-3}", "{}") == ("{a..c}", "{1-3}", "{}")
    assert len(identities("w-{1..100000}")) == 100_000
    with pytest.raises(ValidationError, match=r"a range that runs upwards, not \{3\.\.1\}"):
        identities("w-{3..1}")
    for many in (("w-{0..100000}",), ("w-{1..100000}", "one"), ("{1..999999999}{1..999999999}",)):
        with pytest.raises(ValidationError, match="at most 100,000 names"):
            identities(*many)


def test_settings_are_immutable() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Wire().range_status = 206  # type: ignore[misc]


def test_profiles() -> None:
    assert LabSettings().wire_behaviour() == Wire()
    assert LabSettings(profile="field").wire_behaviour() == FIELD
    assert (FIELD.last_modified, FIELD.range_status, FIELD.download_framing, FIELD.empty_length) == (
        "http-date",
        206,
        "length",
        False,
    )


@cases("profile", ["spec", "field"])
@cases(
    ("switch", "value"),
    [
        ("token_headers", ("X-A", "X-B")),
        ("authorization_token", False),
        ("last_modified", "http-date"),
        ("last_modified", "timestamp"),
        ("range_status", 200),
        ("range_status", 206),
        ("download_framing", "chunked"),
        ("empty_length", True),
        ("empty_length", False),
        ("strict_range", False),
    ],
)
def test_each_setting_of_a_profile_can_be_overridden(profile: Any, switch: str, value: Any) -> None:
    wire = LabSettings(profile=profile, wire={switch: value}).wire_behaviour()
    rest = LabSettings(profile=profile).wire_behaviour().model_dump()
    assert wire.model_dump() == {**rest, switch: value}


def test_an_invalid_setting_in_code_is_an_error_with_its_name() -> None:
    with pytest.raises(SettingsError, match=r"^wire\.nonsense: unknown key; there are: token_headers, "):
        LabSettings(wire={"nonsense": 1}).wire_behaviour()


def test_of_thousands_of_mistakes_twenty_are_named_and_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explained: list[object] = []
    monkeypatch.setattr(validation, "did_you_mean", lambda name, _: str(explained.append(name)))  # type: ignore[func-returns-value]
    file = tmp_path / "lab.yaml"
    file.write_text("".join(f"key{number}: 1\n" for number in range(3000)))
    with pytest.raises(SettingsError, match=r"key4: unknown key.*; and 2995 more$") as raised:
        load(file)
    assert explained == [f"key{number}" for number in range(20)]
    assert (len(raised.value.parts), raised.value.parts[-1]) == (21, "and 2980 more")
