"""Tsdb: what queries return."""

from __future__ import annotations

from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.target import Target
from labkit.conformance.tsdb.series.client import BASE, SPAN, Tsdb

A, B = {"sn": "a"}, {"sn": "b"}
MANY = 10_100  # points, more than a query returns, and in several pages


async def filled(target: Target) -> Tsdb:
    """Return a client whose metrics m and n each lack a value, and have two sets of tags."""
    tsdb = Tsdb(target)
    await tsdb.write(0, A, m=1, n="x")
    await tsdb.write(60, A, m=2)
    await tsdb.write(120, A, n="y")
    await tsdb.write(120, B, m=9)
    return tsdb


@check("TSDB-QUERY-1", "rows are newest first, and nil keeps its place")
async def rows(target: Target) -> None:
    tsdb = await filled(target)
    metrics = [tsdb.metric("m"), tsdb.metric("n")]
    found = await tsdb.done("query", metrics=metrics, tags=A, **SPAN)
    tsdb.same("columns", found["columns"], ["time", *metrics])
    tsdb.same("metrics", found["metrics"], metrics)
    tsdb.same("tags", found["tags"], A)
    tsdb.same("rows", await tsdb.rows("m", "n", tags=A), [[120, None, "y"], [60, 2, None], [0, 1, "x"]])
    wanted = [[120, "y", None], [120, None, 9], [60, None, 2], [0, "x", 1]]
    tsdb.same("rows of all tags", await tsdb.rows("n", "m"), wanted)
    tsdb.same("a metric that is not there", await tsdb.rows("none"), [])
    tsdb.same("one beside it", await tsdb.rows("m", "none"), [[120, 9, None], [60, 2, None], [0, 1, None]])
    tsdb.same("no metric", await tsdb.rows(), [])


@check("TSDB-QUERY-2", "points are found by their tags")
async def tags(target: Target) -> None:
    tsdb = Tsdb(target)
    odd = {"sn": 'a"b', "x": 'y","sn":"z'}
    await tsdb.write(0, odd, m=1)
    await tsdb.write(1, {'q"sn': "z", "back": "\\"}, m=2)
    await tsdb.write(2, {"sn": "é", "x": "1"}, m=3)
    await tsdb.write(3, {"sn": "a"}, m=4)
    for given, wanted in (
        ({}, [4, 3, 2, 1]),
        (odd, [1]),
        ({"sn": 'a"b'}, [1]),
        ({"sn": "z"}, []),
        ({"back": "\\"}, [2]),
        ({"sn": "é", "x": "1"}, [3]),
        ({"sn": "é", "x": "2"}, []),
        ({"sn": ["é", "a", "none"]}, [4, 3]),
        ({"sn": "A"}, []),
    ):
        found = [value for _, value in await tsdb.rows("m", tags=given)]
        tsdb.same(f"values with {given}", found, wanted)


@check("TSDB-QUERY-3", "the span of time includes both of its ends")
async def span(target: Target) -> None:
    tsdb = Tsdb(target)
    for seconds in (0, 10, 20):
        await tsdb.write(seconds, m=seconds)
    for start, end, wanted in ((0, 20, [20, 10, 0]), (1, 19, [10]), (10, 10, [10]), (11, 9, [])):
        given = {"start_time": f"{BASE + start}s", "end_time": (BASE + end) * 10**6}
        found = [value for _, value in await tsdb.rows("m", **given)]
        tsdb.same(f"values from {start} to {end}", found, wanted)
    recent = await tsdb.done("query", metrics=tsdb.metric("m"))
    tsdb.same("values of the last days", recent["values"] or [], [])
    for wrong in ({"relative_start": "-1d"}, {"relative_end": "-1d"}):
        await tsdb.refused("query", 400, metrics=tsdb.metric("m"), **SPAN, **wrong)


@check("TSDB-QUERY-3", "the span of time is relative to now", needs={"clock"})
async def relative(target: Target) -> None:
    tsdb = Tsdb(target)
    now = int(target.lab_time())
    ages = {"8d": 8 * 86_400, "6d": 6 * 86_400, "1h": 3600, "2m": 120}
    for name, age in ages.items():
        await tsdb.done("write", metrics={tsdb.metric("m"): name}, ts=f"{now - age}s")
    for given, wanted in (
        ({}, ["2m", "1h", "6d"]),
        ({"relative_start": "-999w"}, ["2m", "1h", "6d", "8d"]),
        ({"relative_start": "-1d"}, ["2m", "1h"]),
        ({"relative_start": "1d"}, ["2m", "1h"]),
        ({"relative_start": "-7d", "relative_end": "-30m"}, ["1h", "6d"]),
        ({"start_time": f"{now - 9 * 86_400}s"}, ["2m", "1h", "6d", "8d"]),
        ({"end_time": f"{now - 4000}s"}, ["6d"]),
    ):
        found = await tsdb.done("query", metrics=tsdb.metric("m"), **given)
        tsdb.same(f"values with {given}", [value for _, value in found["values"]], wanted)
    await tsdb.done("write", metrics={tsdb.metric("m"): "now"})
    for given in (
        {"relative_end": "0s"},
        {"relative_start": "0s"},
        {"relative_start": "0s", "relative_end": "0s"},
    ):
        found = await tsdb.done("query", metrics=tsdb.metric("m"), limit=1, **given)
        tsdb.same(f"newest value with {given}", [value for _, value in found["values"]], ["now"])


@check("TSDB-QUERY-4", "a limit counts in the order of the rows")
async def limited(target: Target) -> None:
    tsdb = Tsdb(target)
    name = tsdb.metric("m")
    first = BASE * 10**6 - BASE  # as `rows` returns the first time, with microseconds between points
    for begin in range(0, MANY, 5050):
        await tsdb.done(
            "multiWrite",
            datapoints=[
                {"metrics": {name: number}, "ts": f"{BASE * 10**6 + number}u"}
                for number in range(begin, begin + 5050)
            ],
        )
    newest = [[first + number, number] for number in reversed(range(MANY))]
    for limit in (10_000, 3):
        for order, wanted in (("desc", newest[:limit]), ("asc", newest[::-1][:limit])):
            found = await tsdb.rows("m", epoch="u", limit=limit, order_by=order)
            tsdb.same(f"{limit} rows, {order}", found, wanted)
    tsdb.same("rows without a limit", await tsdb.rows("m", epoch="u"), newest[:10_000])
    everything = await tsdb.rows("m", aggregate="count")
    tsdb.same("count of all", [value for _, value in everything], [MANY])


@check("TSDB-QUERY-4", "a limit counts in the order of the rows, of one and of several metrics and tags")
async def limited_rows(target: Target) -> None:
    tsdb = await filled(target)
    summed: dict[str, Any] = {"aggregate": "sum", "sampling_size": "1m"}
    for metrics, tags, given in (
        (("m", "n"), A, {}),
        (("m", "n"), {}, {"fill": "previous"}),
        (("m",), {}, {}),
        (("m",), {}, summed),
    ):
        wanted = [time for time, *_ in await tsdb.rows(*metrics, tags=tags, order_by="asc", **given)]
        for order in ("asc", "desc"):
            for limit in (1, 2, len(wanted)):
                found = await tsdb.rows(*metrics, tags=tags, order_by=order, limit=limit, **given)
                tsdb.same(f"times of {limit} rows, {order}", [time for time, *_ in found], wanted[:limit])
            wanted.reverse()


@check("TSDB-QUERY-5", "missing values are filled")
async def fills(target: Target) -> None:
    tsdb = await filled(target)
    for fill, wanted in (
        ("null", [[120, None, "y"], [60, 2, None], [0, 1, "x"]]),
        ("previous", [[120, 2, "y"], [60, 2, "x"], [0, 1, "x"]]),
        ("none", [[0, 1, "x"]]),
        (0, [[120, 0, "y"], [60, 2, 0], [0, 1, "x"]]),
        (-1.5, [[120, -1.5, "y"], [60, 2, -1.5], [0, 1, "x"]]),
    ):
        tsdb.same(f"rows with {fill}", await tsdb.rows("m", "n", tags=A, fill=fill), wanted)
        backwards = await tsdb.rows("m", "n", tags=A, fill=fill, order_by="asc")
        tsdb.same(f"oldest rows with {fill}", backwards, wanted[::-1])
    found = await tsdb.rows("m", "n", fill="previous")
    tsdb.same("rows of other tags", found[:2], [[120, 2, "y"], [120, 9, None]])


@check("TSDB-QUERY-6", "values are summarized in intervals")
async def aggregates(target: Target) -> None:
    tsdb = Tsdb(target)
    begin = 20  # seconds from BASE to a whole minute
    for number, value in enumerate((1, 2, "3.5", "on")):
        await tsdb.write(begin + 30 * number, A, m=value)
    await tsdb.write(begin + 200, B, m=10)
    for function, wanted in (
        ("avg", [[200, 10], [80, 3.5], [20, 1.5]]),
        ("sum", [[200, 10], [80, 3.5], [20, 3]]),
        ("min", [[200, 10], [80, 3.5], [20, 1]]),
        ("max", [[200, 10], [80, 3.5], [20, 2]]),
        ("count", [[200, 1], [80, 2], [20, 2]]),
    ):
        found = await tsdb.rows("m", aggregate=function, sampling_size="1m")
        tsdb.same(function, found, wanted)
    tsdb.same("average", await tsdb.rows("m", sampling_size="1m", limit=1), [[200, 10]])
    both = await tsdb.rows("m", aggregate=["min", "max"], tags=A, start_time=f"{BASE}s")
    tsdb.same("two functions of all", both, [[0, {"min": 1, "max": 3.5}]])
    await tsdb.write(begin + 120, A, n="off")
    found = await tsdb.rows("m", "n", aggregate="sum", sampling_size="1m", fill="previous")
    wanted = [[200, 10, None], [140, 3.5, None], [80, 3.5, None], [20, 3, None]]
    tsdb.same("sums, or those before", found, wanted)
    hour: dict[str, Any] = {"aggregate": "avg", "sampling_size": "1h"}
    tsdb.same("averages, or a number", await tsdb.rows("m", "none", **hour, fill=7), [[-400, 4.125, 7]])
    tsdb.same("full rows", await tsdb.rows("m", "none", **hour, fill="none"), [])
    tsdb.same("a list of averages", await tsdb.rows("m", mode="split", **hour), {"m": [[-400, 4.125]]})


@check("TSDB-QUERY-7", "a list for each metric")
async def split(target: Target) -> None:
    tsdb = await filled(target)
    found = await tsdb.rows("m", "n", "none", mode="split", limit=2)
    tsdb.same("values", found, {"m": [[120, 9], [60, 2]], "n": [[120, "y"], [0, "x"]], "none": []})


@check("TSDB-QUERY-8", "units of times")
async def units(target: Target) -> None:
    tsdb = Tsdb(target)
    one, both = tsdb.metric("m"), [tsdb.metric("m"), tsdb.metric("n")]
    await tsdb.done("write", metrics=dict.fromkeys(both, 1), ts="1480000000987654u")
    span: dict[str, Any] = {**SPAN, "metrics": one}
    for epoch, wanted in (("s", BASE), ("ms", 1_480_000_000_987), ("u", 1_480_000_000_987_654)):
        found = await tsdb.done("query", **{**span, "epoch": epoch})
        tsdb.same(f"time in {epoch}", found["values"], [[wanted, 1]])
        found = await tsdb.done("query", **{**span, "metrics": both, "epoch": epoch})
        tsdb.same(f"time of a row in {epoch}", found["values"], [[wanted, 1, 1]])
        found = await tsdb.done("recent", metrics=one, tags={}, epoch=epoch)
        tsdb.same(f"time of the newest in {epoch}", [row[0] for row in found["values"]], [wanted])
    del span["epoch"]
    found = await tsdb.done("query", **span)
    tsdb.same("time as a text", found["values"], [["2016-11-24T15:06:40.987654Z", 1]])
    for ts, text in (("1480000000999500u", "40.9995Z"), (f"{BASE}s", "40Z")):
        await tsdb.done("write", metrics={tsdb.metric(text): 1}, ts=ts)
        found = await tsdb.done("query", **{**span, "metrics": tsdb.metric(text)})
        tsdb.same("time without zeros", found["values"], [[f"2016-11-24T15:06:{text}", 1]])


@check("TSDB-QUERY-9", "arguments of another form are refused")
async def refused(target: Target) -> None:
    tsdb = await filled(target)
    wrong: tuple[dict[str, Any], ...] = (
        {"limit": 0},
        {"limit": 10_001},
        {"epoch": "h"},
        {"fill": "linear"},
        {"fill": True},
        {"fill": 1e300},
        {"order_by": "up"},
        {"mode": "join"},
        {"aggregate": "median"},
        {"aggregate": [1]},
        {"sampling_size": "0s"},
        {"sampling_size": "1y"},
        {"sampling_size": 60},
        {"relative_start": "soon"},
        {"relative_start": "1"},
        {"relative_start": 5},
        {"relative_start": "-1d", "start_time": "0s"},
        {"relative_end": "-1d", "end_time": "0s"},
        {"start_time": "soon"},
        {"metrics": [f"m{number}" for number in range(101)]},
        {"metrics": [""]},
        {"tags": {"sn": ""}},
        {"tags": {"sn": ["a"] * 101}},
        {"tags": {f"t{number}": "x" for number in range(21)}},
        {"tags": "a"},
    )
    for each in wrong:
        text = await tsdb.refused("query", 400, **{"metrics": tsdb.metric("m"), **each})
        expect.equal("whether the error names the parameter", next(iter(each)) in text, True)
    await tsdb.refused("query", 400)
