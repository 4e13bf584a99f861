"""Timers over restarts, resets, snapshots and forks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit import Lab, Solution
from tests.services.test_timer import KEEP, START, fired, solution


def story(lab: Lab, acme: Solution, other: Solution) -> list[Any]:
    lab.clock.advance(seconds=10)
    return [fired(acme), fired(other), [(each.kind, each.cause, each.time) for each in lab.journal]]


def test_what_came_due_between_two_starts_fires_once(tmp_path: Path) -> None:
    data = str(tmp_path / "lab.db")
    (tmp_path / "solution" / "services").mkdir(parents=True)
    (tmp_path / "solution" / "services" / "timer_timer.lua").write_text(KEEP)

    def solution(lab: Lab, name: str = "acme") -> Solution:
        return lab.solution(name, path=tmp_path / "solution")

    with Lab(data=data, speed=0, start=START) as lab:
        acme, other = solution(lab), solution(lab, "other")
        other.Timer.sendAfter(duration=60_000, timer_id="b")
        acme.Timer.sendAfter(duration=10_000, timer_id="second", message={"a": 1})
        acme.Timer.sendAfter(duration=10_000, timer_id="first")
        acme.Timer.sendAfter(duration=10_000, timer_id="second", message={"a": 2})
        acme.Timer.sendInterval(duration=4_000, timer_id="interval")
        lab.clock.advance(seconds=5)
    with Lab(data=data, speed=0, start=START + 30) as lab:
        lab.clock.advance(seconds=60)
        acme = solution(lab)  # its timers wait for it
        lab.settle()
        assert fired(acme) == ["interval", "interval", "first", "second"]
        assert [each["due"] for each in acme.Timer.list()["timers"]] == [START + 92]
        lab.clock.advance(seconds=2)
        assert fired(acme)[4:] == ["interval"]
        assert acme.Timer.sendAfter(duration=1, timer_id="c") == {"timer_id": "c", "result": "ok"}
        other = solution(lab, "other")
        lab.settle()
        assert fired(other) == ["b"]


def test_a_snapshot_continues_as_its_lab() -> None:
    with Lab(seed=7) as lab:
        acme, other = solution(lab), solution(lab, "other")
        acme.route("POST", "/later", lua="return Timer.sendAfter(request.body)")
        acme.Timer.sendInterval(duration=3000, timer_id="interval")
        acme.post("/later", json={"duration": 6000, "timer_id": "once"})
        other.Timer.sendAfter(duration=6000, timer_id="once")
        lab.clock.advance(seconds=4)
        snapshot = lab.snapshot()
        first = story(lab, acme, other)
        assert first[:2] == [["interval", "interval", "once", "interval", "interval"], ["once"]]
        acme.Timer.cancelAll()
        lab.restore(snapshot)
        assert story(lab, acme, other) == first
    with Lab(seed=7) as another:
        another.restore(snapshot)
        assert story(another, another.solution("acme"), another.solution("other")) == first


def test_a_snapshot_without_power_continues_as_its_lab() -> None:
    with Lab(seed=7) as lab:
        acme = solution(lab)
        acme.Timer.sendInterval(duration=4000, timer_id="interval")
        acme.Timer.sendAfter(duration=3000, timer_id="once")
        lab.restart(down=10)
        lab.clock.advance(seconds=5)
        snapshot = lab.snapshot()
        for _ in range(2):
            lab.clock.advance(seconds=4.5)
            assert fired(acme) == []
            lab.restore(snapshot)
            lab.clock.advance(seconds=7.5)
            assert fired(acme) == ["once", "interval", "interval"]
            lab.restore(snapshot)


def test_forks_have_their_own_timers() -> None:
    def future(lab: Lab, seconds: int) -> list[str]:
        acme = lab.solution("acme")
        acme.Timer.sendAfter(duration=500, timer_id=f"in {seconds}")
        lab.clock.advance(seconds=seconds)
        return fired(acme)

    with Lab(seed=7) as lab:
        acme = solution(lab)
        acme.Timer.sendInterval(duration=1000, timer_id="interval")
        assert lab.fork(future, over=[1, 2]).results == [
            ["in 1", "interval"],
            ["in 2", "interval", "interval"],
        ]
        lab.clock.advance(seconds=1)
        assert fired(acme) == ["interval"]
