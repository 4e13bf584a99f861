"""Timer: events after a time and at intervals; two solutions, restarts, jumps of the clock, snapshots and forks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit import Lab, Solution
from labkit.fleet.behaviours import Thermostat
from labkit.labtime.events import LANE_CAPACITY
from labkit.platform import Platform
from labkit.services.timer import service as timers
from labkit.settings import LabSettings, SolutionSettings, build
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
