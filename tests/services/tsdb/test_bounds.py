"""Bounds of time series: the largest numbers, the first and last times, long and odd texts, in both services."""

from __future__ import annotations

import json
from typing import Any

import pytest

from labkit import Lab
from labkit.services.timeseries.service import LONGEST_LINES
from tests.services.tsdb.series_rig import START, SeriesRig

HUGE = 1.7e308
ODD = (
    "é",  # one character, and the same as two
    "e\u0301",
    "\N{FAMILY}\N{BELL}",
    "\u05e2\u05d1\u05e8",  # from right to left
    'a "b" \\c',
    "it's, = {x}",
    "%_*?[]",
    "x" * 200,
    "İı",
    "\U00010000",
)


async def influx(rig: SeriesRig, q: str, solution: str = "acme", **given: Any) -> Any:
    """Return the rows of a query's only series, [] without one."""
    answer = await rig.call("Timeseries.query", solution, q=q, **{"epoch": "u", **given})
    found = answer["results"][0].get("series", [{"values": []}])
    assert len(found) == 1
    return found[0]["values"]


async def write(rig: SeriesRig, text: str, precision: str = "s", solution: str = "acme") -> Any:
    return await rig.call("Timeseries.write", solution, query=text, precision=precision)


@pytest.mark.parametrize(
    "value",
    [2**63 - 1, -(2**63), 2**53 + 1, 0, HUGE, -HUGE, 5e-324, 1.7976931348623157e308, -0.0],
)
async def test_the_largest_and_smallest_numbers_are_kept(value: int | float) -> None:
    rig = SeriesRig()
    await rig.write(0, m=value)
    assert await rig.values("m") == [(0, value)]
    assert await write(rig, f"m v={value!r}{'i' if isinstance(value, int) else ''} {START}") == {}
    assert await influx(rig, "SELECT v FROM m") == [[START * 10**6, value]]


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30, float("inf"), float("-inf"), float("nan")])
async def test_numbers_beyond_them_are_refused(value: int | float) -> None:
    rig = SeriesRig()
    assert (await rig.call("Tsdb.write", metrics={"m": value}))["status"] == 400
    assert (await write(rig, f"m v={value!r}{'i' if isinstance(value, int) else ''}"))["status"] == 400
    assert rig.points() == 0


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("sum(v)", None),
        ("mean(v)", None),
        ("spread(v)", None),
        ("stddev(v)", None),
        ("median(v)", 1.0),
        ("max(v)", HUGE),
        ("mode(v)", -HUGE),
        ("count(v)", 5),
    ],
)
async def test_a_result_beyond_the_largest_number_is_nil(function: str, expected: Any) -> None:
    rig = SeriesRig()
    values = (-HUGE, HUGE, HUGE, 1.0, -HUGE)
    if function in ("sum(v)", "mean(v)"):
        values = (HUGE, HUGE, HUGE, 1.0, HUGE)
    for second, value in enumerate(values):
        assert await write(rig, f"m v={value!r} {START - second}") == {}
        await rig.write(-second, m=value)
    assert [row[1] for row in await influx(rig, f"SELECT {function} FROM m")] == [expected]
    name = {"mean(v)": "avg"}.get(function, function[:-3])
    if name in ("sum", "avg", "max", "count"):
        assert [value for _, value in await rig.values("m", aggregate=name)] == [expected]


async def test_changes_beyond_the_largest_number_are_nil() -> None:
    rig = SeriesRig()
    for second, value in enumerate((HUGE, -HUGE, HUGE)):
        assert await write(rig, f"m v={value!r} {START + second}") == {}
    for function in ("difference(v)", "derivative(v)"):
        assert [row[1] for row in await influx(rig, f"SELECT {function} FROM m")] == [None, None], function
    assert [row[1] for row in await influx(rig, "SELECT moving_average(v, 3) FROM m")] == [HUGE / 3]
    assert [row[1] for row in await influx(rig, "SELECT cumulative_sum(v) FROM m")] == [HUGE, 0, HUGE]
    filled = "SELECT mean(v) FROM m WHERE time >= {}s AND time < {}s GROUP BY time({}) fill(linear)"
    far = await influx(rig, filled.format(START, START + 3, "500ms"))
    assert [row[1] for row in far][:4] == [HUGE, 0, -HUGE, 0]


async def test_sums_of_whole_numbers_are_exact() -> None:
    rig = SeriesRig()
    for second in range(3):
        await rig.write(second, m=2**63 - 1)
    assert await rig.values("m", aggregate="sum", sampling_size="1d") == [(0, 3 * (2**63 - 1))]


def test_scripts_and_requests_get_results_of_huge_numbers() -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        acme.route(
            "GET",
            "/sum",
            lua="""
            Tsdb.multiWrite{datapoints = {{metrics = {m = 1.7e308}, ts = "1s"}, {metrics = {m = 1.7e308}, ts = "2s"}}}
            return Tsdb.query{metrics = {"m"}, aggregate = {"sum", "max"}, start_time = "0s", epoch = "s"}
            """,
        )
        answer = acme.get("/sum")
        found = json.loads(answer.text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
        assert found["values"][0][1] == {"max": 1.7e308}


@pytest.mark.parametrize("seconds", [0, 9_223_372_036, 9_223_372_037, 253_402_300_799])
async def test_times_from_1970_to_9999(seconds: int) -> None:
    rig = SeriesRig()
    await rig.write(seconds - START, m=1)
    assert await rig.values("m", end_time=f"{seconds}s") == [(seconds - START, 1)]
    assert await write(rig, f"m v=1 {seconds}") == {}
    day = "1970-01-01" if not seconds else "2262-04-11" if seconds < 10**10 else "9999-12-31"
    assert await influx(rig, f"SELECT v FROM m WHERE time >= '{day}'", epoch="s") == [[seconds, 1]]
    assert await influx(rig, "SELECT count(v) FROM m WHERE time >= 0 AND time <= '9999-12-31T23:59:59Z'") == [
        [0, 1]
    ]
    [[text, _]] = await influx(rig, "SELECT v FROM m", epoch=None)
    assert text.startswith(day)
    assert await influx(rig, "SELECT v FROM m", epoch="ns") == [[seconds * 10**9, 1]]


@pytest.mark.parametrize("seconds", [-1, 253_402_300_800])
async def test_times_outside_are_refused(seconds: int) -> None:
    rig = SeriesRig()
    for ts in (f"{seconds}s", seconds * 10**6):
        assert (await rig.call("Tsdb.write", metrics={"m": 1}, ts=ts))["status"] == 400
    assert (await write(rig, f"m v=1 {seconds}"))["status"] == 400
    assert rig.points() == 0


@pytest.mark.parametrize("condition", ["time > -1s", "time >= -9223372036854775807", "time > '0001-01-01'"])
async def test_conditions_may_name_times_before_1970(condition: str) -> None:
    rig = SeriesRig()
    assert await write(rig, "m v=1 0") == {}
    assert await influx(rig, f"SELECT v FROM m WHERE {condition}") == [[0, 1]]
    assert await influx(rig, f"SELECT mean(v) FROM m WHERE {condition} GROUP BY time(1h) LIMIT 1") != []


async def test_odd_names_and_tags_of_two_solutions() -> None:
    rig = SeriesRig()
    for number, odd in enumerate(ODD):
        for solution, value in (("acme", number), ("other", number + 100)):
            given = {"metrics": {odd: value}, "tags": {odd: odd}, "ts": f"{START}s"}
            assert await rig.call("Tsdb.write", solution, **given) == {}
            escaped = odd.replace(",", "\\,").replace("=", "\\=").replace(" ", "\\ ")
            assert (
                await write(rig, f"{escaped},{escaped}={escaped} {escaped}={value}", solution=solution) == {}
            )
    for number, odd in enumerate(ODD):
        assert await rig.values(odd, tags={odd: odd}) == [(0, number)]
        name, text = (
            odd.replace("\\", "\\\\").replace('"', '\\"'),
            odd.replace("\\", "\\\\").replace("'", "\\'"),
        )
        query = f"""SELECT "{name}" FROM "{name}" WHERE "{name}" = '{text}'"""
        assert await influx(rig, query) == [[START * 10**6, number]], odd
        assert await influx(rig, query, "other") == [[START * 10**6, number + 100]], odd
    assert (await rig.call("Tsdb.listMetrics"))["metrics"] == sorted(ODD)
    assert (await rig.call("Tsdb.listTags"))["tags"] == {each: [each] for each in ODD}


async def test_the_longest_text_of_lines() -> None:
    rig = SeriesRig()
    line = f'm v="{"x" * 65_536}" 5\n'
    text = line * (LONGEST_LINES // len(line))
    assert await write(rig, text + "#" * (LONGEST_LINES - len(text))) == {}
    assert (await write(rig, text + "#" * (LONGEST_LINES - len(text) + 1)))["status"] == 400
    assert rig.points() == 1


async def test_ten_thousand_rows_are_the_most_of_a_series() -> None:
    rig = SeriesRig()
    for begin in (0, 6000):
        lines = "\n".join(f"m v={number} {number}" for number in range(begin, begin + 6000))
        assert await write(rig, lines) == {}
        points = [{"metrics": {"m": number}, "ts": f"{number}s"} for number in range(begin, begin + 6000)]
        assert await rig.call("Tsdb.multiWrite", datapoints=points) == {}
    assert len(await influx(rig, "SELECT v FROM m")) == 10_000
    assert len(await influx(rig, "SELECT difference(v) FROM m")) == 10_000
    assert (await influx(rig, "SELECT v FROM m LIMIT 2 OFFSET 11999"))[0][1] == 11_999
    assert (await influx(rig, "SELECT difference(v) FROM m OFFSET 11998"))[0] == [11_999 * 10**6, 1]
    assert len(await influx(rig, "SELECT mean(v) FROM m WHERE time < 12000s GROUP BY time(1s)")) == 10_000
    found = await rig.values("m", order_by="asc")
    assert (len(found), found[-1]) == (10_000, (9_999 - START, 9_999))
