"""Ready promises: each with a story that keeps it, one that breaks it, and one that never puts it to the test."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import process_time
from typing import Any

import pytest

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.hunt import (
    Draw,
    DrawnFault,
    Promise,
    Verdict,
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
from labkit.hunt.promises.promise import StoryEnd
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


async def reads_at_once(device: FleetDevice, *, wrong: bool) -> None:
    """Write and read in the same instant; the wrong one is silent after its first error."""
    try:
        while True:
            await device.write(temperature=21)
            await device.read("target")
            await device.sleep(60)
    except EXCHANGE_ERRORS:
        await (device.sleep(9999) if wrong else reads_at_once(device, wrong=wrong))


async def reads_once_more(device: FleetDevice, *, wrong: bool) -> None:
    """Write; the wrong one reads once after its first error, and is silent then."""
    try:
        while True:
            await device.write(temperature=21)
            await device.sleep(60)
    except EXCHANGE_ERRORS:
        await device.sleep(1)
        await device.read("target")
        await (device.sleep(9999) if wrong else reads_once_more(device, wrong=wrong))


async def loses_its_token(device: FleetDevice, *, wrong: bool) -> None:
    """Write; the wrong one never activates again."""
    while True:
        try:
            await device.write(temperature=21)
        except EXCHANGE_ERRORS:
            if not wrong:
                await device.activate(anew=True)
        await device.sleep(60)


async def holds(device: FleetDevice, *, wrong: bool) -> None:
    """Hold polls of five minutes from the fault on; the wrong one sleeps for as long between two of them."""
    await device.sleep(60)
    with suppress(*EXCHANGE_ERRORS):
        await device.write(temperature=21)
    while True:
        await device.wait_for("target", 300)
        await device.sleep(300 if wrong else 1)


async def held_before(device: FleetDevice, *, wrong: bool) -> None:
    """Write beside polls; the poll of the wrong one has begun before the fault, and holds until the end."""
    await device.sleep(59 if wrong else 61)
    await device.wait_for("target", 300)


ONCE = {"cut": "before", "after": 60, "first": 1, "identity": "t-001"}
LOST = DrawnFault("request lost", {"where": "GET /onep:v1/stack/alias", **ONCE})
CUT = DrawnFault("request lost", {"where": ALIAS, **ONCE})
BESIDE = DrawnFault("request lost", {"where": ALIAS, **ONCE, "identity": "t-002"})
NO_TOKEN = DrawnFault("lost credential", {"after": 120, "devices": ["t-001"]})
SILENT = "thermostat/t-001 recovered after the last fault, but then was silent for more than 120 s, after "
NOT_YET = "thermostat/t-001 has not recovered 120 s after the last fault: its last request was "


@pytest.mark.parametrize(
    ("life", "fault", "minutes", "reason"),
    [
        (reads_at_once, LOST, 3, NOT_YET + "GET /onep:v1/stack/alias, fault request lost 1: cut before"),
        (
            reads_once_more,
            CUT,
            9,
            SILENT + "GET /onep:v1/stack/alias, 204",
        ),
        (
            loses_its_token,
            NO_TOKEN,
            4,
            NOT_YET
            + f"{ALIAS}, 204; 2 later requests reached thermostat with an unknown token, the last was {ALIAS}, 401",
        ),
        (holds, CUT, 25, SILENT + "GET /onep:v1/stack/alias, 304"),
        (held_before, BESIDE, 4, NOT_YET + "GET /onep:v1/stack/alias, which waits since before"),
    ],
)
def test_who_recovers_and_who_only_seems_to(life: Any, fault: DrawnFault, minutes: int, reason: str) -> None:
    """By the order of records in one moment, silence after a recovery, unknown tokens, and polls from before."""

    def act(lab: Lab, draw: Draw, *, wrong: bool) -> None:
        class Lives(Behaviour):
            async def run(self, device: FleetDevice) -> None:
                await life(device, wrong=wrong)

        home(lab)[0].fleet({Lives: 1, Writes: 1}).start(hours=1)
        lab.wait(minutes=minutes)

    def judge(*, wrong: bool) -> Verdict:
        return judged(lambda lab, draw: act(lab, draw, wrong=wrong), recovers_within(120), fault)

    right, wrong = judge(wrong=False), judge(wrong=True)
    assert (right.state, wrong.state, wrong.reason) == ("kept", "broken", reason)


def test_the_last_answer_after_a_recovery_is_no_error() -> None:
    def act(lab: Lab, draw: Draw) -> None:
        lab.faults.add(ALIAS, status=503, after=270)  # is none of the play's
        outage(Writes)(lab, draw)
        lab.wait(minutes=3)

    verdict = judged(act, recovers_within(120), CUT)
    assert verdict.reason == (
        f"thermostat/t-001 recovered after the last fault, but the last answer that it got was {ALIAS}, 503"
    )


def test_a_device_is_not_silent_between_two_runs_and_while_the_platform_is_down() -> None:
    def act(lab: Lab, draw: Draw) -> None:
        fleet = home(lab)[0].fleet(1, Writes)
        fleet.start(minutes=5).wait()
        lab.wait(minutes=30)
        run = fleet.start(minutes=30)
        lab.wait(minutes=5)
        lab.restart(down=600)
        run.wait()

    assert judged(act, recovers_within(120), CUT).state == "kept"


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
        end = StoryEnd(lab.clock.time, lab.clock.time - 600)
        lab.journal.canonical()  # which makes the details, as each play does anyway
        for watch in watches:
            began = process_time()
            assert watch.verdict(end).state in ("kept", "untested")
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
