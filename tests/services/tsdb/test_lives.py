"""Time series over resets, restarts, snapshots, forks and removals, and two solutions with the same names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit import Lab, Solution
from tests.services.tsdb.series_rig import SeriesRig


def write(solution: Solution, value: int) -> None:
    assert solution.Tsdb.write(metrics={"m": value}, tags={"sn": "a"}) == {}
    assert solution.Timeseries.write(query=f"m,sn=a value={value}i") == {}


def seen(solution: Solution) -> list[Any]:
    """Return what both services have, without the times."""
    found = solution.Timeseries.query(q="SELECT value FROM m")["results"][0].get("series", [])
    rows = solution.Tsdb.query(metrics=["m"])["values"]
    return [[value for _, value in rows], [value for each in found for _, value in each["values"]]]


async def test_the_services_and_two_solutions_do_not_see_each_other() -> None:
    rig = SeriesRig()
    await rig.write(0, m=1)
    await rig.write(0, "other", m=2)
    assert await rig.call("Timeseries.write", "other", query="m,sn=a m=3i") == {}
    assert await rig.values("m") == [(0, 1)]
    assert await rig.call("Timeseries.command", q="SHOW MEASUREMENTS") == {"results": [{}]}
    assert await rig.call("Tsdb.deleteAll") == {}
    assert await rig.values("m") == []
    assert (await rig.call("Tsdb.query", "other", metrics="m", epoch="s"))["values"][0][1] == 2
    assert await rig.call("Timeseries.command", "other", q="DROP MEASUREMENT m") == {"results": [{}]}
    assert (await rig.call("Tsdb.query", "other", metrics="m", epoch="s"))["values"][0][1] == 2


async def test_a_removed_solution_leaves_nothing() -> None:
    rig = SeriesRig()
    for solution in ("acme", "other"):
        await rig.write(0, solution, m=1)
        assert await rig.call("Timeseries.write", solution, query="m v=1") == {}
    await rig.tsdb.forget("acme")
    await rig.timeseries.forget("acme")
    assert await rig.values("m") == []
    assert rig.points() == 2


def test_a_reset_leaves_nothing() -> None:
    with Lab(seed=7) as lab:
        acme, other = lab.solution("acme"), lab.solution("other")
        write(acme, 1)
        write(other, 2)
        assert seen(other) == [[2], [2]]
        lab.reset()
        assert seen(acme) == seen(other) == [[], []]
        write(other, 3)
        assert seen(other) == [[3], [3]]


def test_points_survive_a_restart_and_a_power_cut(tmp_path: Path) -> None:
    data = str(tmp_path / "lab.db")
    with Lab(seed=7, data=data) as lab:
        write(lab.solution("acme"), 1)
        lab.restart()
        write(lab.solution("acme"), 2)
        lab.clock.advance(60)
        write(lab.solution("acme"), 3)
        assert seen(lab.solution("acme")) == [[3, 2], [2, 3]]
    with Lab(seed=7, data=data) as lab:
        assert seen(lab.solution("acme")) == [[3, 2], [2, 3]]


def future(lab: Lab, value: int) -> list[Any]:
    write(lab.solution("acme"), value)
    return seen(lab.solution("acme"))


def test_a_snapshot_restores_points_and_a_fork_has_its_own(tmp_path: Path) -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        write(acme, 1)
        kept = lab.snapshot()
        lab.clock.advance(60)
        write(acme, 2)
        assert lab.fork(future, over=[3, 4]).results == [[[3, 1], [1, 3]], [[4, 1], [1, 4]]]
        assert seen(acme) == [[2, 1], [1, 2]]
        lab.restore(kept)
        assert seen(lab.solution("acme")) == [[1], [1]]


def test_faults_hit_the_calls_and_a_seed_repeats_them() -> None:
    def play() -> list[Any]:
        with Lab(seed=7) as lab:
            acme = lab.solution("acme")
            lab.faults.add("Tsdb.write", status=503, chance=0.5)
            return [acme.Tsdb.write(metrics={f"m{number}": 1}) for number in range(20)] + [
                acme.Tsdb.listMetrics()
            ]

    first = play()
    assert play() == first
    assert {answer.get("status") for answer in first[:20]} == {None, 503}


def test_scripts_read_times_in_lab_time_and_nil_keeps_its_place() -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        acme.route(
            "GET",
            "/rows",
            lua="""
            Tsdb.write{metrics = {temperature = 21.5}, tags = {sn = "a"}, ts = os.time() .. "s"}
            local found = Tsdb.query{metrics = {"none", "temperature"}, epoch = "s", relative_start = "-1m"}
            local row = found.values[1]
            local nothing = Timeseries.query{q = "SELECT v FROM m"}.results[1].series
            return {row[1] == os.time(), row[2] == nil, row[3], nothing == nil}
            """,
        )
        assert acme.get("/rows").json() == [True, True, 21.5, True]
