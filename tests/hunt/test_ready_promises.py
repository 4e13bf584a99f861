"""Ready promises: each with a story that keeps it, one that breaks it, and one that never puts it to the test."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import pytest

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.hunt import (
    Draw,
    DrawnFault,
    Promise,
    always,
    no_script_failed,
    no_unexpected_status,
    nothing_doubled,
    nothing_lost,
    quotas_kept,
    recovers_within,
    requests_bounded,
    seen_within,
)
from labkit.hunt.story import Act
from tests.hunt.judged import ALIAS, Polls, Writes, fails_at_times, fine, handled, home, judged, played

START = 1_767_225_600
REFUSED = DrawnFault("request error", {"where": ALIAS, "status": 503})
READY: list[Callable[[], Promise]] = [
    nothing_lost,
    nothing_doubled,
    no_script_failed,
    no_unexpected_status,
    lambda: recovers_within(120),
    lambda: seen_within(60),
    quotas_kept,
    lambda: requests_bounded(3, per=60),
]


def silent(lab: Lab, draw: Draw) -> None:
    lab.wait(minutes=5)


@pytest.mark.parametrize("make", READY)
def test_a_story_in_which_nothing_happens_tests_none(make: Callable[[], Promise]) -> None:
    assert judged(silent, make()).state == "untested"


@pytest.mark.parametrize("make", READY)
def test_a_journal_without_all_records_is_not_judged(make: Callable[[], Promise]) -> None:
    """Unless what is left shows a breach."""
    verdict = judged(handled(fine), make(), REFUSED, journal={"records": 10})
    assert verdict.state == "failed"
    assert verdict.reason.startswith("the journal has dropped")
    assert "journal.records" in verdict.reason


def test_a_cleared_journal_is_not_judged() -> None:
    def clears(lab: Lab, draw: Draw) -> None:
        handled(fine)(lab, draw)
        lab.journal.clear()

    verdict = judged(clears, no_script_failed())
    assert (verdict.state, verdict.reason[:23]) == ("failed", "the journal was cleared")


def test_records_that_a_run_left_out_are_missed() -> None:
    verdict = judged(handled(fine), no_script_failed(), journal={"per_run": 1})
    assert verdict.state == "kept"

    def many(services: Any) -> None:
        for _ in range(5):
            fine(services)

    verdict = judged(handled(many), no_script_failed(), journal={"per_run": 2})
    assert (verdict.state, "journal.per_run" in verdict.reason) == ("failed", True)


# --- scripts and statuses


def test_no_script_failed() -> None:
    assert judged(handled(fine), no_script_failed()).state == "kept"
    verdict = judged(handled(fails_at_times), no_script_failed())
    start = "device datapoint of 'thermostat-app' failed with 500: "
    assert (verdict.state, verdict.reason[: len(start)]) == ("broken", start)
    assert "ünfit" in verdict.reason
    assert verdict.at == START + 120


def routes(*paths: str) -> Act:
    def act(lab: Lab, draw: Draw) -> None:
        product, app = home(lab)
        app.route("GET", "/there", lambda: "ä")
        run = product.fleet(1, Writes).start(minutes=5)
        for path in paths:
            lab.wait(seconds=20)
            app.get(path)
        run.wait()

    return act


def test_no_unexpected_status() -> None:
    assert judged(routes("/there"), no_unexpected_status()).state == "kept"
    verdict = judged(routes("/there", "/nowhere"), no_unexpected_status())
    assert (verdict.state, verdict.reason) == (
        "broken",
        "thermostat-app got 404 for GET /nowhere: unknown path",
    )
    assert judged(routes("/nowhere"), no_unexpected_status(404)).state == "kept"
    assert judged(routes("/nowhere"), no_unexpected_status(["500", "4xx"])).state == "kept"


def test_the_status_of_a_fault_is_expected() -> None:
    """With a fault before the work and after it; other statuses of requests that a fault hits are not."""
    for settings in ({"status": 503}, {"status": 503, "when": "after"}):
        fault = DrawnFault("request error", {"where": ALIAS, **settings})
        assert judged(routes("/there"), no_unexpected_status(), fault).state == "kept"
    fault = DrawnFault("request delay", {"where": "GET /nowhere", "delay": 5})
    assert judged(routes("/nowhere"), no_unexpected_status(), fault).state == "broken"


# --- devices


class GivesUp(Writes):
    """Behaviour that sleeps for an hour after an error."""

    pause = 3600.0


class Ends(Behaviour):
    """Behaviour that ends at the first error."""

    async def run(self, device: FleetDevice) -> None:
        try:
            while True:
                await device.write(temperature=21)
                await device.sleep(60)
        except EXCHANGE_ERRORS:
            return


class Breaks(Behaviour):
    """Behaviour whose code fails at the first error."""

    async def run(self, device: FleetDevice) -> None:
        while True:
            await device.write(temperature=21)
            await device.sleep(60)


def outage(behaviour: type[Behaviour], minutes: float = 10) -> Act:
    """Return a story of three minutes of a fleet that runs for longer."""

    def act(lab: Lab, draw: Draw) -> None:
        product, _ = home(lab)
        product.fleet(2, behaviour).start(minutes=minutes)
        lab.wait(minutes=3)

    return act


@pytest.mark.parametrize(
    ("behaviour", "state", "reason"),
    [
        (Writes, "kept", ""),
        (Polls, "kept", ""),
        (GivesUp, "broken", "its last request was POST /onep:v1/stack/alias, 503"),
        (Ends, "broken", "it ended after POST /onep:v1/stack/alias, 503"),
        (Breaks, "broken", "its behaviour failed"),
    ],
)
def test_recovers_within(behaviour: type[Behaviour], state: str, reason: str) -> None:
    polls = DrawnFault("request error", {"where": "GET /onep:v1/stack/alias", "status": 503})
    verdict = judged(outage(behaviour), recovers_within(120), REFUSED, polls)
    assert (verdict.state, verdict.reason.rpartition("fault: ")[2]) == (state, reason)
    if state == "broken":
        assert verdict.reason.startswith("thermostat/t-00")
        assert verdict.at == START + 300


def test_recovery_is_untested_without_faults_and_where_the_run_ends_too_early() -> None:
    assert judged(outage(GivesUp), recovers_within(120)).state == "untested"
    assert judged(outage(Polls), recovers_within(120), REFUSED).state == "untested"  # it hits writes alone
    assert judged(outage(GivesUp, minutes=4), recovers_within(120), REFUSED).state == "untested"


def targets(sleeps: float, lasts: int = 1_000_000, minutes: float = 20) -> Act:
    class Follows(Polls):
        """Behaviour that polls."""

    Follows.sleeps, Follows.lasts = sleeps, lasts

    def act(lab: Lab, draw: Draw) -> None:
        product, app = home(lab)
        product.fleet(2, Follows).start(minutes=minutes)
        for target in range(5):
            lab.wait(seconds=50)
            app.Device2.setIdentityState(pid="thermostat", identity="t-002", target=target)

    return act


def test_seen_within() -> None:
    assert judged(targets(1), seen_within(30)).state == "kept"
    verdict = judged(targets(300, lasts=2), seen_within(30))
    text = f"thermostat/t-002 has not seen the datapoint of target of {START + 150} within 30 s"
    assert (verdict.state, verdict.reason, verdict.at) == ("broken", text, START + 180)
    assert judged(targets(20, lasts=2), seen_within(30)).state == "kept"
    assert judged(handled(fine), seen_within(30)).state == "untested"


@pytest.mark.parametrize(
    ("reads", "cut", "state"), [(True, 0, "kept"), (False, 0, "broken"), (True, 9, "broken")]
)
def test_a_read_stands_for_earlier_values(reads: bool, cut: int, state: str) -> None:
    """Of a device that misses answers of polls, unless the answer to the read is lost, too."""

    class Looks(Behaviour):
        """Behaviour that polls for a while, and reads the value when it begins anew."""

        async def run(self, device: FleetDevice) -> None:
            while True:
                try:
                    if reads:
                        await device.read("target")
                    async for _ in device.poll("target"):
                        break
                except EXCHANGE_ERRORS:
                    pass
                await device.sleep(10)

    def act(lab: Lab, draw: Draw) -> None:
        product, app = home(lab)
        lab.faults.add(
            "GET /onep:v1/stack/alias", cut="after", identity="t-002", first=1 + cut, if_status=200
        )
        run = product.fleet(2, Looks).start(minutes=20)
        lab.wait(seconds=50)
        app.Device2.setIdentityState(pid="thermostat", identity="t-002", target=20)
        run.wait()

    assert judged(act, seen_within(60)).state == state


def test_datapoints_are_seen_after_faults_and_restarts() -> None:
    fault = DrawnFault("request error", {"where": "GET /onep:v1/stack/alias", "status": 503, "after": 20})
    assert judged(targets(1), seen_within(30), fault).state == "kept"

    def restarts(lab: Lab, draw: Draw) -> None:
        lab.at(120, lambda: lab.restart(down=15))
        targets(1)(lab, draw)

    assert judged(restarts, seen_within(60), seed=2).state == "kept"


class Storms(Writes):
    """Behaviour that tries again at once."""

    pause = 0.5


def test_requests_bounded() -> None:
    assert judged(outage(Writes), requests_bounded(3, per=60), REFUSED).state == "kept"
    verdict = judged(outage(Storms), requests_bounded(3, per=60), REFUSED)
    assert verdict.state == "broken"
    assert verdict.reason.endswith("sent 4 requests within 60 s; at most 3 are allowed")


def test_requests_without_a_known_device_are_bounded_together() -> None:
    """A device whose token is lost sends requests that only its product is known of."""

    def lost(lab: Lab, draw: Draw) -> None:
        product, _ = home(lab)
        fleet = product.fleet(2, Storms)
        fleet.faults.add("lost credential", after=30)
        fleet.run(minutes=2)

    verdict = judged(lost, requests_bounded(5, per=10))
    assert verdict.reason == "thermostat sent 11 requests within 10 s; at most 10 are allowed"


def test_quotas_kept() -> None:
    answers: list[object] = []

    def calls(count: int) -> Act:
        def act(lab: Lab, draw: Draw) -> None:
            lights = lab.solution("lights")
            operation = {"name": "light", "parameters": {"type": "object"}, "script": "return {}"}
            lights.publish(operations=[operation])
            home = lab.solution("home")
            home.subscribe(lights, quota={"calls_daily": 2})
            answers.extend(dict(home.Lights.light()) for _ in range(count))

        return act

    assert judged(calls(2), quotas_kept()).state == "kept"
    verdict = judged(calls(3), quotas_kept())
    assert verdict.reason.startswith("'home' called Lights.light: The daily quota of Lights is used up")


# --- all together


@pytest.mark.sampled
def test_judging_a_large_story_takes_little_time() -> None:
    """More than 10,000 records: each promise takes below 0.1 s, even on a busy machine."""
    sizes: list[int] = []

    def large(lab: Lab, draw: Draw) -> None:
        product, _ = home(lab)
        product.fleet(30, Writes).run(minutes=70)
        sizes.append(len(lab.journal))
        watches = [make().watch(lab) for make in READY]
        lab.journal.canonical()  # which makes the details, as each play does anyway
        for watch in watches:
            began = process_time()
            assert watch.verdict(lab.clock.time - 600).state in ("kept", "untested")
            spent.append(process_time() - began)

    spent: list[float] = []
    played(large, [])
    assert sizes[0] > 10_000
    assert max(spent) < 0.1


def test_plays_with_all_promises_are_equal() -> None:
    promises = [*[make() for make in READY], always(lambda lab: len(lab.journal) >= 0, every=10)]
    plays = [played(outage(Writes), promises, REFUSED, seed=5) for _ in range(3)]
    assert plays[0] == plays[1] == plays[2]
    assert plays[0].journal == played(outage(Writes), [recovers_within(120)], REFUSED, seed=5).journal
