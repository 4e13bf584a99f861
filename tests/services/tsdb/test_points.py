"""Tsdb: what write and multiWrite accept, and how it is stored."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.services.series import store
from labkit.services.series.arguments import LONGEST_VALUE
from tests.services.tsdb.series_rig import START, SeriesRig


async def test_values_are_returned_as_they_were_written() -> None:
    rig = SeriesRig()
    written = [1, -2.5, 0, 2**53, "on", "21.5", "", '{"a": [1]}', "é\0😀", True, False, "true", 1e300]
    for seconds, value in enumerate(written):
        await rig.write(seconds, m=value)
    found = await rig.values("m", order_by="asc")
    assert [(type(value), value) for _, value in found] == [(type(value), value) for value in written]


async def test_a_point_of_the_same_metric_tags_and_time_replaces() -> None:
    rig = SeriesRig()
    await rig.write(0, m=1)
    await rig.write(0, m=2)
    await rig.write(0, sn="b", m=3)
    await rig.write(1, m=4)
    assert await rig.values("m", tags={"sn": "a"}) == [(1, 4), (0, 2)]
    assert rig.points() == 3


@pytest.mark.parametrize(
    ("ts", "micros"),
    [
        ("1480000000s", 1_480_000_000_000_000),
        ("1480000000123ms", 1_480_000_000_123_000),
        ("1480000000123456u", 1_480_000_000_123_456),
        ("1480000000123456", 1_480_000_000_123_456),
        (1_480_000_000_123_456, 1_480_000_000_123_456),
        (1_480_000_000_123_456.0, 1_480_000_000_123_456),
        ("2016-11-24T15:06:40Z", 1_480_000_000_000_000),
        ("2016-11-24T16:06:40.5+01:00", 1_480_000_000_500_000),
        ("1970-01-01", 0),
        ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
    ],
)
async def test_forms_of_a_time(ts: Any, micros: int) -> None:
    rig = SeriesRig()
    assert await rig.call("Tsdb.write", metrics={"m": 1}, ts=ts) == {}
    found = await rig.call(
        "Tsdb.query", metrics=["m"], start_time=0, end_time="9999-12-31T23:59:59.999999Z", epoch="u"
    )
    assert found["values"] == [[micros, 1]]


async def test_without_ts_it_is_now() -> None:
    rig = SeriesRig()
    assert await rig.call("Tsdb.write", metrics={"m": 1}) == {}
    assert await rig.values("m") == [(0, 1)]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"metrics": {}},
        {"metrics": [1]},
        {"metrics": "m"},
        {"metrics": {"": 1}},
        {"metrics": {"m" * 201: 1}},
        {"metrics": {"a\nb": 1}},
        {"metrics": {"\ud800": 1}},
        {"metrics": {"m": None}},
        {"metrics": {"m": [1]}},
        {"metrics": {"m": {}}},
        {"metrics": {"m": float("nan")}},
        {"metrics": {"m": float("inf")}},
        {"metrics": {"m": 2**63}},
        {"metrics": {"m": "x" * (LONGEST_VALUE + 1)}},
        {"metrics": {"m": "\ud800"}},
        {"metrics": {f"m{number}": 1 for number in range(101)}},
        {"metrics": {"m": 1, "n": None}},
        {"metrics": {"m": 1}, "tags": "a"},
        {"metrics": {"m": 1}, "tags": {"": "x"}},
        {"metrics": {"m": 1}, "tags": {"sn": ""}},
        {"metrics": {"m": 1}, "tags": {"sn": ["a"]}},
        {"metrics": {"m": 1}, "tags": {f"t{number}": "x" for number in range(21)}},
        {"metrics": {"m": 1}, "ts": "yesterday"},
        {"metrics": {"m": 1}, "ts": "2026-02-30T00:00:00Z"},
        {"metrics": {"m": 1}, "ts": "10000000000000s"},
        {"metrics": {"m": 1}, "ts": -1},
        {"metrics": {"m": 1}, "ts": True},
        {"metrics": {"m": 1}, "ts": "1" * 100_000},
    ],
)
async def test_what_is_out_of_bounds_is_refused_and_nothing_stored(arguments: dict[str, Any]) -> None:
    rig = SeriesRig()
    for operation, given in (
        ("Tsdb.write", arguments),
        ("Tsdb.multiWrite", {"datapoints": [{"metrics": {"kept": 1}}, arguments]}),
    ):
        assert (await rig.call(operation, **given))["status"] == 400
    assert await rig.call("Tsdb.listMetrics") == {"metrics": []}


async def test_multiwrite_names_the_datapoint_and_stores_all_or_none() -> None:
    rig = SeriesRig()
    points = [
        {"metrics": {"m": number}, "tags": {"sn": "a"}, "ts": f"{START + number}s"} for number in range(3)
    ]
    refused = await rig.call("Tsdb.multiWrite", datapoints=[*points, {"metrics": {"m": None}}])
    assert refused["error"] == (
        "Parameter datapoints.4 validation failed: m: expected a finite number, a boolean or a text of at most 65536 "
        "characters."
    )
    assert rig.points() == 0
    assert await rig.call("Tsdb.multiWrite", datapoints=points) == {}
    assert await rig.call("Tsdb.multiWrite", datapoints={}) == {}
    assert await rig.values("m") == [(2, 2), (1, 1), (0, 0)]


async def test_multiwrite_takes_ten_thousand_values() -> None:
    rig = SeriesRig()
    points = [{"metrics": {"m": 1, "n": 2}, "ts": number} for number in range(5000)]
    assert await rig.call("Tsdb.multiWrite", datapoints=points) == {}
    assert (await rig.call("Tsdb.multiWrite", datapoints=[*points, {"metrics": {"m": 1}}]))["status"] == 400
    assert (await rig.call("Tsdb.multiWrite", datapoints=[{}] * 10_001))["status"] == 400
    assert rig.points() == 10_000


async def test_numbers_and_booleans_as_tags_are_texts() -> None:
    rig = SeriesRig()
    assert await rig.call("Tsdb.write", metrics={"m": 1}, tags={"floor": 3, "half": 0.5, "lit": True}) == {}
    assert await rig.call("Tsdb.listTags") == {"tags": {"floor": ["3"], "half": ["0.5"], "lit": ["true"]}}
    assert await rig.values("m", tags={"floor": 3}) == [(0, 1)]


async def test_series_of_a_solution_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_SERIES", 2)
    rig = SeriesRig()
    await rig.write(0, m=1, n=1)
    refused = await rig.call("Tsdb.write", metrics={"m": 2, "more": 1}, tags={"sn": "a"}, ts=f"{START}s")
    assert refused["status"] == 403
    assert await rig.values("m", "n", "more") == [(0, 1, 1, None)]
    await rig.write(0, "other", m=1, n=1)
    assert await rig.call("Timeseries.write", query="m v=1") == {}
    await rig.write(1, m=2, n=2)


async def test_the_journal_has_names_and_lengths() -> None:
    rig = SeriesRig()
    await rig.write(0, m="secret words")
    await rig.call("Timeseries.write", query='m v="secret words"')
    shown: list[Any] = [record.detail for record in rig.context.journal]
    assert shown[0]["parameters"]["metrics"] == {"m": "<12 characters>"}
    assert shown[0]["parameters"]["tags"] == {"sn": "a"}
    assert "secret" not in str(shown)
