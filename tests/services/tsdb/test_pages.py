"""Long reads and deletes of time series: right across pages, and with the event loop free between them."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from labkit.services.series.store import FEW, PAGE
from labkit.services.series.tables import FEW as FEW_ROWS
from tests.services.tsdb.series_rig import START, SeriesRig


async def fill(rig: SeriesRig, count: int, *metrics: str, step: int = 1, solution: str = "acme") -> None:
    """Write points, one each `step` seconds back from the start."""
    for begin in range(0, count, 5000):
        points = [
            {"metrics": dict.fromkeys(metrics, number), "ts": f"{START - number * step}s"}
            for number in range(begin, min(count, begin + 5000))
        ]
        assert await rig.call("Tsdb.multiWrite", solution, datapoints=points) == {}


async def turns_during(work: Any) -> int:
    """Return how many turns of the loop another task has while `work` runs."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.ensure_future(count())
    await work
    counting.cancel()
    return turns


@pytest.mark.parametrize("extra", [-1, 0, 1])
async def test_pages_join_without_a_gap(extra: int) -> None:
    rig = SeriesRig()
    count = 2 * PAGE + extra
    await fill(rig, count, "m")
    wanted = [(-number, number) for number in range(count)]
    assert await rig.values("m") == wanted
    assert await rig.values("m", order_by="asc") == wanted[::-1]
    assert await rig.values("m", limit=PAGE) == wanted[:PAGE]
    assert await rig.values("m", limit=PAGE + 1, order_by="asc") == wanted[::-1][: PAGE + 1]
    assert await rig.values("m", aggregate="sum") == [(-START, sum(range(count)))]


@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_series_of_different_density_join_as_one_would(order: str) -> None:
    rig = SeriesRig()
    await fill(rig, 3 * PAGE, "dense")
    await fill(rig, 30, "sparse", step=1000)
    everything: list[tuple[int, int | None, int | None]] = [
        (-number, number, number // 1000 if number % 1000 == 0 else None) for number in range(3 * PAGE)
    ]
    everything += [(-number * 1000, None, number) for number in range(3 * PAGE // 1000, 30)]
    if order == "asc":
        everything.reverse()
    assert await rig.values("dense", "sparse", order_by=order) == everything
    assert await rig.values("dense", "sparse", order_by=order, limit=100) == everything[:100]
    full = [row for row in everything if None not in row]
    assert await rig.values("dense", "sparse", order_by=order, fill="none", limit=3) == full[:3]


async def test_many_series_join() -> None:
    rig = SeriesRig()
    for number in range(100):
        for seconds in range(3):
            await rig.write(seconds, sn=f"{number:03}", m=number)
    found = await rig.values("m", limit=250)
    assert found == [(seconds, number) for seconds in (2, 1, 0) for number in range(100)][:250]


@pytest.mark.parametrize("fill", ["null", "none"])
@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_pages_of_all_series_are_equal_to_those_of_each(
    order: str, fill: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labkit.services.series.rows.PAGE", 5)
    monkeypatch.setattr("labkit.services.series.store.PAGE", 5)
    monkeypatch.setattr("labkit.services.series.store._family", lambda *of: 7)  # a checksum that all share
    rig, chance = SeriesRig(), random.Random(0)
    for owner in ("acme", "other"):
        points = [
            {
                "metrics": dict.fromkeys(chance.sample("mn", chance.randint(1, 2)), number),
                "tags": {"sn": str(chance.randrange(2 * FEW)), "of": "all"},
                "ts": f"{START + chance.randrange(8)}s",
            }
            for number in range(120)
        ]
        assert await rig.call("Tsdb.multiWrite", owner, datapoints=points) == {}
    for limit in (1, 7, 30, 1000):
        asked = {"order_by": order, "fill": fill, "limit": limit}
        of_each = await rig.values("m", "n", tags={"of": "all"}, **asked)
        assert await rig.values("m", "n", **asked) == of_each
        assert len(of_each) == limit or limit == 1000


async def test_the_loop_is_free_between_pages() -> None:
    rig = SeriesRig()
    await fill(rig, 5 * PAGE, "m", "n")
    for arguments in ({}, {"aggregate": "avg", "sampling_size": "1h"}):
        assert await turns_during(rig.values("m", **arguments)) >= 4
    assert await turns_during(rig.values("m", "n")) >= 4
    assert await turns_during(rig.call("Tsdb.deleteAll")) >= 10
    assert rig.points() == 0


async def test_the_loop_is_free_between_many_short_series() -> None:
    rig = SeriesRig()
    for begin in range(0, 2000, 500):
        points = [
            {"metrics": {"m": number}, "tags": {"sn": str(number)}, "ts": f"{START}s"}
            for number in range(begin, begin + 500)
        ]
        assert await rig.call("Tsdb.multiWrite", datapoints=points) == {}
    for called, arguments in (("query", {"sampling_size": "1h"}), ("recent", {})):
        assert await turns_during(rig.call(f"Tsdb.{called}", metrics="m", **arguments)) >= 15
    found = await rig.values("m", limit=3)
    assert found == [(0, 0), (0, 1), (0, 10)]


async def test_rows_that_lack_a_value_are_left_out_over_many_pages() -> None:
    rig = SeriesRig()
    await fill(rig, 3 * PAGE, "m")
    await fill(rig, 3 * PAGE, "n", step=2)
    wanted = [(-2 * number, 2 * number, number) for number in range(3 * PAGE // 2)]
    assert await rig.values("m", "n", fill="none") == wanted
    assert await rig.values("m", "n", fill="none", order_by="asc") == wanted[::-1]
    assert await rig.values("m", "none", fill="none") == []


async def test_values_that_a_median_keeps_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labkit.services.series.summaries.MOST_KEPT", 10)
    rig = SeriesRig()
    lines = "\n".join(f"m v={number} {number}" for number in range(11))
    assert await rig.call("Timeseries.write", query=lines, precision="s") == {}
    refused = await rig.call("Timeseries.query", q="SELECT median(v) FROM m")
    assert (refused["status"], refused["error"]) == (
        400,
        "count distinct, distinct, median, mode, percentile, stddev take at most 10 values",
    )
    found = await rig.call("Timeseries.query", q="SELECT median(v) FROM m WHERE time > 0", epoch="s")
    assert found["results"][0]["series"][0]["values"] == [[0, 5.5]]
    assert "results" in await rig.call("Timeseries.query", q="SELECT mean(v) FROM m")


async def test_no_statement_reads_more_than_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = SeriesRig()
    await fill(rig, 2 * PAGE, "m", "n")
    sizes: list[int] = []
    original = rig.database.read

    async def read(function: Any, /, *args: Any, **kwargs: Any) -> Any:
        found = await original(function, *args, **kwargs)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(rig.database, "read", read)
    await rig.values("m")
    await rig.values("m", "n")
    await rig.values("m", aggregate="avg")
    assert max(sizes) == PAGE


async def test_a_point_written_between_pages_is_not_read_twice() -> None:
    rig = SeriesRig()
    await fill(rig, 2 * PAGE, "m")
    reading = asyncio.ensure_future(rig.values("m"))
    while not reading.done():
        assert await rig.call("Tsdb.write", metrics={"m": -1}, ts=f"{START}s") == {}
        await asyncio.sleep(0)
    assert [time for time, _ in await reading] == [-number for number in range(2 * PAGE)]


async def test_a_deletion_that_is_interrupted_hides_all_at_once_and_is_finished_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = SeriesRig()
    await fill(rig, 2 * PAGE, "m")
    await fill(rig, 10, "m", solution="other")
    deleting = asyncio.ensure_future(rig.call("Tsdb.deleteAll"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    deleting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await deleting
    assert await rig.values("m") == []
    await rig.write(0, m=7)
    assert await rig.values("m") == [(0, 7)]
    assert rig.points() > 11
    await rig.tsdb.start()
    assert rig.points() == 11
    assert await rig.values("m") == [(0, 7)]


async def test_deleting_leaves_no_series_behind() -> None:
    rig = SeriesRig()
    await fill(rig, PAGE, "m")
    assert await rig.call("Tsdb.deleteAll") == {}
    assert (
        rig.database.read_now(lambda connection: connection.exec_driver_sql("SELECT * FROM series").all())
        == []
    )


ODD = ("a", "a b", 'a"', "a\\", "a,b", "ab", "b", "é", "}", "~")


@pytest.mark.parametrize("seed", range(4))
async def test_the_first_rows_of_many_series_are_those_of_all_points(seed: int) -> None:
    chance, rig = random.Random(seed), SeriesRig()
    points: dict[tuple[int, tuple[tuple[str, str], ...]], dict[str, int]] = {}
    for number in range(400):
        tags = {chance.choice(ODD): chance.choice(ODD) for _ in range(chance.randrange(3))}
        metric, seconds = chance.choice("mn"), chance.choice((7, chance.randrange(20)))
        points.setdefault((seconds, tuple(sorted(tags.items()))), {})[metric] = number
        point = {"metrics": {metric: number}, "tags": tags, "ts": f"{START + seconds}s"}
        assert await rig.call("Tsdb.multiWrite", datapoints=[point]) == {}
    for _ in range(60):
        metrics, fill = chance.choice((["m"], ["m", "n"])), chance.choice(("null", "none"))
        begin, end = sorted(chance.sample(range(-1, 21), 2))
        wanted: list[Any] = [
            (seconds, tags, *[own.get(each) for each in metrics])
            for (seconds, tags), own in points.items()
            if begin <= seconds <= end and (any if fill == "null" else all)(each in own for each in metrics)
        ]
        limit, order = chance.choice((1, 2, 9, 50)), chance.choice(("asc", "desc"))
        wanted.sort(key=lambda row: (row[0] if order == "asc" else -row[0], row[1]))
        found = await rig.values(
            *metrics,
            limit=limit,
            order_by=order,
            fill=fill,
            start_time=f"{START + begin}s",
            end_time=f"{START + end}s",
        )
        assert found == [(seconds, *values) for seconds, _, *values in wanted[:limit]]


async def test_tags_are_found_listed_and_forgotten_among_many_series() -> None:
    rig, many = SeriesRig(), 2 * FEW_ROWS + 1
    for number in range(many):
        tags = {"sn": f"{number:04}", "site": "one", 'o"': "\\"}
        assert await rig.call("Tsdb.write", metrics={"m": number}, tags=tags, ts=f"{START}s") == {}
    await rig.write(0, "other", sn="else", m=1)
    await rig.write(0, sn="0007", n=7)
    listed = {'o"': ["\\"], "site": ["one"], "sn": [f"{number:04}" for number in range(many)]}
    assert await rig.call("Tsdb.listTags") == {"tags": listed}
    assert await rig.call("Tsdb.listMetrics") == {"metrics": ["m", "n"]}
    assert await rig.values("m", tags={"sn": ["0008", "0007", "none"]}) == [(0, 7), (0, 8)]
    assert await rig.values("m", tags={"sn": "0007", "site": "two"}) == []
    assert await rig.values("m", tags={"sn": "0007", "site": "one", 'o"': "\\"}) == [(0, 7)]
    assert len(await rig.values("m", tags={"site": "one"})) == many
    assert await rig.call("Timeseries.command", q="DROP MEASUREMENT m") == {"results": [{}]}
    assert await rig.call("Tsdb.listTags") == {"tags": listed}
    assert await rig.call("Tsdb.deleteAll") == {}
    assert await rig.call("Tsdb.listTags") == {"tags": {}}
    assert await rig.call("Tsdb.listTags", "other") == {"tags": {"sn": ["else"]}}


async def test_a_tag_of_many_series_and_an_aggregate_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labkit.services.series.store.PAGE", 40)
    monkeypatch.setattr("labkit.services.series.store.SHORT", 4)
    rig = SeriesRig()
    for number in range(50):
        for seconds in range(number % 7):
            await rig.write(seconds, sn=f"{number:02}", m=number)
    every = sum(number * (number % 7) for number in range(50))
    assert await rig.values("m", aggregate="sum") == [(-START, every)]
    tags = {"sn": [f"{number:02}" for number in range(50)]}
    assert await rig.values("m", aggregate="sum", tags=tags) == [(-START, every)]
    by_second = await rig.values("m", aggregate="count", sampling_size="1s")
    assert by_second == [(at, sum(number % 7 > at for number in range(50))) for at in range(5, -1, -1)]


async def test_the_number_of_series_follows_what_is_written_and_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("labkit.services.series.store.MOST_SERIES", 3)
    rig = SeriesRig()
    for _ in range(2):
        assert await rig.call("Tsdb.write", metrics={"a": 1, "b": 1, "c": 1}) == {}
        assert await rig.call("Tsdb.write", metrics={"a": 2}) == {}
        assert (await rig.call("Tsdb.write", metrics={"a": 1, "d": 1}))["status"] == 403
        assert await rig.call("Tsdb.write", "other", metrics={"d": 1}) == {}
        assert await rig.call("Tsdb.listMetrics") == {"metrics": ["a", "b", "c"]}
        assert await rig.call("Tsdb.deleteAll") == {}
