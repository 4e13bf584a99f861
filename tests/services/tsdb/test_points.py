"""Tsdb: what write and multiWrite refuse, tags that are no text, and the journal."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.services.series import store
from tests.services.tsdb.series_rig import START, SeriesRig


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"metrics": [1]},
        {"metrics": {"\ud800": 1}},
        {"metrics": {"m": None}},
        {"metrics": {"m": float("nan")}},
        {"metrics": {"m": float("inf")}},
        {"metrics": {"m": 2**63}},
        {"metrics": {"m": "\ud800"}},
        {"metrics": {"m": 1, "n": None}},
        {"metrics": {"m": 1}, "tags": "a"},
        {"metrics": {"m": 1}, "tags": {"": "x"}},
        {"metrics": {"m": 1}, "ts": "2026-02-30T00:00:00Z"},
        {"metrics": {"m": 1}, "ts": -1},
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
