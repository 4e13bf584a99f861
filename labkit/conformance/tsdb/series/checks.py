"""Tsdb: scripts store values of metrics and read them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from labkit.conformance import expect
from labkit.conformance.check import check, model_check
from labkit.conformance.probe import WITNESS, Service
from labkit.conformance.target import Target
from labkit.conformance.tsdb.series.client import BASE, Tsdb

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game
    from labkit.lab.lab import Lab


VALUES: tuple[Any, ...] = (1, -2.5, 0, "on", "21.5", "", '{"a": [1]}', "é\0😀", True, False, 2**40)
DAY = 86_400


@check("TSDB-WRITE-1", "values are read as they were written")
async def written(target: Target) -> None:
    tsdb = Tsdb(target)
    for seconds, value in enumerate(VALUES):
        await tsdb.write(seconds, m=value)
    found = await tsdb.rows("m", order_by="asc")
    tsdb.same("the values", found, [[seconds, value] for seconds, value in enumerate(VALUES)])


@check("TSDB-WRITE-2", "a point replaces one of the same metric, tags and time")
async def replaced(target: Target) -> None:
    tsdb = Tsdb(target)
    for value, tags in ((1, {"sn": "a"}), (2, {"sn": "b"}), (3, {"sn": "a", "x": "1"}), (4, {"sn": "a"})):
        await tsdb.write(0, tags, m=value, n=value)
    await tsdb.write(1, {"sn": "a"}, m=5)
    tsdb.same("the points", sorted(await tsdb.rows("m")), [[0, 2], [0, 3], [0, 4], [1, 5]])


@check("TSDB-WRITE-3", "forms of a time")
async def times(target: Target) -> None:
    tsdb = Tsdb(target)
    for number, ts in enumerate(
        (
            f"{BASE}s",
            f"{BASE + 1}000ms",
            f"{BASE + 2}000000u",
            (BASE + 3) * 10**6,
            "2016-11-24T15:06:44Z",
            f"{BASE + 5}000000",
            "2016-11-24T16:06:46.0+01:00",
            float(BASE + 7) * 10**6,
        )
    ):
        await tsdb.done("write", metrics={tsdb.metric("m"): number}, ts=ts)
    tsdb.same("the times", await tsdb.rows("m", order_by="asc"), [[number, number] for number in range(8)])
    await tsdb.done("write", metrics={tsdb.metric("now"): 1})
    found = await tsdb.done("query", metrics=tsdb.metric("now"), relative_start="-1m", epoch="s")
    expect.equal("number of points of the last minute", len(found["values"]), 1)


@check("TSDB-WRITE-3", "without ts the time is that of the lab", needs={"clock"})
async def lab_time(target: Target) -> None:
    tsdb = Tsdb(target)
    now = int(target.lab_time())
    await tsdb.done("write", metrics={tsdb.metric("m"): 1})
    [[time, _]] = await tsdb.rows("m")
    expect.equal("whether the time is now", time + BASE in range(now, int(target.lab_time()) + 1), True)


@check("TSDB-WRITE-4", "what is out of bounds is refused, and nothing stored")
async def bounds(target: Target) -> None:
    tsdb = Tsdb(target)
    name = tsdb.metric("m")
    tags = {f"t{number}": "x" * 200 for number in range(20)}
    await tsdb.done("write", metrics={name.ljust(200, "x"): "v" * 65_536}, tags=tags, ts=f"{BASE}s")
    wrong: tuple[dict[str, Any], ...] = (
        {"metrics": {}},
        {"metrics": name},
        {"metrics": {name: 1, "": 1}},
        {"metrics": {name: 1, "x" * 201: 1}},
        {"metrics": {name: 1, "a\nb": 1}},
        {"metrics": {name: [1]}},
        {"metrics": {name: {"a": 1}}},
        {"metrics": {name: "v" * 65_537}},
        {"metrics": {f"{name} {number}": 1 for number in range(101)}},
        {"tags": {**tags, "t20": "x"}},
        {"tags": {"sn": ""}},
        {"tags": {"sn": "x" * 201}},
        {"tags": {"sn": ["a"]}},
        {"ts": "yesterday"},
        {"ts": "10000000000000s"},
        {"ts": True},
    )
    for each in wrong:
        await tsdb.refused("write", 400, **{"metrics": {name: 1}, "ts": f"{BASE}s", **each})
    tsdb.same("what is stored", await tsdb.rows("m"), [])
    [row] = await tsdb.rows("m".ljust(200 - len(name) + 1, "x"))
    expect.equal("length of the longest text", len(row[1]), 65_536)


@check("TSDB-WRITE-5", "several writes are stored together, or none")
async def several(target: Target) -> None:
    tsdb = Tsdb(target)
    name = tsdb.metric("m")
    points = [
        {"metrics": {name: number}, "tags": {"sn": "a"}, "ts": f"{BASE + number}s"} for number in range(3)
    ]
    await tsdb.refused("multiWrite", 400, datapoints=[*points, {"metrics": {name: [1]}}])
    await tsdb.refused("multiWrite", 400, datapoints=[*points, "none"])
    tsdb.same("what is stored", await tsdb.rows("m"), [])
    await tsdb.done("multiWrite", datapoints=points)
    tsdb.same("what is stored", await tsdb.rows("m", tags={"sn": "a"}), [[2, 2], [1, 1], [0, 0]])


@check("TSDB-LIST-1", "metrics and tags are listed in order")
async def listed(target: Target) -> None:
    tsdb = Tsdb(target)
    for name in ("b", "é", "a"):
        await tsdb.write(0, {tsdb.prefix: name}, **{name: 1})
    found = [
        each
        for each in await tsdb.field("listMetrics", "metrics", next=tsdb.prefix)
        if each.startswith(tsdb.prefix)
    ]
    tsdb.same("the metrics", found, [tsdb.metric(name) for name in ("a", "b", "é")])
    tags = await tsdb.field("listTags", "tags")
    tsdb.same("the values of the tag", tags.get(tsdb.prefix), ["a", "b", "é"])


@check("TSDB-LIST-3", "metrics and tags are listed in pages")
async def pages(target: Target) -> None:
    tsdb = Tsdb(target, WITNESS)
    for number in range(5):
        await tsdb.write(0, {tsdb.prefix: f"é {number}", f"{tsdb.prefix} x": "1"}, **{f"m{number}": 1})
    for operation, name, start in (
        ("listMetrics", "metrics", tsdb.prefix),
        ("listTags", "tags", json.dumps([tsdb.prefix, "a"])),
    ):
        seen: list[Any] = []
        given: dict[str, Any] = {"next": start}
        while len(seen) < 3 and given["next"]:
            found = await tsdb.done(operation, limit=2, **given)
            seen.append(found[name])
            given["next"] = found.get("next")
        if operation == "listMetrics":
            wanted: list[Any] = [[tsdb.metric(f"m{each}") for each in pair] for pair in ("01", "23")]
            tsdb.same("the metrics", [seen[:2], seen[2][0]], [wanted, tsdb.metric("m4")])
        else:
            values = [[f"é {each}" for each in pair] for pair in ("01", "23", "4")]
            tsdb.same("the values of the tag", [each.get(tsdb.prefix) for each in seen], values)
        for wrong in ({"limit": 0}, {"limit": 1001}, {"next": 5}, {"next": ""}):
            await tsdb.refused(operation, 400, **wrong)
    await tsdb.refused("listTags", 400, next="odd")


@check("TSDB-LIST-4", "the newest of some devices, with what was written beside it")
async def newest_of_tag(target: Target) -> None:
    tsdb = Tsdb(target)
    await tsdb.write(0, {"sn": "a", "x": "1"}, m=1, text="old")
    await tsdb.write(5, {"sn": "a", "x": "2"}, m=2, text="hot", other=True)
    await tsdb.write(7, {"sn": "a", "x": "2"}, text="later")
    await tsdb.write(6, {"sn": "b"}, m=3, n=4)
    await tsdb.write(9, {"sn": "c"}, m=5)
    m, n, text, other = (tsdb.metric(name) for name in ("m", "n", "text", "other"))
    given = {"tag_name": "sn", "tag_values": ["a", "b", "none"], "epoch": "s"}
    found = await tsdb.done("recent", metrics=[m, n], **given)
    wanted: list[Any] = [[BASE + 6, 3, 4, {"sn": "b"}], [BASE + 5, 2, None, {"sn": "a"}]]
    tsdb.same("the newest", found["values"], wanted)
    tsdb.same("tags", found["tags"], {"sn": ["a", "b", "none"]})
    found = await tsdb.done("recent", metrics=[[m, text, other], n], **given)
    tsdb.same("columns", found["columns"], ["time", m, text, other, n, "tags"])
    wanted = [[BASE + 6, 3, None, None, 4, {"sn": "b"}], [BASE + 5, 2, "hot", True, None, {"sn": "a"}]]
    tsdb.same("what was written together", found["values"], wanted)
    found = await tsdb.done("recent", metrics=[[m, text]], epoch="s", tags={"sn": "a"})
    wanted = [[BASE + 5, 2, "hot", {"sn": "a", "x": "2"}], [BASE, 1, "old", {"sn": "a", "x": "1"}]]
    tsdb.same("of each set of tags", found["values"], wanted)
    wrongs: tuple[dict[str, Any], ...] = (
        {"metrics": m, "tag_name": "sn"},
        {"metrics": m, "tag_values": ["a"]},
        {"metrics": [[]]},
        {"metrics": [[m, [n]]]},
        {"metrics": [["x"] * 101]},
    )
    for wrong in wrongs:
        await tsdb.refused("recent", 400, **wrong)


@check("TSDB-LIST-5", "operations of which there is the name alone say so")
async def known_by_name(target: Target) -> None:
    tsdb = Tsdb(target)
    jobs = (f"{way}{end}" for way in ("export", "import") for end in ("", "JobInfo", "JobList"))
    for operation in (*jobs, "addConfig", "getConfig"):
        text = await tsdb.refused(operation, 404)
        expect.true(f"the error of {operation} says so", "known by name only" in text, text, tsdb.last)


@check("TSDB-WRITE-6", "a write returns its time")
async def write_times(target: Target) -> None:
    tsdb = Tsdb(target)
    given = {"metrics": {tsdb.metric("m"): 1}, "ts": f"{BASE}s"}
    tsdb.same(
        "what write returns",
        await tsdb.done("write", **given, return_ts=True),
        {"write_timestamp": f"{BASE}000000"},
    )
    tsdb.same("without return_ts", await tsdb.table("write", **given) or {}, {})
    now = (await tsdb.done("write", metrics=given["metrics"], return_ts=True))["write_timestamp"]
    tsdb.same("the newest", await tsdb.rows("m", epoch="u", limit=1), [[int(now) - BASE, 1]])
    await tsdb.refused("write", 400, **given, return_ts="yes")


@check("TSDB-QUERY-10", "queries in the field", needs={"settings"})
async def in_the_field(target: Target) -> None:
    await target.in_lab(_in_the_field)


def _in_the_field() -> None:
    from labkit.lab.lab import Lab

    profiles: tuple[tuple[Literal["spec", "field"], int], ...] = (("field", 0), ("spec", 1))
    for profile, ends in profiles:
        with Lab(1, profile=profile) as lab:
            tsdb = lab.solution("acme").Tsdb
            for seconds, metrics in ((10, {"m": 1}), (20, {"m": 2, "n": 2}), (30, {"m": 3})):
                tsdb.write(metrics=metrics, ts=f"{BASE + seconds}s")
            tsdb.write(metrics={"m": "now"})

            def times(tsdb: Any = tsdb, **given: Any) -> list[int]:
                found = tsdb.query(epoch="s", order_by="asc", **given)["values"]
                return [row[0] - BASE for row in found]

            span = {"start_time": f"{BASE + 10}s", "end_time": f"{BASE + 30}s"}
            expect.equal(f"rows in {profile}", times(metrics="m", **span), [10, 20, *[30] * ends])
            both = {"metrics": ["m", "n"], "start_time": f"{BASE}s", "end_time": f"{BASE + 31}s"}
            expect.equal(f"rows of two in {profile}", times(**both), [*[10] * ends, 20, *[30] * ends])
            expect.equal(f"rows of two with fill in {profile}", times(**both, fill="null"), [10, 20, 30])
            expect.equal(f"rows until now in {profile}", len(times(metrics="m")), 1)
            expect.equal(f"rows until 0 s ago in {profile}", len(times(metrics="m", relative_end="0s")), ends)


@check("TSDB-LIST-2", "the newest values are listed for each set of tags")
async def newest(target: Target) -> None:
    tsdb = Tsdb(target)
    await tsdb.write(0, {"sn": "a"}, m=1, n="old")
    await tsdb.write(5, {"sn": "a"}, m=2)
    await tsdb.write(9, {"sn": "b"}, m=3)
    metrics = [tsdb.metric("n"), tsdb.metric("m")]
    found = await tsdb.done("recent", metrics=metrics, epoch="s")
    tsdb.same("columns", found["columns"], ["time", *metrics, "tags"])
    wanted = [[BASE + 9, None, 3, {"sn": "b"}], [BASE + 5, "old", 2, {"sn": "a"}]]
    tsdb.same("the newest", found["values"], wanted)
    found = await tsdb.done("recent", metrics=metrics, tags={"sn": "a"}, epoch="s")
    tsdb.same("the newest of one", found["values"], wanted[1:])


@check("TSDB-KEEP-1", "another solution and the other service see nothing")
async def apart(target: Target) -> None:
    tsdb = Tsdb(target)
    other = Tsdb(target, WITNESS, tsdb.prefix)
    older = Service(target, "Timeseries")
    await tsdb.write(0, {"sn": "a"}, m=1)
    await other.write(0, {"sn": "a"}, m=2)
    line = f"{tsdb.metric('m')},sn=a m=3 {BASE}".replace(" ", "\\ ", tsdb.metric("m").count(" "))
    await older.done("write", query=line, precision="s")
    tsdb.same("its own value", await tsdb.rows("m", tags={"sn": "a"}), [[0, 1]])
    other.same("that of the other", await other.rows("m"), [[0, 2]])
    found = await older.done("query", q=f'SELECT m FROM "{tsdb.metric("m")}"', epoch="s")
    older.same("that of Timeseries", found["results"][0]["series"][0]["values"], [[BASE, 3]])


@check("TSDB-KEEP-2", "all values of one solution are deleted", needs={"settings"})
async def deleted(target: Target) -> None:
    await target.in_lab(_deleted, target)


def _deleted(target: Target) -> None:
    mine, other = (target.lab.solution(f"{target.identity()}-{name}") for name in ("mine", "other"))
    for solution in (mine, other):
        solution.Tsdb.write(metrics={"m": 1}, tags={"sn": "a"})
        solution.Timeseries.write(query="m,sn=a v=3")
    expect.equal("what deleteAll gives", mine.Tsdb.deleteAll(), {})
    expect.equal("metrics", mine.Tsdb.listMetrics(), {"metrics": []})
    expect.equal("tags", mine.Tsdb.listTags(), {"tags": {}})
    expect.equal("values", mine.Tsdb.query(metrics="m")["values"], [])
    mine.Tsdb.write(metrics={"m": 2}, tags={"sn": "a"})
    expect.equal("values after it", [row[1] for row in mine.Tsdb.query(metrics="m")["values"]], [2])
    expect.equal("of the other", [row[1] for row in other.Tsdb.query(metrics="m")["values"]], [1])
    for solution in (mine, other):
        found = solution.Timeseries.query(q="SELECT v FROM m")["results"]
        series = found[0].get("series") or [{"values": []}]
        expect.equal("those of Timeseries", [row[1] for row in series[0]["values"]], [3])


@check("TSDB-LIST-1", "a thousand values of tags are listed", needs={"settings"})
async def most_listed(target: Target) -> None:
    await target.in_lab(_most_listed, target)


def _most_listed(target: Target) -> None:
    tsdb = target.lab.solution(target.identity()).Tsdb
    names = [f"{number:04}" for number in range(1001)]
    for count in (1000, 1001):
        tsdb.multiWrite(datapoints=[{"metrics": {"m": 1}, "tags": {"sn": name}} for name in names[:count]])
        expect.equal("values of the tag", tsdb.listTags()["tags"], {"sn": names[:1000]})


@check("TSDB-KEEP-3", "values over a restart, a snapshot and a reset", needs={"settings"})
async def kept(target: Target) -> None:
    await target.in_lab(_kept)


def _kept() -> None:
    from labkit.lab.lab import Lab

    with Lab(seed=7) as lab:
        lab.solution("acme").Tsdb.write(metrics={"m": 1})
        lab.restart()
        expect.equal("values after a restart", _values(lab), [1])
        snapshot = lab.snapshot()
        lab.clock.advance(60)
        lab.solution("acme").Tsdb.write(metrics={"m": 2})
        lab.restore(snapshot)
        expect.equal("values of the snapshot", _values(lab), [1])
        lab.reset()
        expect.equal("values after a reset", _values(lab), [])


def _values(lab: Lab) -> list[Any]:
    return [value for _, value in lab.solution("acme").Tsdb.query(metrics="m")["values"]]


@model_check(
    "TSDB-WRITE-1 TSDB-WRITE-5 TSDB-QUERY-1 TSDB-QUERY-2 TSDB-QUERY-5 TSDB-QUERY-6 TSDB-LIST-1 "
    "TSDB-LIST-2 TSDB-KEEP-1",
    "values of two solutions, written and read in any order, as a model has them",
)
def model() -> type[Game]:
    """Return the game of Tsdb."""
    from labkit.conformance.tsdb.series.series import Series

    return Series
