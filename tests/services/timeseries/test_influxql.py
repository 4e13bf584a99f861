"""Timeseries: queries in InfluxQL."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from labkit.core.errors import ServiceError
from labkit.services.timeseries.grammar import parse
from tests.services.tsdb.series_rig import START, SeriesRig


class TimeseriesRig(SeriesRig):
    """A rig with points of two devices."""

    async def filled(self) -> TimeseriesRig:
        lines = [
            f't,sn=a v=1,state="on" {START - 7200}',
            f"t,sn=a v=2 {START - 3600}",
            f"t,sn=b v=10 {START - 3600}",
            f"t,sn=a v=4 {START}",
            f"other v=5 {START}",
        ]
        written = await self.call("Timeseries.write", query="\n".join(lines), precision="s")
        assert written == {}
        return self

    async def series(self, q: str) -> list[Any]:
        """Return the series of a query, with times as seconds after the start."""
        answer = await self.call("Timeseries.query", q=q, epoch="s")
        [result] = answer["results"]
        found: list[Any] = result.get("series", [])
        for each in found:
            each["values"] = [[time - START, *values] for time, *values in each["values"]]
        return found

    async def rows(self, q: str) -> Any:
        """Return the rows of the only series of a query."""
        [only] = await self.series(q)
        return only["values"]


async def test_shape() -> None:
    rig = await TimeseriesRig().filled()
    answer = await rig.call("Timeseries.query", q="SELECT v FROM t GROUP BY sn; SELECT v FROM none")
    assert answer == {
        "results": [
            {
                "series": [
                    {
                        "name": "t",
                        "tags": {"sn": "a"},
                        "columns": ["time", "v"],
                        "values": [
                            ["2025-12-31T22:00:00Z", 1.0],
                            ["2025-12-31T23:00:00Z", 2.0],
                            ["2026-01-01T00:00:00Z", 4.0],
                        ],
                    },
                    {
                        "name": "t",
                        "tags": {"sn": "b"},
                        "columns": ["time", "v"],
                        "values": [["2025-12-31T23:00:00Z", 10.0]],
                    },
                ]
            },
            {},
        ]
    }


@pytest.mark.parametrize(("epoch", "unit"), [("s", 1), ("ms", 10**3), ("u", 10**6), ("ns", 10**9)])
async def test_units_of_times(epoch: str, unit: int) -> None:
    rig = await TimeseriesRig().filled()
    answer = await rig.call("Timeseries.query", q="SELECT v FROM other", epoch=epoch)
    assert answer["results"][0]["series"][0]["values"] == [[START * unit, 5.0]]


async def test_fields_tags_and_all() -> None:
    rig = await TimeseriesRig().filled()
    [found] = await rig.series("SELECT * FROM t LIMIT 2")
    assert found["columns"] == ["time", "sn", "state", "v"]
    assert found["values"] == [[-7200, "a", "on", 1], [-3600, "a", None, 2]]
    [found] = await rig.series("SELECT v AS value, sn, v FROM t ORDER BY time DESC LIMIT 1")
    assert found["columns"] == ["time", "value", "sn", "v"]
    assert found["values"] == [[0, 4, "a", 4]]
    assert await rig.series("SELECT sn FROM t") == []
    assert await rig.series("SELECT none FROM t") == []
    assert [each["name"] for each in await rig.series("SELECT v FROM other, t, other")] == ["other", "t"]
    [found] = await rig.series("SELECT * FROM t WHERE sn = 'b' GROUP BY *")
    assert (found["tags"], found["columns"]) == ({"sn": "b"}, ["time", "state", "v"])


@pytest.mark.parametrize(
    ("where", "values"),
    [
        ("sn = 'a'", [1, 2, 4]),
        ("sn != 'a'", [10]),
        ("sn <> 'a'", [10]),
        ("sn =~ /^[ab]$/", [1, 2, 10, 4]),
        ("sn !~ /a/", [10]),
        ("\"sn\" = 'a' AND time > now() - 1h", [4]),
        ("time >= now() - 1h", [2, 10, 4]),
        ("time >= now() - 30m - 1800s and time < now()", [2, 10]),
        ("time > now() - 61m + 1m AND time <= now()", [4]),
        ("time = '2025-12-31T23:00:00Z'", [2, 10]),
        ("time < '2025-12-31 23:00:00'", [1]),
        ("time >= '2026-01-01'", [4]),
        ("time >= '2026-01-01T01:00:00Z' - 1h", [4]),
        (f"time > {START - 7200}s AND time < {START}000ms", [2, 10]),
        (f"time >= {START * 10**9}", [4]),
        (f"time > {START * 10**9 - 1}", [4]),
        ("(sn = 'b' OR sn = 'none') AND (time > 0)", [10]),
        ("sn = 'a' AND (time > now() - 1h OR sn = 'x')", None),
        ("none = ''", [1, 2, 10, 4]),
        ("none = 'x'", []),
        ("sn = ''", []),
    ],
)
async def test_where(where: str, values: list[int] | None) -> None:
    rig = await TimeseriesRig().filled()
    answer = await rig.call("Timeseries.query", q=f"SELECT v FROM t WHERE {where}", epoch="s")
    if values is None:
        assert answer["status"] == 400
        return
    found = answer["results"][0].get("series", [{"values": []}])[0]["values"]
    assert [value for _, value in found] == values


async def test_functions_of_all_points() -> None:
    rig = await TimeseriesRig().filled()
    [found] = await rig.series(
        "SELECT mean(v), sum(v), count(v), min(v), max(v), first(v), last(v), median(v), spread(v), "
        "percentile(v, 75), mean(v), COUNT(state) AS states FROM t"
    )
    assert found["columns"][1:] == [
        *"mean sum count min max first last median spread percentile mean_1 states".split()
    ]
    assert found["values"] == [[-START, 4.25, 17, 4, 1, 10, 1, 4, 3, 9, 4, 4.25, 1]]
    assert await rig.series("SELECT mean(none) FROM t") == []


@pytest.mark.parametrize(
    ("function", "row"),
    [
        ("first(v)", [-7200, 1]),
        ("last(v)", [0, 4]),
        ("min(v)", [-7200, 1]),
        ("max(v)", [-3600, 10]),
        ("percentile(v, 75)", [0, 4]),
        ("percentile(v, 0)", [-START, None]),
        ("percentile(v, 100)", [-3600, 10]),
        ("mean(v)", [-START, 4.25]),
    ],
)
async def test_a_function_that_picks_a_point_has_its_time(function: str, row: list[Any]) -> None:
    rig = await TimeseriesRig().filled()
    assert await rig.rows(f"SELECT {function} FROM t") == [row]


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        ("", [1, None, 4]),
        ("fill(null)", [1, None, 4]),
        ("fill(none)", [1, 4]),
        ("fill(previous)", [1, 1, 4]),
        ("fill(-1.5)", [1, -1.5, 4]),
    ],
)
async def test_intervals_and_fill(fill: str, expected: list[Any]) -> None:
    rig = TimeseriesRig()
    lines = f"m v=1 {START - 7200}\nm v=4 {START}"
    assert await rig.call("Timeseries.write", query=lines, precision="s") == {}
    query = "SELECT mean(v) FROM m WHERE time >= now() - 2h GROUP BY time(1h) " + fill
    assert [value for _, value in await rig.rows(query)] == expected
    assert [value for _, value in await rig.rows(f"{query} ORDER BY time DESC")] == expected[::-1]
    assert [value for _, value in await rig.rows(f"{query} LIMIT 2")] == expected[:2]


async def test_intervals_without_a_start_begin_at_the_first_point() -> None:
    rig = await TimeseriesRig().filled()
    assert await rig.rows("SELECT count(v) FROM t GROUP BY time(30m)") == [
        [-7200, 1],
        [-5400, 0],
        [-3600, 2],
        [-1800, 0],
        [0, 1],
    ]
    assert (await rig.rows("SELECT count(v) FROM t GROUP BY time(1h, 15m)"))[0] == [-9900 + 900 - 900, 1]
    found = await rig.series("SELECT mean(v) FROM t WHERE time > now() - 2h GROUP BY time(1h), sn fill(none)")
    assert [(each["tags"]["sn"], each["values"]) for each in found] == [
        ("a", [[-3600, 2], [0, 4]]),
        ("b", [[-3600, 10]]),
    ]


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("SELECT v INTO x FROM t", "the clause INTO is not supported at character 10"),
        ("SELECT v FROM t OFFSET -1", "OFFSET: expected a whole number from 0 to 100000"),
        ("SELECT v FROM t OFFSET 1 LIMIT 1", "unexpected 'LIMIT'"),
        ("SELECT v FROM t SLIMIT 0", "SLIMIT: expected a whole number"),
        ("SELECT v FROM t SOFFSET 1.5", "SOFFSET: expected a whole number"),
        ("SELECT v FROM t tz('Europe/Berlin')", "the clause TZ"),
        ("SELECT v FROM t HAVING v", "the clause HAVING"),
        ("DELETE FROM t", "the statement DELETE"),
        ("CREATE DATABASE x", "the statement CREATE"),
        ("SELECT integral(v) FROM t", "the function integral"),
        ("SELECT mean(count(v)) FROM t", "mean needs the name of a field"),
        ("SELECT count(distinct(*)) FROM t", "distinct needs the name of a field"),
        ("SELECT distinct(v), mean(v) FROM t", "distinct is the only column"),
        ("SELECT derivative(v), v FROM t", "either functions or fields"),
        ("SELECT derivative(v, 0s) FROM t", "derivative needs a duration of at least 1u"),
        ("SELECT derivative(5) FROM t", "derivative needs a field"),
        ("SELECT derivative(*) FROM t", "derivative needs a field"),
        ("SELECT difference(v, 1s) FROM t", "difference needs a field"),
        ("SELECT difference(difference(v)) FROM t", "difference of difference is not supported"),
        ("SELECT difference(distinct(v)) FROM t GROUP BY time(1h)", "difference of distinct"),
        ("SELECT difference(mean(v)) FROM t", "difference of mean needs GROUP BY time"),
        ("SELECT difference(v) FROM t GROUP BY time(1h)", "GROUP BY time needs a function"),
        ("SELECT moving_average(v) FROM t", "moving_average needs a number from 2 to 10000"),
        ("SELECT moving_average(v, 1) FROM t", "moving_average needs a number"),
        ("SELECT mean(v), v FROM t", "either functions or fields"),
        ("SELECT mean(*) FROM t", "mean needs the name of a field"),
        ("SELECT mean(v, 2) FROM t", "mean needs the name of a field"),
        ("SELECT percentile(v) FROM t", "percentile needs"),
        ("SELECT percentile(v, 101) FROM t", "percentile needs a number from 0 to 100"),
        ("SELECT 1 FROM t", "expected a field or a function in each column"),
        ("SELECT v, 1 + 2 FROM t", "expected a field or a function in each column"),
        ("SELECT *, v + 1 FROM t", "either \\* or computed columns"),
        ("SELECT distinct(v) + 1 FROM t", "distinct is the only column"),
        ("SELECT mean(v) + v FROM t", "either functions or fields"),
        ("SELECT v" + " + 1" * 51 + " FROM t", "at most 50 operators"),
        ("SELECT v % 2 FROM t", "unexpected '%' at character 10"),
        ("SELECT v FROM (SELECT v FROM t)", "a subquery is not supported"),
        ("SELECT v FROM /t/", "a regular expression as a measurement"),
        ("SHOW DATABASES", "unexpected 'DATABASES' at character 6"),
        ("SELECT v FROM t WHERE v > 5", "the condition on v compares the value of a field"),
        ("SELECT v FROM t WHERE sn < 'a'", "the condition on sn"),
        ("SELECT v FROM t WHERE time != 5", "time is compared with"),
        ("SELECT v FROM t WHERE time > 'noon'", "time 'noon'"),
        ("SELECT v FROM t WHERE time > 99999999999999999999", "out of bounds"),
        ("SELECT v FROM t GROUP BY time(1h)", "GROUP BY time needs a function"),
        ("SELECT mean(v) FROM t GROUP BY time(0s)", "at least 1u"),
        ("SELECT mean(v) FROM t GROUP BY hour(1h)", "GROUP BY hour"),
        ("SELECT mean(v) FROM t GROUP BY time(1h) fill(cubic)", "fill\\(cubic\\)"),
        ("SELECT v FROM t ORDER BY v", "ORDER BY v"),
        ("SELECT v FROM t LIMIT 0", "LIMIT: expected a whole number"),
        ("SELECT v FROM t LIMIT 10001", "LIMIT: expected a whole number"),
        ("SELECT v FROM t LIMIT 1 LIMIT 2", "unexpected 'LIMIT'"),
        ("SELECT v FROM", "the query ends too early"),
        ("SELECT v FROM t WHERE sn =~ /(/", "expected a pattern"),
        ("SELECT v FROM t WHERE sn = 'a' OR time > 5", "a condition on time within OR"),
        ("SELECT v FROM t" + ";SELECT v FROM t" * 10, "at most 10 statements"),
        ("SELECT v FROM t WHERE " + "(" * 51 + "sn='a'" + ")" * 51, "at most 50 brackets"),
        ("SELECT v FROM " + "t," * 4100 + "t", "at most 8192"),
        ("DROP SERIES FROM t WHERE time > 5", "a condition on time is not supported here"),
        ("DROP MEASUREMENT t; SELECT v FROM t WHERE sn = 'a' OR time > 5", "a condition on time"),
    ],
)
async def test_what_is_not_supported_is_named_and_changes_nothing(query: str, named: str) -> None:
    rig = await TimeseriesRig().filled()
    for operation in ("query", "command"):
        refused = await rig.call(f"Timeseries.{operation}", q=query)
        assert refused["status"] == 400
        with pytest.raises(ServiceError, match=named):
            raise ServiceError(400, refused["error"])
    assert len(await rig.rows("SELECT v FROM t")) == 4


async def test_words_of_the_language_may_be_names() -> None:
    rig = TimeseriesRig()
    assert await rig.call("Timeseries.write", query="order,select=x fromage=1,limit=2") == {}
    assert await rig.rows("select fromage from order where select = 'x'") == [[0, 1]]
    assert await rig.rows('SELECT "limit" FROM "order"') == [[0, 2]]


async def test_show_and_drop() -> None:
    rig = await TimeseriesRig().filled()

    async def shown(q: str) -> list[Any]:
        answer = await rig.call("Timeseries.command", q=q)
        return [
            (each["name"], each["columns"], each["values"]) for each in answer["results"][0].get("series", [])
        ]

    assert await shown("SHOW MEASUREMENTS") == [("measurements", ["name"], [["other"], ["t"]])]
    assert await shown("show field keys from t") == [("t", ["fieldKey"], [["state"], ["v"]])]
    assert await shown("SHOW TAG KEYS") == [("t", ["tagKey"], [["sn"]])]
    assert await shown("SHOW TAG VALUES FROM t WITH KEY = sn") == [
        ("t", ["key", "value"], [["sn", "a"], ["sn", "b"]])
    ]
    assert await shown("SHOW TAG VALUES WITH KEY = none") == []
    assert await shown("DROP SERIES FROM t WHERE sn = 'a'") == []
    assert await rig.rows("SELECT v FROM t") == [[-3600, 10]]
    assert await shown("DROP MEASUREMENT t;") == []
    assert await shown("SHOW MEASUREMENTS") == [("measurements", ["name"], [["other"]])]


def test_equal_texts_are_parsed_once() -> None:
    assert parse("SELECT v FROM once") is parse("SELECT v FROM once")


async def test_rows_of_a_result_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("query", "intervals"):
        monkeypatch.setattr(f"labkit.services.timeseries.{module}.MOST_RETURNED", 3)
    rig = await TimeseriesRig().filled()
    refused = await rig.call("Timeseries.query", q="SELECT v FROM t")
    assert refused["status"] == 400
    assert "more than 3 rows" in refused["error"]
    assert (
        "more than 3 rows" in (await rig.call("Timeseries.query", q="SELECT difference(v) FROM t"))["error"]
    )
    assert len(await rig.rows("SELECT v FROM t LIMIT 3")) == 3


@pytest.mark.parametrize("order", ["", " ORDER BY time DESC"])
@pytest.mark.parametrize("columns", ["v", "w, sn, v", "sn", "none, w", "v AS a, v"])
async def test_a_page_has_the_rows_that_all_have_there(columns: str, order: str) -> None:
    rig, random = TimeseriesRig(), Random(7)
    lines = [
        f"t{random.choice(['', ',sn=a', ',sn=b', ',sn=a,x=y'])} {random.choice('vw')}={at} {START + at % 9}"
        for at in range(60)
    ]
    assert await rig.call("Timeseries.write", query="\n".join(lines), precision="s") == {}
    query = f"SELECT {columns} FROM t{order}"
    found = await rig.series(query)
    every = found[0]["values"] if found else []
    for begin in (0, 1, 5):
        for count in (1, 2, 7, 100):
            page = await rig.series(f"{query} LIMIT {count} OFFSET {begin}")
            expected = [{**found[0], "values": rows}] if (rows := every[begin : begin + count]) else []
            assert page == expected


@pytest.mark.parametrize(
    ("columns", "names", "row"),
    [
        ("v * 2", ["v"], [20]),
        ("v*2+1 AS more", ["more"], [21]),
        ("1 + v * 2", ["v"], [21]),
        ("(1 + v) * 2", ["v"], [22]),
        ("v - 1 - 2, v-1", ["v", "v_1"], [7, 9]),
        ("v / 4, 5 / v", ["v", "v_1"], [2.5, 0.5]),
        ("v / 0, v / zero", ["v", "v_zero"], [0, 0]),
        ("v + whole, whole / 2", ["v_whole", "whole"], [13, 1.5]),
        ("v - -1", ["v"], [11]),
        ("v, v * v", ["v", "v_v"], [10, 100]),
        ("v + none, v + state, v + flag, v + sn", ["v_none", "v_state", "v_flag", "v_sn"], [None] * 4),
        ("text * 2", ["text"], [43]),
        ("huge * huge", ["huge_huge"], [None]),
        ("(((v)))", ["v"], [10]),
    ],
)
async def test_columns_compute(columns: str, names: list[str], row: list[Any]) -> None:
    rig = TimeseriesRig()
    fields = 'v=10,whole=3i,zero=0,state="on",flag=true,text="21.5",huge=1e300'
    assert await rig.call("Timeseries.write", query=f"t,sn=a {fields}") == {}
    [found] = await rig.series(f"SELECT {columns} FROM t")
    assert (found["columns"][1:], found["values"]) == (names, [[0, *row]])


async def test_functions_compute() -> None:
    rig = await TimeseriesRig().filled()
    [found] = await rig.series(
        "SELECT mean(v) * 1.8 + 32, (max(v) - min(v)) / count(v) AS part, last(v) FROM t GROUP BY sn SLIMIT 1"
    )
    assert found["columns"] == ["time", "mean", "part", "last"]
    assert found["values"] == [[-START, pytest.approx(36.2), 1, 4]]
    hours = "FROM t WHERE sn = 'a' AND time >= now() - 3h GROUP BY time(1h)"
    assert await rig.rows(f"SELECT mean(v) / 2 {hours} fill(linear) LIMIT 3 OFFSET 1") == [
        [-7200, 0.5],
        [-3600, 1],
        [0, 2],
    ]
    assert await rig.rows(f"SELECT sum(v) * 2 {hours} LIMIT 1") == [[-10_800, None]]
    assert await rig.rows(f"SELECT derivative(sum(v)) * 60 {hours}") == [[-3600, 60], [0, 120]]
    assert await rig.rows("SELECT difference(v) * 2 FROM t WHERE sn = 'a'") == [[-3600, 2], [0, 4]]
