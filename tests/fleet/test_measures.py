"""Measures of a run: histograms that merge exactly and can be sent to other processes, and the table of intervals."""

from __future__ import annotations

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.fleet.measures import HIGHEST, STATES, Latency, Measures, Tick, frame

MICROS = st.one_of(
    st.integers(0, 5000),
    st.integers(0, HIGHEST),
    st.integers(0, 40).map(lambda power: min(2**power, HIGHEST)),
)
DURATIONS = st.lists(MICROS.map(lambda micros: micros / 1_000_000))


@given(DURATIONS.filter(bool), st.lists(st.floats(0, 100), min_size=1, max_size=6).map(sorted))
def test_percentiles_are_those_of_the_sorted_durations_to_three_digits(
    durations: list[float], percents: list[float]
) -> None:
    ordered = sorted(round(duration * 1_000_000) for duration in durations)
    for percent, found in zip(percents, Latency.of(durations).percentiles(percents), strict=True):
        exact = ordered[max(int(percent * len(ordered) / 100 + 0.5), 1) - 1]
        assert exact <= round(found * 1_000_000) <= exact * (1 + 2**-10)


@given(st.lists(DURATIONS, max_size=4))
def test_parts_merge_into_the_histogram_of_all(parts: list[list[float]]) -> None:
    whole = Latency.of(duration for part in parts for duration in part)
    merged = Latency.merged(map(Latency.of, parts))
    assert merged == whole
    assert merged.count == whole.count == sum(map(len, parts))
    travelled = Latency.merged(Latency.decode(Latency.of(part).encode()) for part in parts)
    assert travelled == whole
    assert travelled.count == whole.count
    assert list(travelled.buckets()) == list(whole.buckets())


def test_a_percentile_of_the_whole_is_not_the_average_of_its_parts() -> None:
    fast, slow = Latency.of([0.001] * 99), Latency.of([1.0])
    assert Latency.merged([fast, slow]).percentile(50) == 0.001
    assert Latency.merged([fast, slow]).percentile(99.9) == pytest.approx(1.0, rel=0.001)


def test_three_digits_are_exact_and_odd_durations_are_limited() -> None:
    for seconds in (0.000_001, 0.001_999, 0.123_4, 59.96, 299.9, 3_599.0, 86_400.0):
        assert Latency.of([seconds]).max == pytest.approx(seconds, rel=0.001)
    assert Latency.of([-1.0]).max == 0.0
    assert Latency.of([1e9]).max == pytest.approx(366 * 86_400, rel=0.001)
    assert math.isnan(Latency().max)
    assert Latency.decode(Latency().encode()) == Latency()


def test_measures_restart_with_each_tick() -> None:
    measures = Measures()
    measures.answered(204, 0.01)
    measures.answered(503, 0.02)
    measures.unanswered("cut")
    other = Measures()
    other.unanswered("cut")
    measures.merge(other)
    devices = {"running": 2}
    tick = measures.tick(60.0, devices)
    devices["running"] = 3
    assert tick == Tick(60.0, {"running": 2}, 4, {"503": 1, "cut": 2}, Latency.of([0.01, 0.02]))
    assert measures.tick(120.0, {}) == Tick(120.0, {}, 0, {}, Latency())


def test_ticks_can_be_encoded_and_merged_over_processes() -> None:
    one = Tick(60.0, {"running": 2, "failed": 1}, 3, {"503": 1}, Latency.of([0.1, 0.2, 0.3]), lag=0.5)
    two = Tick(60.2, {"running": 1}, 1, {"503": 1, "cut": 1}, Latency.of([5.0]))
    travelled = [Tick.decode(pickle.loads(pickle.dumps(tick.encode()))) for tick in (one, two)]
    assert travelled == [one, two]
    assert Tick.merged(61.0, travelled) == Tick(
        61.0,
        {"running": 3, "failed": 1},
        4,
        {"503": 2, "cut": 1},
        Latency.of([0.1, 0.2, 0.3, 5.0]),
        lag=0.5,
    )


def test_a_frame_has_a_row_for_each_tick() -> None:
    ticks = [
        Tick(1_767_225_660.0, {"sleeping": 5}, 4, {"503": 1}, Latency.of([0.0, 0.0, 0.0, 2.0])),
        Tick(1_767_225_720.25, {"sleeping": 4, "failed": 1}, 0, {"cut": 2}, Latency(), lag=1.5),
    ]
    table = frame(ticks)
    assert list(table.columns) == [
        *("requests", "errors", "p50", "p90", "p99", "max"),
        *STATES,
        *("error 503", "error cut", "lag"),
    ]
    assert [time.isoformat() for time in table.index] == [
        "2026-01-01T00:01:00+00:00",
        "2026-01-01T00:02:00.250000+00:00",
    ]
    assert table.index.name == "time"
    first, second = table.to_dict(orient="records")
    assert (first["requests"], first["errors"], first["p50"], first["sleeping"], first["error cut"]) == (
        *(4, 1, 0.0),
        *(5, 0),
    )
    assert first["max"] == pytest.approx(2.0, rel=0.001)
    assert math.isnan(second["p50"])
    assert (second["lag"], second["failed"], second["error cut"]) == (1.5, 1, 2)


def test_an_empty_frame_has_its_columns() -> None:
    table = frame([])
    assert len(table) == 0
    assert {"requests", "errors", "p99", *STATES} <= set(table.columns)
    assert str(table.index.dtype) == "datetime64[us, UTC]"
