"""Dashboards follow changes made in cells, in the lab, and after the end of a cell."""

import asyncio
from typing import Any

import pytest

from labkit import Lab
from labkit.fleet.behaviour import Behaviour
from labkit.fleet.fleet_device import FleetDevice
from labkit.lab.fleet import Fleet
from labkit.widgets import lab_dashboard
from tests.widgets.rig import buttons, everything, words

# warnings of bqplot's own import
pytestmark = pytest.mark.filterwarnings("ignore:metadata .* was set from the constructor:DeprecationWarning")


class Breaks(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        await device.write(temperature=20.0)
        await device.sleep(60)
        raise RuntimeError("broke")


class Reports(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        while True:
            await device.write(temperature=20.0)
            await device.sleep(60)


def fleet_of(lab: Lab, life: type[Behaviour]) -> Fleet:
    return lab.product("thermostat", resources={"temperature": "number"}).fleet(3, life)


def lines(dashboard: Any) -> list[Any]:
    return [mark for each in everything(dashboard.widget) for mark in getattr(each, "marks", ())]


def folded(dashboard: Any) -> list[bool]:
    """Return whether each panel is folded."""
    boxes = [
        each
        for each in everything(dashboard.widget)
        if hasattr(next(iter(getattr(each, "children", ())), None), "marks")
    ]
    return ["labkit-folded" in box._dom_classes for box in boxes]


def test_a_latency_of_zero_is_a_line(lab: Lab) -> None:
    fleet = fleet_of(lab, Reports)
    dashboard = fleet.dashboard()
    fleet.run(hours=1)
    dashboard.refresh()
    assert [each.visible for each in lines(dashboard)[::2]] == [True, True, True, False]
    assert folded(dashboard) == [False, False, False, True]
    assert "no data: errors by kind" in words(dashboard.widget)


def test_panels_are_folded_while_empty_and_have_the_times_of_their_run(lab: Lab) -> None:
    fleet = fleet_of(lab, Reports)
    dashboard = fleet.dashboard()
    assert folded(dashboard) == [True] * 4
    for _ in range(2):
        run = fleet.run(hours=1)
        dashboard.refresh()
        figures = [each for each in everything(dashboard.widget) if hasattr(each, "marks")][:3]
        times = [figure.axes[0].tick_values for figure in figures]
        assert all(list(each) == list(times[0]) for each in times)
        assert times[0][0].astype("datetime64[s]").astype(int) >= run.began


def test_a_trace_is_removed_with_its_run(lab: Lab) -> None:
    fleet = fleet_of(lab, Breaks)
    dashboard = fleet.dashboard()
    fleet.run(minutes=5)
    dashboard.refresh()
    buttons(dashboard)["t-001"].click()
    assert "Traceback" in words(dashboard.widget)
    fleet.run(minutes=5)
    dashboard.refresh()
    assert "Traceback" not in words(dashboard.widget)


def test_faults_have_names_and_disappear_when_the_lab_removes_them(lab: Lab) -> None:
    dashboard = fleet_of(lab, Reports).dashboard()
    for _ in range(2):
        buttons(dashboard)["Add fault"].click()
    assert [each.name for each in lab.faults] == [
        "answer 503, every 10 requests of thermostat",
        "answer 503, every 10 requests of thermostat (2)",
    ]
    assert (
        "faults: answer 503, every 10 requests of thermostat, answer 503, every 10 requests of thermostat (2)"
        in words(dashboard.widget)
    )
    lab.faults.remove("answer 503, every 10 requests of thermostat")
    dashboard.refresh()
    assert "faults: answer 503, every 10 requests of thermostat (2)" in words(dashboard.widget)
    lab.faults.clear()
    dashboard.refresh()
    assert "faults:" not in words(dashboard.widget)


def test_the_rate_of_lab_time_is_the_one_set_by_a_cell() -> None:
    with Lab(speed=60) as lab:
        dashboard = fleet_of(lab, Reports).dashboard()
        [rate] = [
            each for each in everything(dashboard.widget) if getattr(each, "description", "") == "lab time"
        ]
        for factor in (3600, 77):
            lab.clock.run(factor)
            dashboard.refresh()
            assert (rate.value, lab.clock.rate) == (factor, factor)


def test_a_paused_run_that_is_stopped_cannot_be_resumed() -> None:
    with Lab(speed=60) as lab:
        dashboard = fleet_of(lab, Reports).dashboard(days=1)
        for button in ("Start", "Pause", "Stop"):
            buttons(dashboard)[button].click()
        assert "Resume" not in buttons(dashboard)


async def test_the_picture_of_a_lab_is_renewed_once_it_is_idle(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, Any]] = []
    updated = asyncio.Event()

    def send(bundle: Any, *, metadata: Any, raw: bool, display_id: str) -> None:
        sent.append(bundle)
        if len(sent) > 1:
            updated.set()

    for name in ("display", "update_display"):
        monkeypatch.setattr(f"IPython.display.{name}", send)
    monkeypatch.setattr(lab_dashboard, "HEARTBEAT", 0.01)
    dashboard = lab.dashboard()
    dashboard._ipython_display_()
    run = fleet_of(lab, Reports)
    await asyncio.to_thread(run.run, minutes=5)
    await asyncio.wait_for(updated.wait(), 30)  # no cell has ended
    assert sent[-1]["image/png"] != sent[0]["image/png"]
