"""The helpers that notebooks call."""

import json
from pathlib import Path

import pandas as pd
import pytest

from labkit import settings
from labkit.conformance.catalogue import UnknownRequirementError, load
from labkit.conformance.check import all_checks
from labkit.conformance.target import LAB_YAML
from labkit.core.errors import SettingsError
from labkit.lab.lab import Lab
from labkit.reporting import notebook
from labkit.reporting.verdicts import Verdicts
from tests.reporting.books import verdict

AREA = "DEV-TIME"


def test_the_checks_of_a_part_run_against_a_lab_of_their_own() -> None:
    shown = notebook.verdicts(AREA, seed=7)
    own = [each.name for each in all_checks() if any(id.startswith(AREA) for id in each.requirements)]
    assert sorted(each.check for each in shown) == sorted(own)
    assert shown.good, shown
    assert shown.name == AREA
    ids = list(load().requirements)
    order = [ids.index(each.requirements[0]) for each in shown]
    assert order == sorted(order)


def test_only_narrows_it_further_and_a_misspelt_prefix_is_an_error() -> None:
    assert not notebook.verdicts("KEY", only=AREA)
    assert {each.requirements for each in notebook.verdicts("DEV", only="DEV-TIME-1")} == {("DEV-TIME-1",)}
    with pytest.raises(UnknownRequirementError):
        notebook.verdicts("NOPE")
    with pytest.raises(UnknownRequirementError):
        notebook.verdicts(AREA, only="NOPE")
    with pytest.raises(SettingsError):
        notebook.verdicts(AREA, target="nowhere.json")


def test_the_same_checks_run_against_a_platform_elsewhere(tmp_path: Path) -> None:
    ca_file = tmp_path / "ca.pem"
    named = [each.id for each in settings.load(LAB_YAML).products]
    with Lab(config=LAB_YAML) as lab:
        ca_file.write_text(lab.address.ca_pem)
        line = {
            "https_port": lab.address.https_port,
            "ca_file": str(ca_file),
            "products": {name: f"https://{lab.product(name).domain}" for name in named},
            "solutions": {},
        }
        shown = notebook.verdicts(AREA, target=json.dumps(line))
    outcomes = shown.counts
    assert outcomes["passed"] >= 3
    assert shown.good, shown
    assert all(each.reason == "no clock" for each in shown if each.outcome == "skipped")


def test_a_chart_gives_back_what_it_drew(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[object] = []
    monkeypatch.setattr("IPython.display.display", drawn.append)
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=["x", "y"])
    for kind in ("bar", "barh", "line", "step", "area"):
        assert notebook.chart(frame, title="t", kind=kind) is frame
    assert len(drawn) == 5
    shown = Verdicts([verdict("a/b", "AA-ONE-1"), verdict("a/c", "AA-ONE-2 AA-TWO-1", "skipped")])
    assert notebook.outcome_chart(shown).to_dict("index") == {
        "AA-ONE": {"passed": 1, "skipped": 1}, "AA-TWO": {"passed": 0, "skipped": 1}
    }  # fmt: skip
    assert notebook.outcome_chart(Verdicts([])).empty
    assert len(drawn) == 6


def test_a_matrix_and_a_sequence_give_back_what_they_drew(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[object] = []
    monkeypatch.setattr("IPython.display.display", drawn.append)
    who = pd.DataFrame({"GET door": [True, False], "PUT door": [False, False]}, index=["ann", "ben"])
    assert notebook.matrix_chart(who, title="t") is who
    steps = [("ann", "lab", "asks"), ("lab", "lab", "thinks"), ("lab", "ann", "answers")]
    shown = notebook.sequence_chart(iter(steps), title="t")
    assert [tuple(row) for row in shown.itertuples(index=False)] == steps
    assert list(shown.columns) == ["from", "to", "what"]
    assert len(drawn) == 2


def test_coverage_counts_each_check_once() -> None:
    frame = notebook.coverage_frame(AREA)
    assert list(frame.index) == ["DEV"]
    own = [each for each in load().select(AREA) if each.level == "must"]
    assert frame.loc["DEV", "must"] == len(own)
    everything = notebook.coverage_frame()
    assert everything["must"].sum() + everything["choice"].sum() == len(load().requirements)
