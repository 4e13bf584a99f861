"""Timeseries: tags that a series lacks, intervals before the first point, equal extremes, and exact whole numbers."""

from __future__ import annotations

from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.target import Target
from labkit.conformance.timeseries.influxql.checks import BASE, Timeseries, filled, timed

EXACT = 2**53 + 1  # no double has it


async def more(target: Target) -> Timeseries:
    """Return a client whose measurement has a series without tags, and one with two of them."""
    series = await filled(target)
    await series.write(timed("m v=7 {30}"), timed("m,sn=aba,room=é v=8 {40}"))
    return series


@check("TSER-QUERY-2", "a tag that a series lacks is an empty text, and a pattern may match anywhere")
async def missing_tags(target: Target) -> None:
    series = await more(target)
    for where, wanted in (
        ("sn != 'a'", [10, 7, 8]),
        ("sn = ''", [7]),
        ("sn !~ /a/", [10, 7]),
        ("sn =~ /b/", [10, 8]),
        ("sn =~ /^b/", [10]),
        ("room != 'é'", [1, 2, 10, 4, 7]),
        ("room !~ /./ AND sn != ''", [1, 2, 10, 4]),
    ):
        found = await series.values(f"SELECT v FROM § WHERE {where}")
        series.same(f"values where {where}", found, wanted)


@check("TSER-QUERY-5 TSER-QUERY-6", "groups of series that lack a tag, each with a limit of its own")
async def groups_without(target: Target) -> None:
    series = await more(target)
    a, b, aba = {"room": "", "sn": "a"}, {"room": "", "sn": "b"}, {"room": "é", "sn": "aba"}
    none = {"room": "", "sn": ""}
    for end, values in (
        ("", ([7], [1, 2, 4], [10], [8])),
        (" LIMIT 1", ([7], [1], [10], [8])),
        (" ORDER BY time DESC LIMIT 2", ([7], [4, 2], [10], [8])),
    ):
        for by in ("*", "room, sn"):
            found = await series.series(f"SELECT v FROM § GROUP BY {by}{end}")
            seen: Any = [[each["tags"], [row[1] for row in each["values"]]] for each in found]
            wanted = [[tags, own] for tags, own in zip((none, a, b, aba), values, strict=True)]
            series.same(f"series by {by}{end}", seen, wanted)


@check("TSER-QUERY-4", "intervals before the first point, newest first, and with an offset")
async def intervals_before(target: Target) -> None:
    series = Timeseries(target)
    await series.write(timed("m v=1 {0}"), timed("m v=3 {5}"), timed("m v=4 {20}"))
    where = f"WHERE time >= {BASE - 10}s AND time < {BASE + 40}s"
    for fill, wanted in (
        ("null", [None, 2, None, 4, None]),
        ("previous", [None, 2, 2, 4, 4]),
        ("0", [0, 2, 0, 4, 0]),
        ("none", [2, 4]),
    ):
        query = f"SELECT mean(v) FROM § {where} GROUP BY time(10s) fill({fill})"
        series.same(f"values with {fill}", await series.values(query), wanted)
        found = await series.values(f"{query} ORDER BY time DESC")
        series.same(f"values with {fill}, newest first", found, wanted[::-1])
    found = await series.rows(f"SELECT sum(v) FROM § {where} GROUP BY time(10s, 3s) fill(none)")
    series.same("sums with an offset", found, [[-7, 1], [3, 3], [13, 4]])


@check("TSER-QUERY-4", "intervals on a line between whole numbers, and none without points")
async def intervals_between(target: Target) -> None:
    series = Timeseries(target)
    lines = ("m n=5i,u=-2i,w=1 {0}", "m n=0i,u=3i {30}", "m w=3 {40}", "m n=1i,u=3i {55}")
    await series.write(*(timed(each) for each in lines))
    for function, wanted in (
        ("max(n)", [5, 4, 2, 0, 0, 1, None]),
        ("sum(u)", [-2, -1, 1, 3, 3, 3, None]),
        ("mean(w)", [1, 1.5, 2, 2.5, 3, None, None]),
        ("stddev(n)", [None] * 7),
    ):
        spans = f"WHERE time >= {BASE}s AND time < {BASE + 70}s GROUP BY time(10s) fill(linear)"
        series.same(f"values of {function}", await series.values(f"SELECT {function} FROM § {spans}"), wanted)
    query = f"SELECT mean(n) FROM § WHERE time > {BASE + 60}s AND time < {BASE + 90}s GROUP BY time(10s)"
    series.same("intervals without points", await series.values(query), [])


@check("TSER-QUERY-3", "of equal numbers the earliest is picked")
async def equal_numbers(target: Target) -> None:
    series = Timeseries(target)
    for at, number, sn in ((0, 1, "b"), (5, 1, "b"), (10, 5, "a"), (20, 5, "b"), (25, 5, "b"), (30, 1, "a")):
        await series.write(timed(f"m,sn={sn} v={number} {{{at}}}"))
    for end in ("", " ORDER BY time DESC"):
        for function, row in (("min", [0, 1]), ("max", [10, 5]), ("first", [0, 1]), ("last", [30, 1])):
            series.same(function, await series.rows(f"SELECT {function}(v) FROM §{end}"), [row])
        found = await series.rows(f"SELECT max(v) FROM § WHERE sn = 'b'{end}")
        series.same("of one series", found, [[20, 5]])


@check("TSER-QUERY-8", "nanoseconds, and fractions of a second")
async def fractions(target: Target) -> None:
    series = Timeseries(target)
    await series.done("write", query=f"{series.measurement} v=1 {BASE}987654321")
    for epoch, wanted in (("ns", BASE * 10**9 + 987_654_000), ("u", BASE * 10**6 + 987_654), ("s", BASE)):
        found = await series.done("query", q=f"SELECT v FROM {series.measurement}", epoch=epoch)
        [[time, _]] = found["results"][0]["series"][0]["values"]
        expect.equal(f"time in {epoch}", float(time), float(wanted), series.last)


@check("TSER-WRITE-1", "whole numbers are exact", needs={"settings"})
async def whole_numbers(target: Target) -> None:
    await target.in_lab(_whole, target)


def _whole(target: Target) -> None:
    own = target.lab.solution(target.identity()).Timeseries
    own.write(query=f"m v={EXACT}i\nm v=-{EXACT}i 1")
    found = own.query(q="SELECT v FROM m")["results"][0]["series"][0]["values"]
    expect.equal("the numbers", [value for _, value in found], [-EXACT, EXACT])
