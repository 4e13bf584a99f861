"""Timer: events after a time and at intervals; two solutions, restarts, jumps of the clock, snapshots and forks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labkit import Lab, Solution
from labkit.fleet.behaviours import Thermostat
from labkit.labtime.events import LANE_CAPACITY
from labkit.platform import Platform
from labkit.services.timer import service as timers
from labkit.settings import LabSettings, SolutionSettings, build
from tests.cases import cases
from tests.services.keystore.test_full import limit

KEEP = "Keystore.command({key = 'fired', command = 'rpush', args = {request.timer_id}})"
START = 1_767_225_600


def solution(lab: Lab, name: str = "acme", lua: str = KEEP) -> Solution:
    made = lab.solution(name)
    made.on("timer", "timer", lua=lua)
    return made


def fired(made: Solution) -> list[str]:
    return list(made.Keystore.command(key="fired", command="lrange", args=[0, -1])["value"])


def ids(made: Solution) -> list[str]:
    return list(made.Timer.list()["list"])


def test_a_script_gets_its_message_once_at_its_time() -> None:
    with Lab(seed=7) as lab:
        acme = solution(lab, lua="Keystore.set({key = 'got', value = to_json({request, message})})")
        message = {"alert": ["é", 1.5, True], "to": {"sn": "t-001"}}
        given = acme.Timer.sendAfter(message=message, duration=1500, timer_id="t-001_alert")
        assert given == {"timer_id": "t-001_alert"}
        lab.clock.advance(seconds=1.499)
        assert acme.Keystore.get(key="got") == {}
        lab.clock.advance(seconds=0.001)
        raised = {"message": message, "timer_id": "t-001_alert", "solution_id": "acme"}
        assert acme.Keystore.get(key="got")["value"] == to_json([raised] * 2)
        assert ids(acme) == []


def to_json(value: Any) -> str:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        acme.route("POST", "/", lua="return to_json(request.body)")
        return str(acme.post("/", json=value).text)


def test_two_solutions_have_timers_of_the_same_ids() -> None:
    with Lab(seed=7) as lab:
        acme, other = solution(lab), solution(lab, "other")
        for each, duration in ((acme, 1000), (other, 2000)):
            each.Timer.sendAfter(duration=duration, timer_id="a")
            each.Timer.sendAfter(duration=5000, timer_id="b/é漢")
        acme.Timer.cancel(timer_id="b/é漢")
        lab.clock.advance(seconds=1)
        assert (fired(acme), fired(other)) == (["a"], [])
        acme.Timer.cancelAll()
        lab.clock.advance(seconds=5)
        assert (fired(acme), fired(other)) == (["a"], ["a", "b/é漢"])


def test_of_one_moment_the_first_set_fires_first() -> None:
    with Lab(seed=7) as lab:
        acme = solution(lab)
        acme.Timer.sendInterval(duration=1000, timer_id="interval")
        acme.Timer.sendAfter(duration=3000, timer_id="first")
        acme.Timer.sendAfter(duration=3000, timer_id="second")
        acme.Timer.sendAfter(duration=3000, timer_id="first")  # set anew: the last one now
        assert ids(acme) == ["interval", "second", "first"]
        lab.clock.advance(seconds=3)
        assert fired(acme) == ["interval"] * 3 + ["second", "first"]


def test_an_id_is_made_from_the_seed() -> None:
    made = []
    for seed in (7, 7, 8):
        with Lab(seed=seed) as lab:
            acme, other = solution(lab), solution(lab, "other")
            made.append([each.Timer.sendAfter(duration=1)["timer_id"] for each in (acme, acme, other)])
    assert made[0] == made[1] != made[2]
    assert len({*made[0]}) == 3


def test_a_day_of_a_second_fires_at_each_second() -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        seen: list[float] = []
        acme.on("timer", "timer", lambda request, now: seen.append(now()))
        acme.Timer.sendInterval(duration=1000)
        lab.clock.advance(minutes=30)
        assert seen == [START + number for number in range(1, 1801)]


@cases(
    "given",
    [
        {"duration": 999, "interval": True},
        {"duration": -1},
        {"duration": True},
        {"duration": "soon"},
        {"duration": float("nan")},
        {"duration": timers.LONGEST + 1},
        {},
        {"duration": 1, "timer_id": ""},
        {"duration": 1, "timer_id": "x" * 201},
        {"duration": 1, "timer_id": {"a": 1}},
        {"duration": 1, "message": "x" * 8192},
        {"duration": 1, "message": {"x": ["x" * 4000, "x" * 4192]}},
    ],
)
def test_what_is_refused_sets_nothing(given: dict[str, Any]) -> None:
    with Lab(seed=7) as lab:
        acme = solution(lab)
        operation = "sendInterval" if given.pop("interval", False) else "sendAfter"
        assert acme.call("Timer", operation, given)["status"] == 400
        assert acme.Timer.list() == {"list": [], "timers": [], "result": "ok"}


def test_bounds_that_are_accepted() -> None:
    with Lab(seed=7) as lab:
        acme = solution(lab)
        acme.Timer.sendAfter(duration=0, timer_id="now", message="x" * 8191)
        acme.Timer.sendAfter(duration="1.6", timer_id=17)
        acme.Timer.sendInterval(duration=1000, timer_id="x" * 200)
        acme.Timer.sendAfter(duration=timers.LONGEST, timer_id="in a century")
        lab.clock.advance(seconds=1)
        assert fired(acme) == ["now", "17", "x" * 200]
        assert ids(acme) == ["x" * 200, "in a century"]


def test_a_solution_has_at_most_10000_timers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timers, "MOST_TIMERS", 3)
    with Lab(seed=7) as lab:
        acme, other = solution(lab), solution(lab, "other")
        for name in "abc":
            assert "error" not in acme.Timer.sendAfter(duration=1000, timer_id=name)
        assert acme.Timer.sendAfter(duration=1, timer_id="d")["status"] == 403
        assert "error" not in acme.Timer.sendAfter(duration=2000, timer_id="a")
        assert "error" not in other.Timer.sendAfter(duration=1000, timer_id="d")
        acme.Timer.cancel(timer_id="b")
        assert "error" not in acme.Timer.sendAfter(duration=1000, timer_id="d")
        assert acme.Timer.cancel(timer_id="nobody") == {"result": "ok"}


def test_a_handler_cancels_its_own_interval() -> None:
    with Lab(seed=7) as lab:
        acme = solution(
            lab,
            lua=KEEP + " if request.message == 'once' then Timer.cancel({timer_id = request.timer_id}) end",
        )
        acme.Timer.sendInterval(duration=1000, timer_id="once", message="once")
        acme.Timer.sendInterval(duration=2000, timer_id="on")
        lab.clock.advance(seconds=5)
        assert fired(acme) == ["once", "on", "on"]


def test_a_handler_sets_its_timer_anew() -> None:
    lua = KEEP + " Timer.sendAfter({timer_id = request.timer_id, duration = 2000, message = 2})"
    with Lab(seed=7) as lab:
        acme = solution(lab, lua=lua)
        acme.Timer.sendAfter(duration=1000, timer_id="again")
        lab.clock.advance(seconds=7)
        assert fired(acme) == ["again"] * 4


async def test_a_removed_solution_takes_its_timers_along() -> None:
    async with Platform(seed=7) as platform:
        seen: list[str] = []
        for name in ("acme", "other", "acme"):
            if name in platform.context.solutions:
                await platform.solutions.remove(name)
            made = await platform.solutions.add(build(SolutionSettings, {"id": name}, ""))
            made.on(
                "timer",
                "timer",
                lambda request: seen.append(f"{request['solution_id']} {request['timer_id']}"),
            )
            if len(platform.context.solutions) == 1 or name == "other":
                await platform.call(name, "Timer", "sendAfter", {"duration": 1000, "timer_id": "a"})
        assert await platform.call("acme", "Timer", "list") == {"list": [], "timers": [], "result": "ok"}
        await platform.context.clock.advance(seconds=2)
        assert seen == ["other a"]


def some_time_of_a_fleet() -> tuple[str, list[str]]:
    after = "Timer.sendAfter({duration = 1500, timer_id = data.device_sn}) "
    lua = after + "Scripts.trigger({event = 'job', mode = 'async'})"
    with Lab(seed=3) as lab:
        product = lab.product("thermostat", resources={"temperature": "number"})
        solutions = [lab.solution(name, products=[product]) for name in ("acme", "other")]
        for each in solutions:
            each.on("device", "datapoint", lua=lua)
            each.on("timer", "timer", lua=KEEP)
            each.on(
                "scripts", "job", lua="Keystore.command({key = 'fired', command = 'rpush', args = {'job'}})"
            )
            each.Timer.sendInterval(duration=1000, timer_id="tick")
        product.fleet(5, Thermostat(every=5)).run(seconds=20)
        return lab.journal.canonical(), [name for each in solutions for name in fired(each)]


def test_a_seed_repeats_timers_and_triggers_beside_a_fleet() -> None:
    first = some_time_of_a_fleet()
    assert some_time_of_a_fleet() == first
    assert {"tick", "job"} < set(first[1])


def test_an_interval_whose_handler_is_slow_queues_no_more_than_a_source_may() -> None:
    """The first run waits for two hours, while the interval comes due 7200 times: 1000 events wait, and one more."""
    with Lab(seed=7) as lab:
        acme, other = solution(lab), solution(lab, "other")
        lab.faults.add("Keystore.command", solution="acme", delay=7200, first=1)
        acme.Timer.sendInterval(duration=1000, timer_id="interval")
        for name in ("once", "cancelled", "later"):
            acme.Timer.sendAfter(duration=3600 * 1000, timer_id=name)
        other.Timer.sendAfter(duration=1000, timer_id="other")
        lab.clock.advance(hours=1.5)
        assert (fired(other), ids(acme)) == (["other"], ["once", "cancelled", "later", "interval"])
        acme.Timer.cancel(timer_id="cancelled")
        lab.clock.advance(seconds=1801)
        found = fired(acme)
        assert len(found) == LANE_CAPACITY + 3  # the first one is among those
        assert found[-3:] == ["interval", "once", "later"]


async def test_a_timer_that_cannot_be_stored_is_not_set(tmp_path: Path) -> None:
    settings = build(LabSettings, {"data": str(tmp_path / "lab.db"), "https_port": 0}, "")
    async with Platform(settings, seed=7) as platform:
        acme = await platform.solutions.add(build(SolutionSettings, {"id": "acme"}, ""))
        seen: list[object] = []
        acme.on("timer", "timer", lambda request: seen.append(request["message"]))
        await platform.call(
            "acme", "Timer", "sendAfter", {"duration": 1000, "timer_id": "a", "message": "before"}
        )
        await platform.context.database.read(limit, 0)
        for number in range(10):  # until the last page is full
            given = {"duration": 1000, "timer_id": "a", "message": "x" * 8000}
            refused: Any = await platform.call("acme", "Timer", "sendAfter", given)
            given = {"duration": 1000, "timer_id": f"b{number}", "message": "x" * 8000}
            also: Any = await platform.call("acme", "Timer", "sendAfter", given)
            assert (refused["status"], also["status"]) == (507, 507)
        await platform.context.database.read(limit, 1000)
        await platform.context.clock.advance(seconds=2)
        assert seen == ["before"]


def test_a_timer_may_be_seen_in_sql_and_its_event_names_the_run_that_set_it() -> None:
    with Lab(seed=7) as lab:
        acme = solution(lab)
        acme.route(
            "GET", "/set", lua="return Timer.sendAfter({duration = 1000, timer_id = 'x', message = {a = 1}})"
        )
        acme.get("/set")
        table = lab.sql("select solution, timer_id, message, duration, repeats, due from timer")
        assert table.values.tolist() == [["acme", "x", '{"a": 1}', 1000, 0, (START + 1) * 1_000_000]]
        lab.clock.advance(seconds=1)
        [run] = [
            each.sequence for each in lab.journal if each.kind == "script" and each.summary == "GET /set"
        ]
        [event] = [each for each in lab.journal if each.kind == "event"]
        assert (event.actor, event.summary, event.cause) == ("acme/timer", "timer", run)


async def test_a_platform_without_timers_has_none_on_its_clock() -> None:
    async with Platform(seed=7) as platform:
        await platform.solutions.add(build(SolutionSettings, {"id": "acme"}, ""))
        await platform.call("acme", "Timer", "sendInterval", {"duration": 1000})
        assert platform.context.clock.next_timer() == START + 1
        await platform.call("acme", "Timer", "cancelAll")
        assert platform.context.clock.next_timer() == float("inf")


def test_the_journal_has_messages_without_values_that_sound_secret() -> None:
    with Lab(seed=7) as lab:
        acme = solution(lab, lua="Keystore.set({key = 'got', value = request.message.password})")
        acme.Timer.sendAfter(duration=1000, message={"name": "é", "password": "open sesame"})
        lab.clock.advance(seconds=1)
        assert acme.Keystore.get(key="got") == {"value": "open sesame"}
        details = [each.detail for each in lab.journal if each.summary in ("Timer.sendAfter", "timer")]
        assert len(details) == 2
        assert all("open sesame" not in repr(each) and "'name': 'é'" in repr(each) for each in details)
