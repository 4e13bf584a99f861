"""Reference of lab.yaml and its JSON Schema: every key with its type, default and meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from labkit.reference import faults, settings
from labkit.settings import LabSettings
from labkit.settings.limits import Limits

ENTRIES = {
    entry.name: entry
    for pages in (settings.pages(), faults.pages())
    for page in pages
    for entry in page.entries
}
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("model", settings.models().values(), ids=lambda model: model.__name__)
def test_each_key_has_a_meaning(model: type[BaseModel]) -> None:
    meanings = settings.meanings(model)
    assert [name for name in model.model_fields if not meanings.get(name)] == []


def test_each_key_of_the_schema_has_an_entry() -> None:
    whole = settings.schema()

    def keys(schema: Any, prefix: str) -> set[str]:
        found = set()
        for name, each in schema.get("properties", {}).items():
            found.add(f"{prefix}{name}")
            found |= below(each, f"{prefix}{name}")
        return found

    def below(schema: Any, key: str) -> set[str]:
        found: set[str] = set()
        if "$ref" in schema:
            found |= keys(whole["$defs"][schema["$ref"].rpartition("/")[2]], f"{key}.")
        for each in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else [])):
            found |= below(each, key)
        for each in (schema.get("additionalProperties"), *schema.get("patternProperties", {}).values()):
            found |= below(each, f"{key}.<name>") if isinstance(each, dict) else set()
        return found

    expected = keys(whole, "")
    assert len(expected) > 130
    assert expected - {name.replace("[]", "") for name in ENTRIES} == set()


def test_a_key_that_version_1_0_had_not_states_its_version() -> None:
    assert sum("- Since: 1.0" in each.body for page in settings.pages() for each in page.entries) == 121, (
        "a new key states its version, by Doc(…, since=…)"
    )


def test_an_entry_has_type_default_and_version() -> None:
    assert ENTRIES["guard.scripts"].body.splitlines() == [
        "Number of concurrent Lua runs in one solution, each with a Lua state of its own; further runs wait.",
        "",
        "- Type: whole number, from 1",
        "- Default: `64`",
        "- Since: 1.0",
    ]
    assert "- Default: `200` in spec; `206` in field" in ENTRIES["wire.range_status"].body


def test_the_schema_accepts_a_lab_yaml_and_refuses_a_wrong_key() -> None:
    validator = Draft202012Validator(settings.schema())
    document = yaml.safe_load((ROOT / "notebooks" / "lab.yaml").read_text())
    assert [each.message for each in validator.iter_errors(document)] == []
    wrong = {**document, "wire": {"empty_lenght": True}, "https_prt": 1}
    assert len([*validator.iter_errors(wrong)]) == 2


def test_the_book_has_the_published_limits() -> None:
    page = (ROOT / "notebooks" / "book" / "explanation" / "limits.md").read_text("utf-8")
    table = [
        row for row in page.partition("## Limits of deployed platforms")[2].splitlines() if row[:3] == "| `"
    ]
    texts = [(name, *text.rsplit("; `published`: ")) for name, text in settings.meanings(Limits).items()]
    assert table == [f"| `{name}` | {number} | {text} |" for name, text, number in texts]


def test_the_schema_describes_each_key() -> None:
    assert set(settings.schema()["properties"]) == set(LabSettings.model_fields)
    assert (
        settings.schema()["properties"]["data"]["description"]
        == "file of the database; in memory without it, which is faster"
    )
