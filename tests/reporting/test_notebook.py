"""Helper functions of notebooks."""

import json
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from labkit import settings
from labkit.conformance import runner
from labkit.conformance.catalogue import UnknownRequirementError, load
from labkit.conformance.check import all_checks
from labkit.conformance.target import LAB_YAML
from labkit.core.errors import SettingsError
from labkit.lab.lab import Lab
from labkit.reporting import charts, notebook
from labkit.reporting.verdicts import Verdicts
from labkit.widgets import drawing
from tests.reporting.books import verdict

AREA = "DEV-TIME"


def test_the_checks_of_a_part_run_on_a_lab_of_their_own() -> None:
    shown = notebook.verdicts(AREA, seed=7)
    own = [each.name for each in all_checks() if any(id.startswith(AREA) for id in each.requirements)]
    assert sorted(each.check for each in shown) == sorted(own)
    assert shown.good, shown
    assert shown.name == AREA
    ids = list(load().requirements)
    order = [ids.index(each.requirements[0]) for each in shown]
    assert order == sorted(order)


def test_an_interrupt_keeps_the_verdicts_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(checks: object, target: object, catalogue: object, progress: runner.Progress) -> None:
        progress(verdict("time/one", "DEV-TIME-1"))
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run", run)
    with pytest.raises(KeyboardInterrupt, match=r"1 of \d+ checks were over; last_verdicts\(\) of labkit"):
        notebook.verdicts(AREA)
    assert [each.check for each in notebook.last_verdicts()] == ["time/one"]


def test_checks_of_other_requirements_come_after_a_subjects_own(tmp_path: Path) -> None:
    file = tmp_path / "verdicts.json"
    played = [verdict(each.name, " ".join(each.requirements)) for each in all_checks()]
    file.write_text(json.dumps({"verdicts": [each.as_dict() for each in played]}))
    shown = notebook.verdicts("DEV", only="DEV-AUTH", verdicts_file=str(file))
    assert list(shown.by_part().index) == ["DEV-AUTH"]
    others = [sum(not id.startswith("DEV-AUTH-") for id in each.requirements) for each in shown]
    assert others == sorted(others)
    assert shown.verdicts[-1].check == "restart/model"
    assert "  ✓ DEV-AUTH-1 " in repr(shown).splitlines()[-1]


def test_only_narrows_the_selection_and_a_misspelt_prefix_is_an_error() -> None:
    assert not notebook.verdicts("KEY", only=AREA)
    assert {each.requirements for each in notebook.verdicts("DEV", only="DEV-TIME-1")} == {("DEV-TIME-1",)}
    both = notebook.verdicts("DEV", only="DEV-TIME-1 DEV-TIME-2")
    assert {id for each in both for id in each.requirements} == {"DEV-TIME-1", "DEV-TIME-2"}
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


def test_a_chart_returns_its_figure(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_matrix_and_a_sequence_return_their_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[object] = []
    monkeypatch.setattr("IPython.display.display", drawn.append)
    who = pd.DataFrame({"GET door": [True, False], "PUT door": [False, False]}, index=["ann", "ben"])
    assert notebook.matrix_chart(who, title="t") is who
    steps = [("ann", "lab", "asks"), ("lab", "lab", "thinks"), ("lab", "ann", "answers")]
    shown = notebook.sequence_chart(iter(steps), title="t")
    assert [tuple(row) for row in shown.itertuples(index=False)] == steps
    assert list(shown.columns) == ["from", "to", "what"]
    assert len(drawn) == 2


class Drawn(NamedTuple):
    """A chart as drawn: positions of its ticks, and the boxes of its labels, in pixels."""

    axes: Axes

    def ticks(self) -> list[str]:
        low, high = self.axes.get_xlim()
        found = zip(self.axes.get_xticks(), self.axes.get_xticklabels(), strict=True)
        return [label.get_text() for place, label in found if low <= place <= high]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Drawn]:
    found: list[Drawn] = []

    def show(figure: Figure, _data: object) -> None:
        figure.canvas.draw()
        found.append(Drawn(figure.axes[0]))

    monkeypatch.setattr(charts, "show", show)
    monkeypatch.setattr(drawing, "show", show)
    return found


@pytest.mark.parametrize(
    ("first", "step", "count", "ticks"),
    [
        (
            "2026-01-01 00:11",
            "10min",
            142,
            [
                "Thu 01 Jan",
                *(f"{hour:02}:00" for hour in range(3, 24, 3)),
                "Fri 02 Jan",
            ],  # midnights as dates
        ),
        ("2026-01-02", "6h", 13, ["Fri 02 Jan", "Sat 03 Jan", "Sun 04 Jan", "Mon 05 Jan"]),
    ],
)
def test_ticks_are_at_round_times(
    drawn: list[Drawn], first: str, step: str, count: int, ticks: list[str]
) -> None:
    frame = pd.DataFrame({"n": range(count)}, index=pd.date_range(first, periods=count, freq=step))
    for kind in ("line", "step"):
        notebook.chart(frame, title="t", kind=kind)
        assert drawn.pop().ticks() == ticks


def test_a_legend_covers_nothing(drawn: list[Drawn]) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=["x", "y"])
    for kind in ("bar", "barh", "line", "step", "area"):
        notebook.chart(frame, title="t", kind=kind)
        axes = drawn.pop().axes
        legend = axes.get_legend()
        assert legend is not None
        assert [each.get_text() for each in legend.get_texts()] == ["a", "b"]
        assert legend.get_window_extent().y0 >= axes.get_window_extent().y1 - 1


def test_parts_in_which_all_passed_share_a_bar(drawn: list[Drawn]) -> None:
    shown = [
        verdict("a/a", "KEY-ONE-1 KEY-TWO-1"),
        verdict("b/one", "BB-ONE-1"),
        verdict("b/two", "BB-TWO-1", "failed"),
        verdict("b/more", "BB-TWO-2"),
        verdict("b/end", "BB-END-1"),
    ]
    notebook.outcome_chart(Verdicts(shown))
    axes = drawn.pop().axes
    assert [each.get_text() for each in axes.get_yticklabels()] == [
        "Keystore: 2 parts",
        "BB: 2 parts",
        "BB-TWO",
    ]
    assert [each.get_text() for each in axes.texts] == [
        "1 passed",
        "2 passed",
        "1 passed, 1 failed",
    ]
    picture = axes.get_figure(root=True)
    assert picture is not None
    assert [each for each in axes.texts if each.get_window_extent().x1 > picture.bbox.x1] == []


def test_labels_of_arrows_cross_no_line(drawn: list[Drawn]) -> None:
    steps = [
        ("ann", "lab", "asks for something with a long name"),
        ("ann", "bank", "pays"),
        ("bank", "ann", "thanks"),
    ]
    notebook.sequence_chart([*steps, ("lab", "bank", "asks")], title="t")
    axes = drawn.pop().axes
    lines = [axes.transData.transform((place, 0))[0] for place in range(3)]
    labels = [
        each.get_window_extent() for each in axes.texts if each.get_text()[:2] in ("1.", "2.", "3.", "4.")
    ]
    assert len(labels) == 4
    assert not [(box.x0, x, box.x1) for box in labels for x in lines if box.x0 <= x <= box.x1]


def test_passed_checks_are_folded() -> None:
    shown = Verdicts([verdict("a/b", "AA-ONE-1"), verdict("a/c", "AA-ONE-2", "failed", reason="status")])
    text = shown._repr_mimebundle_()[0]["text/html"]
    above, _, folded = text.partition("<details><summary>1 passed</summary>")
    assert "AA-ONE-2" in above
    assert "AA-ONE-1" not in above
    assert "AA-ONE-1" in folded
    frame = pd.DataFrame({"a": [1]}, index=["<x>"])
    table = notebook.Folded(frame, "all <of> it")
    assert table._repr_html_().startswith("<details><summary>all &lt;of&gt; it</summary>\n<div>")
    assert repr(table) == f"all <of> it\n{frame}"


def test_coverage_counts_each_check_once() -> None:
    frame = notebook.coverage_frame(AREA)
    assert list(frame.index) == ["DEV"]
    own = [each for each in load().select(AREA) if each.level == "must"]
    assert frame.loc["DEV", "must"] == len(own)
    everything = notebook.coverage_frame()
    assert everything["must"].sum() + everything["choice"].sum() == len(load().requirements)
