"""Promises that a function judges, and those about records: kept, broken, never put to the test, and failed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from labkit import Behaviour, Lab, LabError, hunt
from labkit.fleet.fleet_device import FleetDevice
from labkit.hunt import Draw, DrawnFault, Promise, Story, always, eventually, never, nothing_lost, play, story
from labkit.hunt.kinds import GROUPS, KINDS, kinds_of
from labkit.hunt.promises.ready import (
    no_script_failed,
    no_unexpected_status,
    nothing_doubled,
    quotas_kept,
    recovers_within,
    requests_bounded,
    seen_within,
)
from labkit.lab.delays import PendingCall
from tests.hunt.judged import ALIAS, RESOURCES, Polls, Writes, home, judged, played

START = 1_767_225_600
REFUSED_ONCE = DrawnFault("request error", {"where": ALIAS, "status": 503, "first": 1})
HUNT: Any = hunt  # for arguments of wrong types


def reports(lab: Lab, draw: Draw) -> None:
    product, _ = home(lab)
    product.fleet(2, Writes).run(minutes=5)


def silent(lab: Lab, draw: Draw) -> None:
    lab.wait(minutes=5)


def count_of(lab: Lab) -> int:
    return int(lab.solution("thermostat-app").Keystore.get(key="n").get("value") or 0)


# --- always


def test_always_is_checked_while_the_story_goes_on_and_at_its_end() -> None:
    looks: list[float] = []

    def looked(lab: Lab) -> bool:
        looks.append(lab.clock.time - START)
        return True

    verdict = judged(reports, always(looked, every=90))
    assert (verdict.promise, verdict.state, verdict.reason) == ("always looked", "kept", "")
    assert looks == [90, 180, 270, 300]


def test_a_check_reads_what_devices_noted() -> None:
    class Notes(Behaviour):
        async def run(self, device: FleetDevice) -> None:
            await device.write(temperature=21)
            device.note(count=device.number)

    def noting(lab: Lab, draw: Draw) -> None:
        product, _ = home(lab)
        for prefix in ("a-", "b-"):
            product.fleet(1, Notes, prefix=prefix).run(minutes=2)

    def noted(lab: Lab) -> bool:
        return [note.value for run in lab.runs for note in run.notes()] == [1, 1]

    assert judged(noting, eventually(noted)).state == "kept"


def test_always_names_the_first_breach() -> None:
    looks: list[float] = []

    def few(lab: Lab) -> None:
        looks.append(lab.clock.time - START)
        assert len(lab.journal.select("event")) < 10, "too many events"

    verdict = judged(reports, always(few, every=50))
    assert (verdict.state, verdict.reason, verdict.at) == ("broken", "too many events", START + 150)
    assert looks == [50, 100, 150]
    assert verdict.record is not None


@pytest.mark.parametrize(
    ("result", "state", "reason"),
    [
        (None, "kept", ""),
        (True, "kept", ""),
        (False, "broken", "its check returned False"),
        ("the stock is\nnegative", "broken", "the stock is negative"),
        ("", "broken", "its check returned an empty text"),
        (0, "failed", "its check returned 0; expected True, None, False or a text"),
        (AssertionError(), "broken", "its assertion does not hold"),
        (KeyError("ä\x1b[31m"), "failed", "its check raised KeyError: 'ä\\x1b[31m'"),
    ],
)
@pytest.mark.parametrize("promise", [always, eventually])
def test_what_a_check_returns(promise: Any, result: Any, state: str, reason: str) -> None:
    def check(lab: Lab) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    verdict = judged(reports, promise(check))
    assert verdict.state == state
    place = r" \(test_promises\.py:\d+\)" if state == "failed" else ""
    assert re.search(f"{re.escape(reason)}{place}$", verdict.reason)


@pytest.mark.parametrize("promise", [always, eventually])
def test_a_story_in_which_nothing_happens_tests_no_check(promise: Any) -> None:
    assert judged(silent, promise(lambda lab: True)).state == "untested"


def test_looks_change_nothing_of_a_play() -> None:
    """Neither its journal nor its order, for several seeds; and plays of a seed with looks are equal."""

    def busy(lab: Lab, draw: Draw) -> object:
        product, app = home(lab)
        lab.faults.add("Keystore.*", delay=(0, 50), chance=0.5)
        lab.faults.add("device datapoint", late=7, chance=0.3)
        run = product.fleet({Writes: 3, Polls: 2}).start(minutes=10)
        for place in range(3):
            lab.at(70 + place, lambda: app.Keystore.get(key="n"))
        for target in range(4):
            lab.wait(seconds=draw.number(30, 90))
            app.Device2.setIdentityState(pid="thermostat", identity="t-004", target=target)
        lab.restart(down=5)
        return run.wait().devices().to_csv()

    seen: list[tuple[float, int, int]] = []

    def look(lab: Lab) -> None:
        for run in lab.runs:
            assert (run.notes(), len(run.devices())) == ([], 5)
        seen.append(
            (lab.clock.time, len(lab.journal.select("call")), len(lab.sql("select * from datapoint")))
        )

    for seed in (1, 2):
        bare = played(busy, [], seed=seed)
        promises = [always(look, every=7), always(look, every=60, name="other"), eventually(look)]
        first, second = played(busy, promises, seed=seed), played(busy, promises, seed=seed)
        assert first.journal == bare.journal
        assert (first.result, first.drawn) == (bare.result, bare.drawn)
        assert first == second
    assert len(seen) > 200


@pytest.mark.parametrize("does", [{"delay": 15}, {"status": 503, "chance": 0.5}])
def test_no_fault_hits_the_service_calls_of_a_look(does: dict[str, Any]) -> None:
    """They are in the journal, plays are equal, and the faults hit the same calls of handlers as without looks."""
    times: list[float] = []

    def counted(lab: Lab) -> None:
        began = lab.clock.time
        assert count_of(lab) <= 10
        times.append(lab.clock.time - began)

    fault = DrawnFault("call delay", {"where": "Keystore.*", **does})
    plays = [played(reports, [always(counted, every=20)], fault, seed=3) for _ in range(2)]
    assert plays[0] == plays[1]
    assert plays[0].verdicts[0].state == "kept"
    assert set(times) == {0.0}
    assert plays[0].journal.count("Keystore.get") == len(times) / 2 == 16
    bare = played(reports, [], fault, seed=3)
    for each in ('"fault"', "Keystore.command"):
        assert plays[0].journal.count(each) == bare.journal.count(each) > 0


def test_requests_of_a_check_are_those_of_a_client() -> None:
    def open_app(lab: Lab, draw: Draw) -> None:
        home(lab)[1].route("GET", "/n", lambda services: services.Keystore.get(key="n"))
        reports(lab, draw)

    def asked(lab: Lab) -> bool:
        return lab.solution("thermostat-app").get("/n").status_code == 200

    fault = DrawnFault("call delay", {"where": "Keystore.*", "delay": 3})
    plays = [played(open_app, [always(asked, every=50)], fault, seed=3) for _ in range(2)]
    assert plays[0] == plays[1]
    assert plays[0].verdicts[0].state == "kept"
    assert plays[0].journal.count("GET /n") > 5


def test_looks_keep_no_wait_from_an_end() -> None:
    """A wait that nothing can end raises, though a promise would be checked for ever."""

    def waits(lab: Lab, draw: Draw) -> None:
        calls: list[PendingCall[None]] = []
        calls.append(lab.begin(lambda: calls[0].result()))  # noqa: PLW0108  it is not there yet
        with pytest.raises(LabError, match="nothing is due"):
            calls[0].result()
        lab.wait(seconds=5)

    looks: list[float] = []
    judged(waits, always(lambda lab: looks.append(lab.clock.time - START), every=1))
    assert looks[-3:] == [4, 5, 5]


def test_a_promise_and_restarts() -> None:
    """Looks go on after restarts, and see what is left."""

    def restarts(lab: Lab, draw: Draw) -> None:
        product, _ = home(lab)
        run = product.fleet(2, Writes).start(minutes=5)
        for _ in range(3):
            lab.wait(seconds=45)
            lab.restart(down=10)
        run.wait()

    looks: list[int] = []

    def grows(lab: Lab) -> bool:
        looks.append(count_of(lab))
        return looks == sorted(looks)

    assert judged(restarts, always(grows, every=30)).state == "kept"
    assert looks[-1] > 4
    assert judged(restarts, never(kind="restart")).reason == "restart platform lost its power"


# --- eventually


def test_eventually_waits_while_lab_time_passes() -> None:
    def later(lab: Lab, draw: Draw) -> None:
        product, _ = home(lab)
        product.fleet(2, Writes).start(minutes=30)
        lab.wait(minutes=2)

    verdict = judged(later, eventually(lambda lab: count_of(lab) >= 20, within=600))
    assert verdict.state == "kept"
    verdict = judged(later, eventually(lambda lab: count_of(lab) >= 20, within=60))
    assert verdict.state == "broken"
    assert verdict.reason == (
        "expected within 60 s after the end of the story; "
        "still broken at the last look, 60 s after it: its check returned False"
    )
    assert verdict.at == START + 180


def test_eventually_counts_from_the_last_fault() -> None:
    fault = DrawnFault("request error", {"where": ALIAS, "status": 503})

    def later(lab: Lab, draw: Draw) -> None:
        product, _ = home(lab)
        product.fleet(2, Writes).start(minutes=30)
        lab.wait(minutes=2)

    assert judged(later, eventually(lambda lab: count_of(lab) > 0, within=60), fault).state == "kept"
    verdict = judged(later, eventually(lambda lab: count_of(lab) > 9, within=60), fault)
    assert verdict.reason == (
        "expected within 60 s after the end of the last fault; "
        "still broken at the last look, 60 s after it: its check returned False"
    )


def test_eventually_counts_from_the_end_of_a_story_that_is_later_than_the_last_fault() -> None:
    """Calls that are at work at the end have the same time as without the fault."""

    def long(lab: Lab, draw: Draw) -> None:
        product, app = home(lab)
        product.fleet(2, Writes).start(minutes=30)
        lab.wait(minutes=5)
        lab.at(30, lambda: app.Keystore.set(key="copy", value="1"))

    def copied(lab: Lab) -> bool:
        return "value" in lab.solution("thermostat-app").Keystore.get(key="copy")

    assert judged(long, eventually(copied, within=60), REFUSED_ONCE).state == "kept"
    verdict = judged(long, eventually(copied, within=20), REFUSED_ONCE)
    assert verdict.reason == (
        "expected within 20 s after the end of the story, which was later than that of the last fault; "
        "still broken at the last look, 20 s after it: its check returned False"
    )


# --- never


@pytest.mark.parametrize(
    ("given", "state", "reason"),
    [
        ({"kind": "error"}, "kept", ""),
        ({"kind": "script", "status": "5xx"}, "kept", ""),
        ({"kind": "script", "status": [204, "50x"]}, "broken", "script 204 thermostat-app device datapoint"),
        ({"status": 204, "identity": "t-00?"}, "untested", ""),
        ({"status": 204, "identity": "t-*2"}, "broken", "204 thermostat/t-002 POST /onep:v1/stack/alias"),
        (
            {"kind": "event", "product": "thermostat", "identity": "t-*9"},
            "untested",
            "the lab has no device 't-*9'",
        ),
        ({"kind": "event", "product": "lamp"}, "untested", "the lab has no product 'lamp'"),
        ({"kind": "output", "actor": "t*"}, "kept", ""),
        ({"kind": ["call", "event"], "summary": "data*point"}, "broken", "event thermostat/t-001 datapoint"),
        ({"kind": "call", "where": lambda each: each.time > 1e18}, "kept", ""),
        ({"kind": "log", "where": lambda each: True}, "untested", ""),
        ({"kind": "call", "where": lambda each: each.detail["nope"]}, "failed", "its code raised KeyError"),
    ],
)
def test_never(given: dict[str, Any], state: str, reason: str) -> None:
    verdict = judged(reports, never(**given))
    assert (verdict.state, verdict.reason[: len(reason)]) == (state, reason)
    assert (verdict.record is None) == (state != "broken")


def test_never_in_a_story_in_which_nothing_happens() -> None:
    assert judged(silent, never(kind="error")).state == "untested"


def test_never_tells_two_tenants_apart() -> None:
    def twins(lab: Lab, draw: Draw) -> None:
        for name in ("a", "b"):
            home(lab, name)[0].fleet(1, Writes, identities=["t-001"]).run(minutes=1)

    record = judged(twins, never(kind="request", product="b", identity="t-001")).record
    assert record is not None
    assert record > 1
    assert judged(twins, never(kind="request", product="c", identity="t-001")).state == "untested"


# --- arguments


def test_promises_name_the_kinds_of_faults_under_which_they_hold() -> None:
    def check(lab: Lab) -> None: ...

    assert always(check).under == KINDS
    assert always(check, under="calls").under == {"call delay", "call error", "call error after"}
    assert never(kind="error", under=["event late", "order"]).under == {"event late", *GROUPS["order"]}
    assert "event lost" not in nothing_lost().under
    assert {"event doubled", "request cut after"} <= nothing_lost().under
    assert not {"event doubled", "request cut after"} & nothing_doubled().under
    assert nothing_doubled(under="event doubled").under == {"event doubled"}
    assert kinds_of("events", except_for="event late") == {"event lost", "event doubled", "event delay"}
    for every in (no_script_failed(), recovers_within(9), seen_within(9), requests_bounded(1)):
        assert every.under == KINDS
    assert "full quota" not in quotas_kept().under
    assert "lost credential" not in no_unexpected_status().under


def test_a_promise_is_not_judged_in_a_play_with_other_kinds() -> None:
    fault = DrawnFault("event lost", {"where": "device datapoint", "lost": True})
    found = played(reports, [nothing_lost(), no_script_failed()], fault)
    assert [each.promise for each in found.verdicts] == ["no_script_failed"]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: HUNT.always(3), "always: expected a function of the lab, not 3"),
        (lambda: HUNT.always(len, every=0), "always: every: expected seconds, above 0, not 0"),
        (lambda: HUNT.always(len, every="x"), "always: every: expected a number, not 'x'"),
        (lambda: HUNT.always(len, name=""), "name: expected a text, not ''"),
        (lambda: HUNT.always(len, under="evnts"), "evnts"),
        (lambda: HUNT.always(len, under=3), "expected names of kinds of faults, not 3"),
        (lambda: HUNT.eventually(len, within=-1), "eventually: within: expected seconds, 0 or more, not -1"),
        (HUNT.never, "never: expected a condition"),
        (lambda: HUNT.never(kind="reqest"), "reqest"),
        (lambda: HUNT.never(status="6xx"), "status: expected a number such as 503, or 5xx, not '6xx'"),
        (lambda: HUNT.never(status=True), "not True"),
        (lambda: HUNT.never(identity=3), "identity: expected a text or several, not 3"),
        (lambda: HUNT.never(kind=[]), r"kind: expected a text or several, not \[\]"),
        (lambda: HUNT.never(where=3), "where: expected a function of a record, not 3"),
        (
            lambda: HUNT.requests_bounded(1.5),
            "requests_bounded: most: expected a number of requests, not 1.5",
        ),
        (lambda: HUNT.requests_bounded(1, per=0), "requests_bounded: per: expected seconds, above 0, not 0"),
        (lambda: HUNT.recovers_within(0), "recovers_within: seconds: expected seconds, above 0, not 0"),
        (lambda: HUNT.seen_within(-3), "seen_within: seconds: expected seconds, above 0, not -3"),
        (lambda: HUNT.no_unexpected_status("4x"), "status: expected a number such as 503, or 5xx, not '4x'"),
    ],
)
def test_wrong_arguments(make: Any, text: str) -> None:
    with pytest.raises(LabError, match=text):
        make()


def test_two_promises_of_a_name_are_refused() -> None:
    promises: list[Promise] = [nothing_lost(), nothing_lost(under="calls")]
    with pytest.raises(LabError, match="two have the name 'nothing_lost'"):
        Story(reports, {}, promises)


def test_a_play_raises_the_first_promise_that_is_not_kept() -> None:
    @story(promises=[never(kind="error"), never(kind="event", summary="datapoint")])
    def told(lab: Lab, draw: Draw) -> None:
        lab.product("thermostat", resources=RESOURCES).fleet(1, Writes).run(minutes=1)

    with pytest.raises(
        LabError, match="never kind=event, summary=datapoint' is broken: event thermostat/t-001"
    ):
        play(told, 1)
