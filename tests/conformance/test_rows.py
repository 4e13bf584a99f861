"""Fault rows: the loader names file and row of an invalid one."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.conformance import rows
from labkit.conformance.entries import CatalogueError, DuplicateEntryError
from labkit.conformance.mutant import SMOKE, Row, all_patches, mutant
from labkit.conformance.rows import all_mutants, load_rows

GOOD = """
where = "GET /x"

["AA-ONE-1 AA-ONE-2"]
no-answer = ["nothing comes", {cut = "before"}]

[AA-ONE-1]
late = ["it comes late", {delay = 5.0, smoke = "one/other"}]
elsewhere = ["an error comes",
    {where = "GET /y", if_status = 200},
    {status = 500}]
"""


def written(folder: Path, text: str) -> Path:
    part = folder / "area" / "one_part"
    part.mkdir(parents=True)
    (part / "requirements.toml").write_text("retired = []\n")
    (part / "faults.toml").write_text(text)
    return folder


def test_rows_are_read_in_order(tmp_path: Path) -> None:
    assert load_rows(written(tmp_path, GOOD)) == [
        Row(
            "one-part/no-answer",
            ("AA-ONE-1", "AA-ONE-2"),
            "nothing comes",
            SMOKE,
            {"where": "GET /x", "cut": "before"},
        ),
        Row("one-part/late", ("AA-ONE-1",), "it comes late", "one/other", {"where": "GET /x", "delay": 5.0}),
        Row(
            "one-part/elsewhere",
            ("AA-ONE-1",),
            "an error comes",
            SMOKE,
            {"where": "GET /y", "if_status": 200, "status": 500},
        ),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = ", "the file: is not TOML"),
        ("[AA-ONE-1]\nx = []\n[AA-ONE-1]\ny = []\n", "the file: is not TOML"),
        ("AA-ONE-1 = 5\n", "AA-ONE-1: expected a table of rows"),
        ("[AA-ONE-1]\nx = 5\n", 'x: expected ["what goes wrong", {'),
        ('[AA-ONE-1]\nx = ["it"]\n', 'x: expected ["what goes wrong", {'),
        ('[AA-ONE-1]\nx = ["it", "GET /x"]\n', 'x: expected ["what goes wrong", {'),
        ('[AA-ONE-1]\nx = [" ", {where = "GET /x", status = 500}]\n', 'x: expected ["what goes wrong", {'),
        ('[AA-ONE-1]\nx = ["it", {where = "GET /x"}, "y"]\n', 'x: expected ["what goes wrong", {'),
        ('[AA-ONE-1]\nx = ["it", {where = "GET /x"}, {where = "GET /y"}]\n', "x: where is there twice"),
        ('[AA-ONE-1]\nx = ["it", {status = 500}]\n', "x: fault.where: "),
        ('[AA-ONE-1]\nx = ["it", {where = "GET /x"}]', "x: fault: expected an action for 'GET /x'"),
        ('[AA-ONE-1]\nx = ["it", {where = "GET /x", stats = 500}]', "x: fault.stats: unknown key"),
        ('where = "GET /x"\n[AA-ONE-1]\nx = ["it", {stats = 500}]', "x: fault.stats: unknown key"),
        (
            '[AA-ONE-1]\nx = ["it", {where = "GET /x", status = 500, name = "y"}]',
            "x: fault: its name is that of the row",
        ),
        (
            '[AA-ONE-1]\nx = ["it", {where = "GET /x", edit = {a = "louder"}}]',
            "x: fault.edit.a: expected an edit",
        ),
    ],
)
def test_an_invalid_row_is_refused_with_file_and_row(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(CatalogueError) as raised:
        load_rows(written(tmp_path, text))
    assert str(raised.value).startswith(f"area/one_part/faults.toml: {expected}")


def test_a_row_and_a_patch_cannot_have_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_answer(original: object) -> object:
        """nothing comes"""
        return original

    patch = mutant("AA-ONE-1", "labkit.core:x")(no_answer)
    row = Row(patch.name, ("AA-ONE-1",), "nothing comes", SMOKE, {})
    monkeypatch.setattr(rows, "all_patches", lambda: [patch])
    monkeypatch.setattr(rows, "load_rows", lambda: [row])
    with pytest.raises(DuplicateEntryError, match="mutants: test-rows/no-answer: is there already"):
        all_mutants.__wrapped__()


def test_mutants_of_a_part_are_adjacent() -> None:
    found = all_mutants()
    parts = [each.name.partition("/")[0] for each in found]
    assert sorted(parts, key=list(dict.fromkeys(parts)).index) == parts
    assert len(found) == len(all_patches()) + len(load_rows())
