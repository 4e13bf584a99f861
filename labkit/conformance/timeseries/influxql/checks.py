"""Timeseries: scripts store points in the line protocol, and query them in InfluxQL."""

from __future__ import annotations

from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import PROBE, WITNESS, Service
from labkit.conformance.target import Target

BASE = 1_480_000_000  # seconds; times of points whose age does not matter


class Timeseries(Service):
    """Timeseries of a solution, with a measurement of a check's own."""

    def __init__(self, target: Target, solution: str = PROBE, name: str = "") -> None:
        super().__init__(target, "Timeseries", solution)
        self.measurement = name or f"m{target.identity()}".replace("-", "_")

    async def write(self, *lines: str) -> None:
        """Write lines, in which a leading `m` stands for the measurement."""
        text = "\n".join(self.measurement + line.removeprefix("m") for line in lines)
        await self.done("write", query=text, precision="s")

    async def series(self, query: str, operation: str = "query") -> Any:
        """Return the series of a query; `§` stands for the measurement. Times are seconds after BASE."""
        given = {"q": query.replace("§", self.measurement)}
        found = await self.done(operation, **given, **({"epoch": "s"} if operation == "query" else {}))
        [result] = found["results"]
        series = result.get("series", []) if isinstance(result, dict) else []
        for each in series:
            width = len(each["columns"])
            each["values"] = [
                [
                    row[0] - BASE if isinstance(row[0], int) else row[0],
                    *row[1:],
                    *[None] * (width - len(row)),
                ]
                for row in each["values"]
            ]
        return series

    async def rows(self, query: str) -> Any:
        """Return the rows of the only series of a query; [] if there is none."""
        found = await self.series(query)
        return found[0]["values"] if len(found) == 1 else found

    async def values(self, query: str) -> list[Any]:
        """Return the first column after the time."""
        return [row[1] for row in await self.rows(query)]


async def filled(target: Target) -> Timeseries:
    """Return a client whose measurement has points of two devices, one each 10 seconds."""
    series = Timeseries(target)
    lines = ['m,sn=a v=1,state="on" {0}', "m,sn=a v=2 {10}", "m,sn=b v=10 {10}", "m,sn=a v=4 {20}"]
    await series.write(*(timed(line) for line in lines))
    return series


def timed(line: str) -> str:
    """Return a line that ends with its time. line: ends with `{5}` for 5 seconds after BASE."""
    head, _, seconds = line.partition("{")
    return f"{head}{BASE + int(seconds[:-1])}"


@check("TSER-WRITE-1", "values of all types")
async def values(target: Target) -> None:
    series = Timeseries(target)
    texts = (("1.5", 1.5), ("-2e3", -2000), ("7i", 7), ("t", True), ("false", False), ('"on"', "on"))
    texts = (*texts, (r'"a \"b\", c=d \\"', 'a "b", c=d \\'), ('"é\nx"', "é\nx"))  # type: ignore[assignment]
    for seconds, (written, value) in enumerate(texts):
        await series.write(timed(f"m v={written} {{{seconds}}}"))
        series.same(f"what {written} is", (await series.rows("SELECT v FROM §"))[-1], [seconds, value])
    await series.write(timed("m,a\\ b=x\\,y,c=é v=1,w=2 {50}"))
    found = await series.series("SELECT v, w, \"a b\", c FROM § WHERE c = 'é'")
    series.same("names with spaces", found[0]["values"], [[50, 1, 2, "x,y", "é"]])


@check("TSER-WRITE-2", "units of times, and points that replace others")
async def times(target: Target) -> None:
    series = Timeseries(target)
    for number, (time, unit) in enumerate(
        ((f"{BASE}000000000", None), (f"{BASE + 1}000000", "u"), (f"{BASE + 2}000", "ms"), (BASE + 3, "s"))
    ):
        given = {} if unit is None else {"precision": unit}
        await series.done("write", query=f"{series.measurement} v={number} {time}", **given)
    await series.write(timed("m v=9 {3}"), timed("m,sn=a v=8 {3}"), timed("m w=1 {3}"))
    rows = await series.rows("SELECT v FROM §")
    series.same("the points", rows, [[0, 0], [1, 1], [2, 2], [3, 9], [3, 8]])


@check("TSER-WRITE-2", "without a time a point is of now, in lab time", needs={"clock"})
async def lab_time(target: Target) -> None:
    series = Timeseries(target)
    now = int(target.lab_time())
    await series.done("write", query=f"{series.measurement} v=1")
    [[time, _]] = await series.rows("SELECT v FROM § WHERE time > now() - 1m")
    expect.equal("whether the time is now", time + BASE in range(now, int(target.lab_time()) + 1), True)


@check("TSER-WRITE-3", "lines of another form are refused with their number")
async def refused(target: Target) -> None:
    series = Timeseries(target)
    name = series.measurement
    for wrong in (
        name,
        f"{name} v",
        f"{name} v=on",
        f'{name} v="on',
        f"{name} v=1 soon",
        f"{name} v=1 -1",
        f"{name},sn v=1",
        f"{name},sn= v=1",
        f"{name} v=1e999",
        f"{'x' * 201} v=1",
        f'{name} v="{"x" * 65_537}"',
    ):
        text = await series.refused("write", 400, query=f"{name} v=1\n{wrong}")
        expect.equal("whether the error names the line", "line 2" in text, True)
    for nothing in ("", "# only a comment"):
        await series.refused("write", 400, query=nothing)
    series.same("the points", await series.series("SELECT v FROM §"), [])


@check("TSER-QUERY-1", "series, columns and rows")
async def shape(target: Target) -> None:
    series = await filled(target)
    [found] = await series.series("SELECT v FROM §")
    wanted: dict[str, Any] = {"name": series.measurement, "columns": ["time", "v"]}
    series.same("series", found, {**wanted, "values": [[0, 1], [10, 2], [10, 10], [20, 4]]})
    [found] = await series.series("SELECT * FROM §")
    series.same("columns of *", found["columns"], ["time", "sn", "state", "v"])
    series.same("row of *", found["values"][1], [10, "a", None, 2])
    [found] = await series.series("SELECT v AS \"value\", sn FROM § WHERE sn = 'b'")
    series.same("columns with names", found["columns"], ["time", "value", "sn"])
    series.same("rows with a tag", found["values"], [[10, 10, "b"]])
    both = await series.done("query", q=f"SELECT v FROM none; SELECT v FROM {series.measurement} LIMIT 1")
    expect.equal("number of results", len(both["results"]), 2)
    expect.equal("series of a measurement that is not there", "series" in both["results"][0], False)


@check("TSER-QUERY-2", "conditions on tags and time")
async def conditions(target: Target) -> None:
    series = await filled(target)
    nanos = (BASE + 10) * 10**9
    for where, wanted in (
        ("sn = 'a'", [1, 2, 4]),
        ("sn != 'a'", [10]),
        ("sn =~ /^[ab]$/", [1, 2, 10, 4]),
        ("sn !~ /a/", [10]),
        (f"time > {nanos}", [4]),
        (f"time >= {nanos}", [2, 10, 4]),
        (f"time < {BASE + 10}s", [1]),
        (f"time <= {BASE + 10}s", [1, 2, 10]),
        (f"time = {BASE + 10}000ms", [2, 10]),
        ("time > '2016-11-24T15:06:50Z'", [4]),
        ("time >= '2016-11-24T15:06:51Z' - 1s", [2, 10, 4]),
        ("(sn = 'b' OR sn = 'none') AND time > 0", [10]),
        ("time > now() - 1h", []),
        ("time < now()", [1, 2, 10, 4]),
    ):
        found = await series.values(f"SELECT v FROM § WHERE {where}")
        series.same(f"values where {where}", found, wanted)


@check("TSER-QUERY-3", "functions of all points")
async def functions(target: Target) -> None:
    series = await filled(target)
    for function, wanted in (
        ("mean(v)", 4.25),
        ("sum(v)", 17),
        ("count(v)", 4),
        ("min(v)", 1),
        ("max(v)", 10),
        ("first(v)", 1),
        ("last(v)", 4),
        ("median(v)", 3),
        ("spread(v)", 9),
        ("percentile(v, 75)", 4),
        ("count(state)", 1),
        ("stddev(v)", 4.031128874149275),
        ("mode(state)", "on"),
        ("mode(v)", 1),
        ("count(distinct(v))", 4),
    ):
        series.same(function, await series.values(f"SELECT {function} FROM §"), [wanted])
    await series.write(timed("m,sn=b v=4 {30}"))
    series.same("different values", await series.values("SELECT distinct(v) FROM §"), [1, 2, 10, 4])
    series.same("most frequent value", await series.values("SELECT mode(v) FROM §"), [4])
    series.same("time of the maximum", await series.rows("SELECT max(v) FROM §"), [[10, 10]])
    [found] = await series.series("SELECT min(v), max(v) AS most, min(v) FROM §")
    series.same("columns", found["columns"], ["time", "min", "most", "min_1"])


@check("TSER-QUERY-4", "intervals of time")
async def intervals(target: Target) -> None:
    series = Timeseries(target)
    await series.write(timed("m v=1 {0}"), timed("m v=3 {5}"), timed("m v=4 {20}"))
    query = f"SELECT mean(v) FROM § WHERE time >= {BASE}s AND time < {BASE + 30}s GROUP BY time(10s)"
    for fill, wanted in (
        ("", [2, None, 4]),
        (" fill(null)", [2, None, 4]),
        (" fill(previous)", [2, 2, 4]),
        (" fill(linear)", [2, 3, 4]),
        (" fill(-1)", [2, -1, 4]),
        (" fill(none)", [2, 4]),
    ):
        series.same(f"values with{fill}", await series.values(query + fill), wanted)
    before = query.replace(f"{BASE}s", f"{BASE - 10}s") + " fill(linear)"
    series.same("values at the edge", await series.values(before), [None, 2, 3, 4])
    last = f"{query} fill(previous) ORDER BY time DESC LIMIT 2"
    series.same("values before the limit", await series.values(last), [4, 2])
    counted = query.replace("mean", "count")
    series.same("counts", await series.rows(counted), [[0, 2], [10, 0], [20, 1]])


@check("TSER-QUERY-5", "series for each value of a tag")
async def groups(target: Target) -> None:
    series = await filled(target)
    for by in ("sn", "*"):
        found = await series.series(f"SELECT v FROM § GROUP BY {by}")
        seen = [(each["tags"], [row[1] for row in each["values"]]) for each in found]
        series.same(f"series by {by}", seen, [({"sn": "a"}, [1, 2, 4]), ({"sn": "b"}, [10])])
    found = await series.series("SELECT sum(v) FROM § GROUP BY sn")
    series.same("sums", [each["values"][0][1] for each in found], [7, 10])


@check("TSER-QUERY-6", "order and limit")
async def limits(target: Target) -> None:
    series = await filled(target)
    series.same("the first two", await series.values("SELECT v FROM § LIMIT 2"), [1, 2])
    series.same("the last", await series.values("SELECT v FROM § ORDER BY time DESC LIMIT 1"), [4])
    series.same("in order", await series.values("SELECT v FROM § ORDER BY time ASC"), [1, 2, 10, 4])

    series.same("the second", await series.values("SELECT v FROM § LIMIT 1 OFFSET 1"), [2])
    series.same("all but one", await series.values("SELECT v FROM § OFFSET 1"), [2, 10, 4])
    series.same("none", await series.series("SELECT v FROM § LIMIT 1 OFFSET 4"), [])
    sums = "SELECT sum(v) FROM § WHERE time >= 0 GROUP BY time(10s) fill(none) ORDER BY time DESC LIMIT 1 OFFSET 1"
    series.same("the second of intervals", await series.rows(sums), [[10, 12]])
    for pages, wanted in (("SLIMIT 1", ["a"]), ("SLIMIT 1 SOFFSET 1", ["b"]), ("SOFFSET 2", [])):
        found = await series.series(f"SELECT v FROM § GROUP BY sn {pages}")
        series.same(f"series with {pages}", [each["tags"]["sn"] for each in found], wanted)
    found = await series.series("SELECT v FROM § WHERE time > 1480000015s GROUP BY sn SLIMIT 1")
    series.same("series with rows", [each["values"] for each in found], [[[20, 4]]])


@check("TSER-QUERY-9", "changes of points, and of the results of intervals")
async def changes(target: Target) -> None:
    series = Timeseries(target)
    await series.write(*(timed(f"m v={value} {{{at}}}") for at, value in ((0, 1), (5, 3), (20, 2), (30, 7))))
    for function, wanted in (
        ("difference(v)", [[5, 2], [20, -1], [30, 5]]),
        ("non_negative_difference(v)", [[5, 2], [30, 5]]),
        ("derivative(v, 1m)", [[5, 24], [20, -4], [30, 30]]),
        ("non_negative_derivative(v)", [[5, 0.4], [30, 0.5]]),
        ("moving_average(v, 2)", [[5, 2], [20, 2.5], [30, 4.5]]),
        ("cumulative_sum(v)", [[0, 1], [5, 4], [20, 6], [30, 13]]),
    ):
        series.same(function, await series.rows(f"SELECT {function} FROM §"), wanted)
        last = await series.rows(f"SELECT {function} FROM § ORDER BY time DESC LIMIT 1")
        series.same(f"{function}, the last", last, wanted[-1:])
    intervals = f"WHERE time >= {BASE}s AND time < {BASE + 40}s GROUP BY time(10s)"
    for function, wanted in (
        ("derivative(sum(v))", [[20, -1], [30, 5]]),
        ("derivative(mean(v), 10s)", [[20, 0], [30, 5]]),
        ("cumulative_sum(count(v))", [[0, 2], [10, 2], [20, 3], [30, 4]]),
    ):
        series.same(function, await series.rows(f"SELECT {function} FROM § {intervals}"), wanted)
    found = await series.rows(f"SELECT difference(max(v)) FROM § {intervals} fill(linear)")
    series.same("differences of filled intervals", found, [[10, -0.5], [20, -0.5], [30, 5]])


@check("TSER-QUERY-10", "columns that compute")
async def computed(target: Target) -> None:
    series = await filled(target)
    await series.write(timed("m,sn=a w=4 {20}"))
    [found] = await series.series(
        "SELECT v * 2 - 1, (v + w) / 2, v / 0 AS none, state + 1 FROM § WHERE sn = 'a'"
    )
    series.same("columns", found["columns"], ["time", "v", "v_w", "none", "state"])
    rows = [[0, 1, None, 0, None], [10, 3, None, 0, None], [20, 7, 4, 0, None]]
    series.same("rows", found["values"], rows)
    [found] = await series.series("SELECT 1 + mean(v) * 2, max(v) - min(v) FROM §")
    series.same("columns of functions", found["columns"], ["time", "mean", "max_min"])
    series.same("row of functions", found["values"][0][1:], [9.5, 9])


@check("TSER-QUERY-7", "what is not supported is named")
async def unsupported(target: Target) -> None:
    series = await filled(target)
    name = series.measurement
    for query, named in (
        ("SELECT v INTO x FROM §", "INTO"),
        ("SELECT v FROM § OFFSET -1", "OFFSET"),
        ("SELECT v FROM § SLIMIT 0", "SLIMIT"),
        ("SELECT v FROM § tz('Europe/Berlin')", "TZ"),
        ("SELECT integral(v) FROM §", "integral"),
        ("SELECT difference(mean(v)) FROM §", "difference"),
        ("SELECT v % 2 FROM §", "%"),
        ("SELECT 1 FROM §", "field"),
        ("SELECT v FROM § WHERE v > 5", "v"),
        ("SELECT mean(v) FROM § GROUP BY time(1h) fill(cubic)", "cubic"),
        ("SELECT v FROM § ORDER BY v", "ORDER BY v"),
        ("DELETE FROM §", "DELETE"),
        ("SELECT v FROM", "ends"),
        ("SELECT v FROM §" + " " * 8192, "8192"),
        ("DROP MEASUREMENT §; SELECT v FROM § WHERE sn = 'a' OR time > 5", "OR"),
    ):
        for operation in ("query", "command"):
            text = await series.refused(operation, 400, q=query.replace("§", name))
            expect.equal(f"whether the error names {named}", named in text, True)
    series.same("the points", await series.values("SELECT v FROM §"), [1, 2, 10, 4])


@check("TSER-QUERY-11", "a text as the only argument")
async def text_alone(target: Target) -> None:
    series = Timeseries(target)
    kind, _ = await series.call("Timeseries", "write", f"{series.measurement} v=5 {BASE}000000000")
    expect.equal("what write gives", kind, "table", series.last)
    for operation in ("query", "command"):
        _, found = await series.call("Timeseries", operation, f"SELECT v FROM {series.measurement}")
        series.same("values", [row[1] for row in found["results"][0]["series"][0]["values"]], [5])


@check("TSER-QUERY-12", "comments and qualified names are read, and what is not is named")
async def as_published(target: Target) -> None:
    series = await filled(target)
    name = series.measurement
    for query in (
        'SELECT v FROM "autogen".§',
        'SELECT v FROM "db"."autogen".§',
        "SELECT v FROM db..§",
        "-- all of it; SELECT 5\nSELECT /* of\nthis */ v FROM § -- FROM x",
        "SELECT v FROM § WHERE time < now() --5m\n- 1s",
    ):
        series.same(f"values of {query}", await series.values(query), [1, 2, 10, 4])
    for query, named in (
        ("SELECT mean(v) FROM (SELECT v FROM §)", "subquery"),
        ("SELECT v FROM /cpu.*/", "regular expression"),
        ("SELECT v::float FROM §", "::"),
        ("SELECT v FROM a.b.c.§", "retention policy"),
        ("SELECT top(v, 3) FROM §", "top"),
        ("SELECT bottom(v, 3) FROM §", "bottom"),
        ("SELECT elapsed(v, 1s) FROM §", "elapsed"),
        ("SELECT integral(v, 1m) FROM §", "integral"),
        ("SELECT v /* open FROM §", "character"),
    ):
        text = await series.refused("query", 400, q=query.replace("§", name))
        expect.true(f"the error of {query} names it", named in text, text, series.last)


@check("TSER-QUERY-8", "units of times in the result")
async def units(target: Target) -> None:
    series = Timeseries(target)
    await series.write(timed("m v=1 {0}"))
    for given, wanted in (
        ({"epoch": "s"}, BASE),
        ({"epoch": "ms"}, BASE * 1000),
        ({"epoch": "u"}, BASE * 10**6),
        ({}, "2016-11-24T15:06:40Z"),
    ):
        found = await series.done("query", q=f"SELECT v FROM {series.measurement}", **given)
        series.same(f"time with {given}", found["results"][0]["series"][0]["values"], [[wanted, 1]])
    await series.refused("query", 400, q=f"SELECT v FROM {series.measurement}", epoch="days")


@check("TSER-CMD-1", "names are listed, and series deleted")
async def commands(target: Target) -> None:
    series = await filled(target)

    async def shown(query: str) -> Any:
        return [row for each in await series.series(query, "command") for row in each["values"]]

    listed = await shown("SHOW MEASUREMENTS")
    expect.equal("whether the measurement is listed", [series.measurement] in listed, True)
    series.same("field keys", await shown("SHOW FIELD KEYS FROM §"), [["state"], ["v"]])
    series.same("tag keys", await shown("SHOW TAG KEYS FROM §"), [["sn"]])
    values = await shown("SHOW TAG VALUES FROM § WITH KEY = sn")
    series.same("tag values", values, [["sn", "a"], ["sn", "b"]])
    await series.done("command", q=f"DROP SERIES FROM {series.measurement} WHERE sn = 'a'")
    series.same("the points", await series.values("SELECT v FROM §"), [10])
    await series.done("command", q=f"DROP MEASUREMENT {series.measurement}")
    series.same("the points", await series.series("SELECT v FROM §"), [])


@check("TSER-KEEP-1", "another solution sees nothing")
async def apart(target: Target) -> None:
    series = Timeseries(target)
    other = Timeseries(target, WITNESS, series.measurement)
    await series.write(timed("m,sn=a v=1 {0}"))
    await other.write(timed("m,sn=a v=2 {0}"))
    series.same("its own", await series.values("SELECT v FROM §"), [1])
    other.same("of the other", await other.values("SELECT v FROM §"), [2])
    await other.done("command", q=f"DROP MEASUREMENT {series.measurement}")
    series.same("its own after that", await series.values("SELECT v FROM §"), [1])
