"""Dashboards of a fleet and of a lab: contents and controls, without a front end."""

import asyncio
import inspect
import threading
from dataclasses import fields
from typing import Any, NamedTuple

import pytest

from labkit import Lab
from labkit.core.errors import LabError
from labkit.fleet.behaviour import Behaviour
from labkit.fleet.device import DeviceError
from labkit.fleet.fleet_device import FleetDevice
from labkit.fleet.measures import Latency, Tick
from labkit.fleet.shapes import Flat
from labkit.lab.fleet import Fleet
from labkit.lab.run import Run
from labkit.lab.run_options import RunOptions
from labkit.widgets import panels
from labkit.widgets.fleet_dashboard import FleetDashboard
from labkit.widgets.lab_dashboard import LabDashboard
from labkit.widgets.output import VIEW, check_jupyter
from labkit.widgets.tally import BINS, Tally
from labkit.widgets.updates import Updates
from tests.widgets.rig import buttons, everything, words

# warnings of bqplot's own import
pytestmark = pytest.mark.filterwarnings("ignore:metadata .* was set from the constructor:DeprecationWarning")


class Reporter(Behaviour):
    every: int = 60
    fails_at: int = 3

    async def run(self, device: FleetDevice) -> None:
        for count in range(1000):
            await device.write(temperature=20.0)
            if device.number == 2 and count == self.fails_at:
                raise RuntimeError("the <sensor> broke")
            await device.sleep(self.every)


@pytest.fixture
def fleet(lab: Lab) -> Fleet:
    return lab.product("thermostat", resources={"temperature": "number"}).fleet(3, Reporter)


class Arriving(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        async for _ in device.arrivals():
            await device.write(temperature=20)


class Going(NamedTuple):
    done: bool
    paused: bool


def going(run: Run) -> Going:
    return Going(run.done, run.paused)


class TestOfAFleet:
    def test_it_shows_a_run_that_a_cell_started(self, fleet: Fleet) -> None:
        dashboard = fleet.dashboard()
        assert "3 devices of thermostat not begun" in words(dashboard.widget)
        assert not buttons(dashboard)["Start"].disabled
        fleet.run(minutes=10)
        dashboard.refresh()
        shown = words(dashboard.widget)
        assert "ended lab time 2026-01-01 00:10:00 UTC virtual clock 100% done" in shown
        assert "24 requests" in shown  # 10 and 10, and 4 of the one that failed
        assert "1 failed" in shown
        assert repr(dashboard) == "<dashboard of 3 devices of thermostat>"

    def test_its_panels_show_a_run_of_one_row(self, fleet: Fleet) -> None:
        dashboard = fleet.dashboard()
        run = fleet.run(minutes=10, every=600)
        dashboard.refresh()
        assert len(run.ticks) == 1
        assert "2.4 requests per minute" in words(dashboard.widget)  # 24 in 600 s
        lines = [mark for each in everything(dashboard.widget) for mark in getattr(each, "marks", ())]
        assert [(mark.visible, mark.x.shape[-1]) for mark in lines[:3:2]] == [(True, 2)] * 2

    def test_its_buttons_start_pause_resume_and_stop(self) -> None:
        with Lab(speed=600) as lab:
            fleet = lab.product("thermostat", resources={"temperature": "number"}).fleet(3, Reporter)
            dashboard = fleet.dashboard(days=30)
            buttons(dashboard)["Start"].click()
            run = fleet.last
            assert run is not None
            assert (going(run).done, going(run).paused) == (False, False)
            assert buttons(dashboard)["Start"].disabled
            buttons(dashboard)["Pause"].click()
            assert going(run).paused
            assert " paused " in words(dashboard.widget)
            buttons(dashboard)["Resume"].click()
            assert not going(run).paused
            buttons(dashboard)["Stop"].click()
            assert going(run).done
            assert " stopped " in words(dashboard.widget)
            buttons(dashboard)["Start"].click()  # again
            assert fleet.last is not run
            buttons(dashboard)["Stop"].click()

    def test_the_rate_of_lab_time_can_be_set(self) -> None:
        with Lab(speed=60) as lab:
            fleet = lab.product("thermostat", resources={"temperature": "number"}).fleet(1, Reporter)
            dashboard = fleet.dashboard()
            [rate] = [
                each for each in dashboard.widget.children[2].children if each.description == "lab time"
            ]
            assert rate.value == 60
            rate.value = 3600.0
            assert lab.clock.rate == 3600
            run = fleet.start(days=30)
            rate.value = 60.0
            assert " 60 × real time" in words(dashboard.widget)
            run.stop()

    def test_a_control_waits_until_all_is_drawn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """JupyterLab calls it back on a thread of its own."""
        with Lab(speed=60) as lab:
            fleet = lab.product("thermostat", resources={"temperature": "number"}).fleet(1, Reporter)
            dashboard = fleet.dashboard()
            [rate] = [
                each
                for each in everything(dashboard.widget)
                if getattr(each, "description", "") == "lab time"
            ]
            chooser = threading.Thread(target=lambda: setattr(rate, "value", 10.0))
            meanwhile = []

            def mark_line(marks: object) -> str:
                monkeypatch.undo()
                chooser.start()
                chooser.join(0.3)
                meanwhile.append(lab.clock.rate)
                return ""

            monkeypatch.setattr(panels, "mark_line", mark_line)
            dashboard.refresh()
            chooser.join()
            assert (meanwhile, lab.clock.rate, rate.value) == ([60], 10, 10)

    def test_the_rate_of_arrivals_can_be_set_while_a_run_has_one(self) -> None:
        with Lab(speed=600) as lab:  # at 1200, a busy machine cannot keep up with four times the arrivals
            product = lab.product("thermostat", resources={"temperature": "number"})
            fleet = product.fleet(20, Arriving)
            dashboard = fleet.dashboard(days=30, every=60, arrivals=Flat(0.003))
            control = next(
                each
                for each in everything(dashboard.widget)
                if getattr(each, "description", "") == "arrivals"
            )
            assert control.layout.display == "none"
            buttons(dashboard)["Start"].click()
            run = fleet.last
            assert run is not None
            assert control.layout.display == ""
            rates: dict[float, list[int]] = {1.0: [], 4.0: []}
            enough = threading.Event()

            def look(tick: Tick) -> None:
                counts = rates[run.arrivals or 0]
                counts.append(tick.requests)
                if len(counts) >= 24:
                    enough.set()

            run.on_tick(look)
            assert enough.wait(60)
            enough.clear()
            control.value = 4.0
            assert run.arrivals == 4.0
            assert enough.wait(60)
            run.stop()
            # the arrival that each device waited for still has the old rate
            before, after = sum(rates[1.0][12:24]), sum(rates[4.0][12:24])
            assert after > 2 * before > 0
            with pytest.raises(LabError, match="expected a factor above 0"):
                run.scale_arrivals(0)

    def test_a_closed_dashboard_watches_no_longer(self, lab: Lab, fleet: Fleet) -> None:
        for dashboard in (fleet.dashboard(), lab.dashboard()):
            before = words(dashboard.widget)
            dashboard.close()
            dashboard.close()
            fleet.run(minutes=1)
            dashboard.refresh()
            assert words(dashboard.widget) == before

    def test_faults_can_be_added_and_removed(self, lab: Lab, fleet: Fleet) -> None:
        lab.faults.add("GET /timestamp", status=500, name="mine")
        dashboard = fleet.dashboard()
        kind, every = (
            next(each for each in dashboard.widget.children[2].children if each.description == name)
            for name in ("fault", "one request in")
        )
        kind.value, every.value = "answer 503", 2
        buttons(dashboard)["Add fault"].click()
        assert "faults: answer 503, every 2 requests of thermostat" in words(dashboard.widget)
        fleet.run(minutes=1)
        dashboard.refresh()
        assert "DeviceError" in words(dashboard.widget)
        assert "503" in words(dashboard.widget)
        buttons(dashboard)["Clear faults"].click()
        assert [each.name for each in lab.faults] == ["mine"]
        assert "faults:" not in words(dashboard.widget)

    def test_a_fault_is_shown_by_all_dashboards_of_its_product_alone(self, lab: Lab, fleet: Fleet) -> None:
        other = lab.product("other").fleet(1, Reporter).dashboard()
        first, second = fleet.dashboard(), fleet.dashboard()
        for each in (first, other):
            buttons(each)["Add fault"].click()
        second.refresh()
        assert "faults: answer 503, every 10 requests of thermostat" in words(second.widget)
        assert "thermostat" not in words(other.widget)
        buttons(second)["Clear faults"].click()
        assert [each.name for each in lab.faults] == ["answer 503, every 10 requests of other"]

    def test_it_says_that_a_machine_cannot_keep_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with Lab(speed=60) as lab:
            fleet = lab.product("thermostat", resources={"temperature": "number"}).fleet(1, Reporter)
            dashboard = fleet.dashboard()
            fleet.run(seconds=1)
            monkeypatch.setattr(Run, "latency_from_sending", Latency.of([0.5]))
            for late, said in ((79.0, True), (31.0, False)):
                monkeypatch.setattr(Run, "latency", Latency.of([late]))
                dashboard.refresh()
                text = "sent 49 s or more after they are due: the machine cannot keep up with 60 × real time"
                assert (text in words(dashboard.widget)) is said
                assert (text in dashboard._words()) is said

    def test_a_virtual_clock_has_no_rate(self, fleet: Fleet) -> None:
        dashboard = fleet.dashboard()
        [rate] = [each for each in dashboard.widget.children[2].children if each.description == "lab time"]
        assert (rate.disabled, rate.options) == (True, (("unlimited", 0.0),))

    def test_an_impossible_action_is_reported(self, fleet: Fleet) -> None:
        dashboard = fleet.dashboard()  # a run needs a duration
        buttons(dashboard)["Start"].click()
        assert "this clock stands still: pass a duration" in words(dashboard.widget)

    def test_any_error_of_a_control_is_reported(self, fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
        def start(**_: object) -> None:
            raise TypeError("it <broke>")

        dashboard = fleet.dashboard(minutes=1)
        monkeypatch.setattr(fleet, "start", start)
        buttons(dashboard)["Start"].click()
        assert "TypeError: it &lt;broke&gt;" in words(dashboard.widget)

    @pytest.mark.parametrize(
        ("how", "said"),
        [
            (
                {"bogus": 1},
                "no argument 'bogus', there are: seconds, minutes, hours, days, every, requests, ",
            ),
            ({"minutes": "3"}, "minutes: expected a number, not '3'"),
            ({"minutes": True}, "minutes: expected a number"),
            ({"days": float("nan")}, "days: expected a number, not nan"),
            ({"hours": -1}, "a run lasts more than 0 seconds, not -3600"),
            ({"every": 0}, "every: expected seconds, at least 0.001, not 0"),
            ({"every": 1e-300}, "every: expected seconds, at least 0.001, not 1e-300"),
            ({"arrivals": 3}, "arrivals: expected a shape such as Flat\\(5\\), not 3"),
            ({"accounts": "all"}, "accounts: expected True, False or a solution of the lab, not 'all'"),
            ({"workers": 1.5}, "workers: expected a number of processes, not 1.5"),
        ],
    )
    def test_an_impossible_run_is_an_error_at_its_creation(
        self, fleet: Fleet, how: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(LabError, match=said):
            fleet.dashboard(**how)

    def test_it_accepts_the_arguments_of_a_run(self) -> None:
        known = set(inspect.signature(Fleet.start).parameters) - {"self"}
        assert {each.name for each in fields(RunOptions)} == known

    def test_a_failed_device_links_to_its_journal(self, fleet: Fleet) -> None:
        dashboard = fleet.dashboard()
        fleet.run(minutes=10)
        dashboard.refresh()
        shown = words(dashboard.widget)
        assert "RuntimeError: the &lt;sensor&gt; broke at 2026-01-01 00:03:00, seed 7" in shown
        assert "POST /onep:v1/stack/alias" not in shown
        buttons(dashboard)["t-002"].click()
        shown = words(dashboard.widget)
        assert "t-002 failed" in shown
        assert "raise RuntimeError(" in shown
        assert shown.count("request thermostat/t-002 POST /onep:v1/stack/alias 204") == 4


class TestOfALab:
    def test_it_counts_requests_refusals_scripts_mails_and_messages(self, lab: Lab) -> None:
        sensors = lab.product("sensors", resources={"water": "number"})
        home = lab.solution("home", products=sensors, services={"Notify": lab.messaging.account})
        home.on(
            "device",
            "datapoint",
            lua="""Email.send{to = {"ann@example.com"}, subject = "wet", text = "wet"}
            Notify.send{Identity = "ann", Body = "wet"}""",
        )
        home.Notify.createBinding(Identity="ann", Endpoint="e", BindingType="sms", Address="+15005550001")
        dashboard = lab.dashboard()
        device = sensors.device("s-1").activate()
        device.write(water=1)
        with pytest.raises(DeviceError):
            sensors.device("s-2").write(water=1)
        lab.settle()
        dashboard.refresh()
        shown = words(dashboard.widget)
        assert "1 refused" in shown
        assert "1 run " in shown
        assert "1 mail " in shown
        assert "1 message " in shown
        assert "credentials are missing" in shown
        assert "home to ann@example.com: wet" in shown

    def test_it_restarts_with_a_reset_of_the_lab(self, lab: Lab) -> None:
        sensors = lab.product("sensors", resources={"water": "number"})
        dashboard = lab.dashboard()
        with pytest.raises(DeviceError):
            sensors.device("s-1").write(water=1)
        lab.clock.advance(days=300)
        lab.reset()
        sensors.device("s-2").activate()
        dashboard.refresh()
        shown = words(dashboard.widget)
        assert "1 answered" in shown
        assert "0: refused" in shown
        assert "credentials are missing" not in shown

    def test_it_costs_nothing_once_the_lab_is_closed(self, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[float] = []
        monkeypatch.setattr(Updates, "ask_after", lambda self, seconds: asked.append(seconds))
        dashboard = lab.dashboard()
        dashboard.refresh()
        assert asked  # it refreshes as long as the lab is open
        asked.clear()
        lab.close()
        dashboard.refresh()
        assert asked == []


class Record:
    def __init__(self, seconds: float, kind: str = "request", status: int | None = 204, **detail: object):
        self.time, self.kind, self.status = int(seconds * 1_000_000), kind, status
        self.actor, self.summary, self.detail = "a", "s", detail
        self.sequence: int = 1
        self.cause: int | None = None


class TestTheTally:
    def test_intervals_become_longer_with_time_and_lose_nothing(self) -> None:
        tally = Tally()
        for number in range(5000):
            tally.record(Record(1_767_225_600 + 60 * number))
        frame = tally.frame()
        assert frame["answered"].sum() == 5000
        assert BINS / 2 <= len(frame) <= BINS
        assert frame.index.to_series().diff().dropna().nunique() == 1

    def test_reasons_are_limited(self) -> None:
        tally = Tally()
        for number in range(1000):
            tally.record(Record(number, status=401, reason=f"{number} " + "x" * 500))
        assert len(tally.reasons) <= 201
        assert sum(tally.reasons.values()) == 1000
        assert max(map(len, tally.reasons)) <= 120
        assert len(tally.last(1000)) == 50


class TestUpdates:
    async def test_many_requests_of_other_threads_are_one_refresh_on_the_loop(self) -> None:
        here = threading.get_ident()
        seen: list[int] = []
        refreshed = asyncio.Event()

        def refresh() -> None:
            seen.append(threading.get_ident())
            refreshed.set()

        updates = Updates(refresh, every=0)

        def ask() -> None:
            for _ in range(1000):
                updates.ask()

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        await asyncio.wait_for(refreshed.wait(), 10)
        assert seen == [here]

    def test_without_a_loop_nothing_is_refreshed(self) -> None:
        updates = Updates(lambda: pytest.fail("refreshed"))
        assert not updates.live
        updates.ask()
        updates.call(lambda: pytest.fail("called"))


class TestTheOutput:
    @pytest.fixture
    def sent(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
        found: list[tuple[str, dict[str, Any]]] = []
        for name in ("display", "update_display"):

            def send(bundle: Any, *, metadata: Any, raw: bool, display_id: str, name: str = name) -> None:
                assert (
                    "lab time" in metadata["image/png"]["alt"] or "not begun" in metadata["image/png"]["alt"]
                )
                found.append((name, bundle))

            monkeypatch.setattr(f"IPython.display.{name}", send)
        return found

    @pytest.mark.parametrize("kind", [FleetDashboard, LabDashboard])
    def test_it_has_a_picture_that_is_renewed_at_the_end_and_remains_after_the_lab(
        self, lab: Lab, fleet: Fleet, sent: list[tuple[str, dict[str, Any]]], kind: type
    ) -> None:
        dashboard = fleet.dashboard() if kind is FleetDashboard else lab.dashboard()
        dashboard._ipython_display_()
        [(how, first)] = sent
        assert how == "display"
        assert set(first) == {VIEW, "image/png", "text/plain"}
        fleet.run(minutes=10)
        dashboard.refresh()
        dashboard._output.update()  # as at the end of a cell
        how, second = sent[-1]
        assert how == "update_display"
        assert second["image/png"] != first["image/png"]
        assert VIEW in second
        lab.close()
        dashboard._output.update()
        how, last = sent[-1]
        assert (how, set(last)) == ("update_display", {"image/png", "text/plain"})
        count = len(sent)
        dashboard._output.update()
        assert len(sent) == count

    def test_without_jupyter_it_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("labkit.widgets.output.NEEDED", ("IPython", "no_such_library"))
        with pytest.raises(LabError, match=r"takes no_such_library: pip install 'labkit\[lab\]'"):
            check_jupyter()
