"""Details of dashboards: losses, marks, reasons, failures and time."""

import re
from contextlib import suppress
from datetime import UTC
from typing import Any

import matplotlib.figure
import numpy as np
import pytest

from labkit import Lab
from labkit.core.errors import LabError
from labkit.fleet.behaviour import Behaviour
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.lab.fleet import Fleet
from labkit.widgets import overview, panels
from tests.widgets.rig import everything, words

# warnings of bqplot's own import
pytestmark = pytest.mark.filterwarnings("ignore:metadata .* was set from the constructor:DeprecationWarning")


class Counting(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        while True:
            with suppress(*EXCHANGE_ERRORS):
                await device.count()
            await device.sleep(100)


class Breaking(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        raise RuntimeError("it broke")


@pytest.fixture
def fleet(lab: Lab) -> Fleet:
    return lab.product("thermostat", resources={"count": "integer"}).fleet(3, Counting)


def figures(dashboard: Any) -> dict[str, Any]:
    """Return the live figures by the first word of their titles."""
    return {
        each.title.split()[0].strip(","): each
        for each in everything(dashboard.widget)
        if hasattr(each, "marks")
    }


def titles(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """The heading of each drawn picture, and the titles of its charts."""
    found: list[tuple[str, list[str]]] = []

    def png(figure: matplotlib.figure.Figure) -> bytes:
        charts = [each.get_title(loc="left") for each in figure.axes]
        found.append((figure.get_suptitle(), charts))
        return b""

    monkeypatch.setattr(overview, "png", png)
    return found


class TestOfAFleet:
    def test_it_shows_losses_and_their_devices(
        self, lab: Lab, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pictures = titles(monkeypatch)
        lab.faults.add("device datapoint", lost=True, every=10)
        dashboard = fleet.dashboard()
        fleet.run(minutes=20, accounts=True)
        dashboard.refresh()
        shown = words(dashboard.widget)
        assert "36 sent 36 acknowledged 36 stored 33 handled 3 lost" in shown
        assert "lost, duplicated or reordered messages" in shown
        assert "errors, doubled, reordered; no value: p50, p90, p99" in shown
        dashboard._picture()
        assert (
            "36 sent, 36 acknowledged, 36 stored, 33 handled, 3 lost, 0 doubled, 0 reordered"
            in pictures[-1][0]
        )
        assert pictures[-1][1] == ["Devices by state", "Requests per minute", "Latency"]
        assert "no data: errors by kind" in pictures[-1][0]

    def test_its_pictures_have_marks_and_only_finite_numbers(self, lab: Lab, fleet: Fleet) -> None:
        fleet.faults.add("platform restart", after=600, seconds=60)
        dashboard = fleet.dashboard()
        run = fleet.run(minutes=20, every=30)
        dashboard.refresh()
        shown = figures(dashboard)
        assert set(shown) == {"Devices", "Requests", "Latency", "Errors"}
        assert run.frame()["p50"].isna().any()  # most intervals have no request
        for figure in shown.values():
            lines, marks = figure.marks
            assert marks.visible
            assert [
                float(each) for each in np.ravel(marks.x).astype("datetime64[ms]").astype(float) / 1000
            ] == [run.began + 600] * 2
            assert not lines.visible or np.isfinite(np.asarray(lines.y, dtype=float)).all()
        assert "00:10:00 restart: 60 s down" in words(dashboard.widget)

    def test_a_failed_run_differs_from_an_ended_one(
        self, lab: Lab, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pictures = titles(monkeypatch)
        dashboard = fleet.dashboard()
        home = lab.solution("home", products="thermostat")  # it has no route that returns accounts
        with pytest.raises(LabError, match="GET /accounts"):
            fleet.run(minutes=10, accounts=home)
        dashboard.refresh()
        shown = words(dashboard.widget)
        assert "3 devices of thermostat failed" in shown
        assert "LabError: accounts: " in shown
        dashboard._picture()
        assert "LabError: accounts: " in pictures[-1][0]

    def test_errors_have_the_text_of_their_status(self, lab: Lab, fleet: Fleet) -> None:
        lab.faults.add("POST /onep:v1/stack/alias", status=503)
        dashboard = fleet.dashboard()
        run = fleet.run(minutes=10, every=60)
        dashboard.refresh()
        assert "503 Service Unavailable" in words(dashboard.widget)
        shown = figures(dashboard)["Errors"]
        assert shown.title == "Errors by kind, per 60 s"
        begin = shown.marks[0].scales["x"].min.replace(tzinfo=UTC).timestamp()
        assert run.began - 60 < begin < run.began  # the mark of the fault is beside the axis

    def test_failed_devices_are_in_the_picture(self, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
        pictures = titles(monkeypatch)
        fleet = lab.product("others", resources={"count": "integer"}).fleet(9, Breaking)
        dashboard = fleet.dashboard()
        fleet.run(minutes=2)
        dashboard.refresh()
        assert "9 devices failed, see below" in words(dashboard.widget)
        dashboard._picture()
        assert re.search(r"9 failed: (o-00\d, ){5}o-00\d …", pictures[-1][0])  # they began at one moment


class TestOfALab:
    def test_refusals_by_a_fault_are_named_after_its_effect(self, lab: Lab, fleet: Fleet) -> None:
        lab.faults.add("POST /onep:v1/stack/alias", status=503, first=2)
        lab.faults.add("POST /onep:v1/stack/alias", cut="before", first=1, name="dead line")
        dashboard = lab.dashboard()
        fleet.run(minutes=10)
        dashboard.refresh()
        shown = words(dashboard.widget)
        assert "2 fault put on the lab: status 503" in shown
        assert "1 fault put on the lab: cut before (dead line)" in shown
        assert "fault 1" not in shown
        assert "3 refused" in shown

    def test_failed_runs_are_shown_with_their_error(
        self, lab: Lab, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pictures = titles(monkeypatch)
        home = lab.solution("home", products="thermostat")
        home.on("device", "datapoint", lua="error('no house')")
        dashboard = lab.dashboard()
        assert "0: refused, answered, failed runs, runs, mails, messages" in words(dashboard.widget)
        fleet.run(minutes=10)
        dashboard.refresh()
        shown = words(dashboard.widget)
        assert "failed runs script and error 18 home: " in shown
        assert "no house" in shown
        assert "0: refused, runs, mails, messages" in shown
        assert "no data: mails and messages" in shown
        dashboard._picture()
        assert pictures[-1][1] == ["Requests", "Script runs", "Failed runs by error"]
        [scripts] = [
            each
            for each in everything(dashboard.widget)
            if getattr(each, "title", "").startswith("Script runs, per ")
        ]
        assert scripts.marks[0].colors[1] == "#d64545"  # at the bottom, where one of many is visible

    def test_it_names_its_time_and_has_the_marks_of_the_lab(self, lab: Lab) -> None:
        product = lab.product("thermostat", resources={"count": "integer"})
        dashboard = lab.dashboard()
        product.device("t-1").activate()
        product.content.add("fw-2.bin", b"2")
        dashboard.refresh()
        shown = words(dashboard.widget)
        assert "lab time 2026-01-01 00:00:00 UTC virtual clock" in shown
        assert "00:00:00 release: fw-2.bin" in shown
        lab.reset()
        product.device("t-2").activate()
        dashboard.refresh()
        assert "fw-2.bin" not in words(dashboard.widget)


def test_a_curve_is_interrupted_at_gaps() -> None:
    x, nan = np.arange(6), float("nan")
    parts = panels.pieces(x, np.array([nan, 1.0, 2.0, nan, 3.0, nan]))
    assert [(list(x), list(y)) for x, y in parts] == [([1, 2], [1.0, 2.0]), ([4], [3.0])]
    xs, ys = panels.aligned(parts)
    assert xs.tolist() == [[1, 2], [4, 4]]
    assert ys.tolist() == [[1.0, 2.0], [3.0, 3.0]]
    assert panels.pieces(x, np.full(6, nan)) == []
