"""Tsdb: what queries return."""

from __future__ import annotations

from typing import Any

import pytest

from tests.services.tsdb.series_rig import START, SeriesRig


async def filled() -> SeriesRig:
    """Return a rig with two metrics, of which each lacks a value, and two devices."""
    rig = SeriesRig()
    await rig.write(0, m=1, n="x")
    await rig.write(60, m=2)
    await rig.write(120, n="y")
    await rig.write(120, sn="b", m=9)
    return rig


async def test_shape() -> None:
    rig = await filled()
    found = await rig.call("Tsdb.query", metrics=["m", "n"], tags={"sn": "a"}, end_time=f"{START + 60}s")
    assert found == {
        "metrics": ["m", "n"],
        "tags": {"sn": "a"},
        "columns": ["time", "m", "n"],
        "values": [["2026-01-01T00:01:00Z", 2, None], ["2026-01-01T00:00:00Z", 1, "x"]],
    }
    fine = await rig.call("Tsdb.write", metrics={"fine": 1}, ts=START * 10**6 - 500)
    assert fine == {}
    assert (await rig.call("Tsdb.query", metrics="fine"))["values"] == [["2025-12-31T23:59:59.9995Z", 1]]


async def test_newest_first_and_rows_of_the_same_tags_join() -> None:
    rig = await filled()
    assert await rig.values("m", "n") == [(120, None, "y"), (120, 9, None), (60, 2, None), (0, 1, "x")]
    assert await rig.values("n", "m", order_by="ASC", tags={"sn": "a"}) == [
        (0, "x", 1),
        (60, None, 2),
        (120, "y", None),
    ]
    assert await rig.values("m", "none") == [(120, 9, None), (60, 2, None), (0, 1, None)]
    assert await rig.values() == []
    assert await rig.values("none") == []


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        ("null", [(120, None, "y"), (60, 2, None), (0, 1, "x")]),
        ("previous", [(120, 2, "y"), (60, 2, "x"), (0, 1, "x")]),
        ("none", [(0, 1, "x")]),
        (0, [(120, 0, "y"), (60, 2, 0), (0, 1, "x")]),
    ],
)
async def test_fill(fill: Any, expected: list[Any]) -> None:
    rig = await filled()
    assert await rig.values("m", "n", tags={"sn": "a"}, fill=fill) == expected
    assert await rig.values("m", "n", tags={"sn": "a"}, fill=fill, order_by="asc") == expected[::-1]


async def test_previous_is_of_the_same_tags() -> None:
    rig = await filled()
    found = await rig.values("m", "n", fill="previous")
    assert found[:2] == [(120, 2, "y"), (120, 9, None)]


async def test_split() -> None:
    rig = await filled()
    assert await rig.values("m", "n", mode="split") == {
        "m": [(120, 9), (60, 2), (0, 1)],
        "n": [(120, "y"), (0, "x")],
    }
    assert await rig.values("m", "none", mode="split", limit=1) == {"m": [(120, 9)], "none": []}


async def test_tags_select_by_all_that_are_given() -> None:
    rig = SeriesRig()
    odd = {"sn": 'a"b', "x": 'y","sn":"z'}
    assert await rig.call("Tsdb.write", metrics={"m": 1}, tags=odd) == {}
    assert await rig.call("Tsdb.write", metrics={"m": 2}, tags={'q"sn': "z", "back": "\\"}) == {}
    assert await rig.call("Tsdb.write", metrics={"m": 3}, tags={"sn": "é", "x": "1"}) == {}

    async def found(tags: Any) -> list[Any]:
        return [value for _, value in await rig.values("m", tags=tags)]

    assert await found(odd) == [1]
    assert await found({"sn": 'a"b'}) == [1]
    assert await found({"sn": "z"}) == []
    assert await found({"back": "\\"}) == [2]
    assert await found({"sn": "é"}) == [3]
    assert await found({"sn": "é", "x": "2"}) == []
    assert sorted(await found({"sn": ["é", 'a"b', "none"]})) == [1, 3]
    assert await found({"sn": []}) == []
    assert sorted(await found({})) == [1, 2, 3]


async def test_the_span_includes_both_ends() -> None:
    rig = SeriesRig()
    day = 86_400
    for seconds in (-8 * day, -7 * day, -day, -60, 0, 60):
        await rig.write(seconds, m=seconds)

    async def found(**arguments: Any) -> list[int]:
        answer = await rig.call("Tsdb.query", metrics=["m"], epoch="s", **arguments)
        return [value for _, value in answer["values"]]

    assert await found() == [0, -60, -day, -7 * day]
    assert await found(relative_start="-1d") == await found(relative_start="1d") == [0, -60, -day]
    assert await found(relative_start="-999w") == [0, -60, -day, -7 * day, -8 * day]
    assert await found(relative_start="-1d", relative_end="-1m") == [-60, -day]
    assert await found(start_time=f"{START - 60}s") == [0, -60]
    assert await found(start_time=f"{START - 60}s", end_time=f"{START + 60}s") == [60, 0, -60]
    assert await found(start_time="2025-12-31T00:00:00Z", end_time="2025-12-31T12:00:00Z") == [-day]
    assert await found(end_time=f"{START - day}s") == [-day, -7 * day, -8 * day]
    assert await found(start_time=f"{START}s", end_time=f"{START - 1}s") == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"limit": 0},
        {"limit": 10_001},
        {"epoch": "h"},
        {"fill": "linear"},
        {"fill": True},
        {"fill": float("nan")},
        {"order_by": "up"},
        {"mode": "join"},
        {"aggregate": "median"},
        {"aggregate": []},
        {"aggregate": [1]},
        {"sampling_size": "0s"},
        {"sampling_size": "1y"},
        {"sampling_size": 60},
        {"relative_start": "1"},
        {"relative_start": 5},
        {"relative_start": "-1d", "start_time": "0s"},
        {"relative_end": "-1d", "end_time": "0s"},
        {"metrics": ["x"] * 101},
        {"metrics": [""]},
        {"metrics": [{}]},
        {"tags": {"sn": ["a"] * 101}},
        {"tags": {f"t{number}": "x" for number in range(21)}},
    ],
)
async def test_what_is_out_of_bounds_is_refused(arguments: dict[str, Any]) -> None:
    rig = await filled()
    assert (await rig.call("Tsdb.query", **{"metrics": ["m"], **arguments}))["status"] == 400


async def test_aggregates() -> None:
    rig = SeriesRig()
    for seconds, value in enumerate([1, 2, "3.5", "on", True]):
        await rig.write(seconds * 30, m=value)
    await rig.write(200, sn="b", m=10)
    minutes = {"sampling_size": "1m"}
    assert await rig.values("m", aggregate="sum", **minutes) == [(180, 10), (120, None), (60, 3.5), (0, 3)]
    assert await rig.values("m", aggregate="count", **minutes) == [(180, 1), (120, 1), (60, 2), (0, 2)]
    assert await rig.values("m", **minutes, limit=1) == [(180, 10.0)]
    assert await rig.values("m", **minutes, limit=2, order_by="asc") == [(0, 1.5), (60, 3.5)]
    assert await rig.values("m", aggregate=["min", "max"], sampling_size="1h") == [(0, {"min": 1, "max": 10})]
    assert await rig.values("m", "none", aggregate="avg", sampling_size="1h", fill=7) == [(0, 4.125, 7)]
    assert await rig.values("m", "none", aggregate="avg", sampling_size="1h", fill="none") == []
    assert await rig.values("m", aggregate="avg", mode="split", **minutes, limit=1) == {"m": [(180, 10.0)]}
    assert await rig.values("m", aggregate="max", start_time=f"{START}s") == [(0, 10)]
    filled_up = await rig.values("m", aggregate="sum", **minutes, fill="previous")
    assert filled_up[1] == (120, 3.5)


async def test_intervals_begin_at_whole_multiples_since_1970() -> None:
    rig = SeriesRig()
    await rig.write(-1, m=1)
    await rig.write(0, m=2)
    await rig.write(3599, m=3)
    assert await rig.values("m", aggregate="count", sampling_size="1h") == [(0, 2), (-3600, 1)]


async def test_recent_has_the_newest_of_each_set_of_tags() -> None:
    rig = await filled()
    found = await rig.call("Tsdb.recent", metrics=["m", "n"], epoch="s")
    assert found == {
        "metrics": ["m", "n"],
        "tags": {},
        "columns": ["time", "m", "n", "tags"],
        "values": [[START + 120, 2, "y", {"sn": "a"}], [START + 120, 9, None, {"sn": "b"}]],
    }
    assert (await rig.call("Tsdb.recent", metrics="n", tags={"sn": "b"}))["values"] == []


async def test_lists_are_in_order() -> None:
    rig = SeriesRig()
    for name in ("b", "é", "a"):
        assert await rig.call("Tsdb.write", metrics={name: 1}, tags={"sn": name, "k": "v"}) == {}
    assert await rig.call("Tsdb.listMetrics") == {"metrics": ["a", "b", "é"]}
    assert await rig.call("Tsdb.listTags") == {"tags": {"k": ["v"], "sn": ["a", "b", "é"]}}
