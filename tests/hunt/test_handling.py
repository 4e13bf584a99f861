"""Promises that nothing is lost or doubled on the way to a solution."""

from __future__ import annotations

from typing import Any

import pytest

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.hunt import Draw, DrawnFault, no_script_failed, nothing_doubled, nothing_lost, requests_bounded
from tests.hunt.judged import Writes, fails_at_times, fine, handled, home, judged, minds, played

START = 1_767_225_600


@pytest.mark.parametrize(
    ("function", "fault", "state", "reason"),
    [
        (fine, {}, "kept", ""),
        (fine, {"where": "device datapoint", "late": 30}, "kept", ""),
        (fine, {"where": "device datapoint", "doubled": True}, "kept", ""),
        (
            fails_at_times,
            {},
            "broken",
            "datapoint of thermostat/t-002 is lost to 'thermostat-app': its handler failed with 500: ",
        ),
        (
            fine,
            {"where": "device datapoint", "lost": True, "every": 5},
            "broken",
            "datapoint of thermostat/t-002 is lost to 'thermostat-app': no handler got it",
        ),
        (minds, {"where": "Keystore.*", "status": 503, "after": 90, "seconds": 60}, "broken", "datapoint of"),
        (minds, {"where": "Keystore.*", "delay": 45}, "kept", ""),
    ],
)
def test_nothing_lost(function: Any, fault: dict[str, Any], state: str, reason: str) -> None:
    verdict = judged(handled(function, *([fault] if fault else [])), nothing_lost())
    assert (verdict.state, verdict.reason[: len(reason)]) == (state, reason)
    assert (verdict.record is None) == (state == "kept")


def test_events_that_nobody_has_to_handle_are_not_lost() -> None:
    """Before a solution has its handler, or of a product that it is not linked to."""

    def late(lab: Lab, draw: Draw) -> None:
        product = lab.product("lamp", resources={"temperature": "number"})
        fleet = product.fleet(1, Writes)
        fleet.run(minutes=2)
        app = lab.solution("late", products=[product])
        app.on("device", "datapoint", fine)
        handled(fine)(lab, draw)
        product.fleet(1, Writes).run(minutes=2)

    assert judged(late, nothing_lost()).state == "kept"


def test_a_restart_loses_the_event_that_a_handler_is_at_work_on() -> None:
    def restarts(lab: Lab, draw: Draw) -> None:
        product, _ = home(lab)
        lab.faults.add("Keystore.*", delay=30)
        run = product.fleet(1, Writes).start(minutes=5)
        lab.wait(seconds=130)
        lab.restart()
        run.wait()

    verdict = judged(restarts, nothing_lost(under="platform"))
    assert verdict.reason.endswith("is lost to 'thermostat-app': a restart ended its handler")
    assert judged(restarts, no_script_failed()).state == "kept"


@pytest.mark.parametrize(
    ("fault", "state", "reason"),
    [
        ({}, "kept", ""),
        ({"where": "device datapoint", "late": 30, "every": 2}, "kept", ""),
        (
            {"where": "device datapoint", "doubled": True, "every": 4},
            "broken",
            "datapoint of thermostat/t-002 reached 'thermostat-app' 2 times",
        ),
    ],
)
def test_nothing_doubled(fault: dict[str, Any], state: str, reason: str) -> None:
    verdict = judged(handled(fine, *([fault] if fault else [])), nothing_doubled())
    assert (verdict.state, verdict.reason) == (state, reason)


def test_a_doubled_event_is_drawn_only_for_a_promise_that_names_it() -> None:
    fault = DrawnFault("event doubled", {"where": "device datapoint", "doubled": True})
    assert played(handled(fine), [nothing_doubled()], fault).verdicts == ()
    assert judged(handled(fine), nothing_doubled(under="events"), fault).state == "broken"


class Records(Behaviour):
    """Behaviour that records two values, and the same once more after an error."""

    async def run(self, device: FleetDevice) -> None:
        points: dict[str, dict[float, object]] = {"temperature": {START - 60: 21, START - 30: 22}}
        try:
            await device.record(points)
        except EXCHANGE_ERRORS:
            await device.sleep(10)
            await device.record(points)


@pytest.mark.parametrize(
    ("cut", "state", "reason"),
    [
        ({"cut": "before"}, "kept", ""),
        ({"cut": "after"}, "broken", f"reached 'thermostat-app' twice: temperature=21 at {START - 60}"),
    ],
)
def test_a_value_that_is_recorded_again_is_doubled(cut: Any, state: str, reason: str) -> None:
    def act(lab: Lab, draw: Draw) -> None:
        product, _ = home(lab)
        lab.faults.add("POST /onep:v1/stack/record", first=1, **cut)
        product.fleet(1, Records).run(minutes=1)

    verdict = judged(act, nothing_doubled())
    assert (verdict.state, verdict.reason.endswith(reason)) == (state, True)


def test_two_tenants_with_the_same_names() -> None:
    """Devices of one name, and solutions that handle them: a loss is that of one tenant alone."""

    def twins(lab: Lab, draw: Draw) -> None:
        for name, function in (("a", fine), ("b", fails_at_times)):
            product, app = home(lab, name)
            app.on("device", "datapoint", function, replace=True)
            product.fleet(1, Writes, identities=["t-001"]).start(minutes=5)
        lab.wait(minutes=5)

    assert judged(twins, nothing_lost()).reason.startswith("datapoint of b/t-001 is lost to 'b-app'")
    assert judged(twins, nothing_doubled()).state == "kept"
    assert judged(twins, requests_bounded(2, per=61)).state == "kept"
    assert judged(twins, requests_bounded(1, per=61)).state == "broken"
