"""Shapes of load: their values over time, the arrivals, and the devices online."""

from __future__ import annotations

import itertools
import math
import operator
import pickle
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.core.errors import LabError
from labkit.fleet.shapes import (
    DailyWave,
    Delayed,
    Flat,
    Herd,
    Portion,
    Ramp,
    Shape,
    Steps,
    arrivals,
    online,
)
from tests.sizes import size

START = 1_767_225_600.0  # midnight
HOUR = 3600.0

NUMBERS = st.floats(0, 50)
SPANS = st.floats(0.5, 5000)
SIMPLE: st.SearchStrategy[Shape] = st.one_of(
    st.builds(Flat, NUMBERS),
    st.builds(Ramp, NUMBERS, NUMBERS, SPANS),
    st.builds(Steps, st.dictionaries(SPANS, NUMBERS, min_size=1, max_size=5)),
    st.builds(lambda low, more, peak: DailyWave(low, low + more, peak), NUMBERS, NUMBERS, st.floats(0, 24)),
    st.builds(Herd, NUMBERS, SPANS, SPANS, st.floats(1, 20), SPANS),
)
SHAPES = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds(lambda one, other: one + other, inner, inner),
        st.builds(lambda one, factor: one * factor, inner, st.floats(0, 3)),
    ),
    max_leaves=4,
)


@given(SHAPES, st.floats(0, 20_000), st.floats(0, 5000), st.lists(st.floats(0, 1), min_size=1))
def test_no_shape_exceeds_its_bound(shape: Shape, begin: float, span: float, parts: list[float]) -> None:
    bound = shape.most(begin, begin + span, START)
    endless = shape.most(begin, math.inf, START)
    for part in [0, 1, *parts]:
        value = shape.at(begin + span * part, START)
        assert 0 <= value <= bound * (1 + 1e-9) + 1e-9
        assert value <= endless * (1 + 1e-9) + 1e-9


def test_the_values_of_each_shape() -> None:
    assert Flat(3).at(1e6) == 3
    ramp = Ramp(10, 30, over=100)
    assert [ramp.at(each) for each in (0, 50, 100, 500)] == [10, 20, 30, 30]
    steps = Steps({60: 50, 0.5: 10, 120: 0})
    assert [steps.at(each) for each in (0, 0.5, 59.9, 60, 119, 120)] == [0, 10, 10, 50, 50, 0]
    wave = DailyWave(100, 900, peak=18)
    assert [round(wave.at(hour * HOUR, START)) for hour in (0, 6, 12, 18, 42)] == [500, 100, 500, 900, 900]
    assert round(wave.at(0, START + 18 * HOUR)) == 900  # an hour of the day, not of the run
    herd = Herd(5, begins=100, outage=50, surge=4, recovery=10)
    assert [herd.at(each) for each in (0, 99.9, 100, 149.9, 150)] == [5, 5, 0, 0, 20]
    assert herd.at(160) == pytest.approx(5 + 15 / math.e)
    assert (Flat(2) + 3 * Ramp(0, 10, 10)).at(5) == 17


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Flat(-1), "value"),
        (lambda: Flat(math.nan), "value"),
        (lambda: Ramp(0, math.inf, 10), "last"),
        (lambda: Ramp(0, 1, 0), "over"),
        (lambda: Steps({}), "at least one level"),
        (lambda: Steps({0: 1, 60: -2}), r"levels\[60\]"),
        (lambda: DailyWave(10, 5), "high"),
        (lambda: Herd(1, 10, 10, surge=0.5), "surge"),
        (lambda: Herd(1, 10, 10, recovery=0), "recovery"),
        (lambda: Flat(1) * -1, "factor"),
    ],
)
def test_an_impossible_shape_is_an_error_with_the_reason(make: Callable[[], object], named: str) -> None:
    with pytest.raises(LabError, match=named):
        make()


@pytest.mark.parametrize(
    ("make", "given", "named"),
    [
        (Flat, ["5"], "Flat: value has to be a number of at least 0, not '5'"),
        (Flat, [True], "not True"),
        (Flat, [None], "not None"),
        (Ramp, ["0", 1, 10], "Ramp: first"),
        (Ramp, [0, 1, "10"], "Ramp: over"),
        (Steps, [{0: "1"}], r"Steps: levels\[0\] has to be a number"),
        (Steps, [{"0": 1}], "Steps: the time '0' has to be a number"),
        (Steps, [{math.nan: 1}], "Steps: the time nan"),
        (Steps, [[5, 6]], r"expected at least one level, as \{seconds: number\}, not \[5, 6\]"),
        (Steps, [5], "not 5"),
        (DailyWave, ["1", 5], "DailyWave: low"),
        (DailyWave, [1, 5, None], "DailyWave: peak"),
        (Herd, [1, 10, 10, "9"], "Herd: surge has to be at least 1, not '9'"),
        (operator.mul, [Flat(1), Flat(2)], "Scaled: factor has to be a number"),
        (operator.mul, ["2", Flat(1)], "Scaled: factor"),
        (operator.add, [Flat(1), 5], r"adds up with a shape, such as Flat\(5\), not with 5"),
        (operator.add, [5, Flat(1)], "not with 5"),
    ],
)
def test_a_value_that_is_no_number_or_shape_is_an_error(
    make: Callable[..., object], given: list[object], named: str
) -> None:
    with pytest.raises(LabError, match=named):
        make(*given)


def test_shapes_can_be_added_and_accept_numbers_of_other_libraries() -> None:
    others: Any = [np.int64(2), np.float32(0.5)]
    assert sum(map(Flat, others), Flat(1)).at(7) == 3.5
    assert sum([Flat(1), Flat(2)]).at(7) == 3  # type: ignore[union-attr]  # it begins with 0
    assert (2 * Flat(3) + Flat(1)).at(0) == 7


@given(SHAPES)
def test_a_shape_can_be_pickled(shape: Shape) -> None:
    there = pickle.loads(pickle.dumps(shape))
    assert [there.at(each, START) for each in (0, 7, 300, 7000)] == [
        shape.at(each, START) for each in (0, 7, 300, 7000)
    ]


@given(SHAPES, st.integers(0, 1000), st.floats(0, 2000))
def test_arrivals_are_in_order_within_the_run_and_never_at_rate_zero(
    shape: Shape, seed: int, span: float
) -> None:
    times = list(itertools.islice(arrivals(shape, Random(seed), START, START + span), 500))
    assert times == list(itertools.islice(arrivals(shape, Random(seed), START, START + span), 500))
    assert times == sorted(times)
    assert all(START <= time <= START + span and shape.at(time - START, START) > 0 for time in times)


@pytest.mark.parametrize(
    "shape",
    [
        Flat(2),
        Ramp(0, 4, over=1000),
        Steps({100: 5, 700: 0.5}),
        DailyWave(0.1, 3, peak=0),
        Herd(1, begins=200, outage=300, surge=10, recovery=100),
        Flat(0.5) + Ramp(1, 0, over=800) * 2,
    ],
)
def test_the_number_of_arrivals_follows_the_rate_in_each_tenth_of_a_run(shape: Shape) -> None:
    """For a Poisson process the variance of the number in a span equals its mean."""
    runs, tenth = size(15, 200), 120.0
    found = [0] * 10
    for seed in range(runs):
        for time in arrivals(shape, Random(seed), START, START + 10 * tenth):
            found[int((time - START) // tenth)] += 1
    for part, count in enumerate(found):
        rates = [shape.at(part * tenth + step / 10, START) for step in range(int(tenth * 10))]
        mean = runs * sum(rates) / 10
        assert abs(count - mean) <= 5 * math.sqrt(mean) + 1, (part, count, mean)


def test_waits_between_arrivals_of_a_flat_rate_are_exponential() -> None:
    times = list(itertools.islice(arrivals(Flat(0.01), Random(3), START), 4000))  # longer than a window
    waits = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert sum(waits) / len(waits) == pytest.approx(100, rel=0.05)
    for part in (0.1, 0.5, 0.9):
        assert sum(wait > -100 * math.log(part) for wait in waits) / len(waits) == pytest.approx(
            part, abs=0.03
        )


def test_arrivals_end_where_the_rate_stays_zero() -> None:
    assert list(arrivals(Flat(0), Random(1), START)) == []
    times = list(arrivals(Steps({5000: 1, 5100: 0}), Random(1), START))
    assert 50 < len(times) < 150
    assert START + 5000 <= times[0] <= times[-1] < START + 5100


def test_arrivals_of_a_late_device_follow_the_shape_of_the_run() -> None:
    steps = Steps({0: 1, 100: 0, 200: 5})
    late = list(arrivals(steps, Random(1), START, START + 300, begin=START + 90))
    assert START + 90 <= late[0] < START + 100
    assert not [time for time in late if START + 100 <= time < START + 200]
    assert sum(time >= START + 200 for time in late) == pytest.approx(500, rel=0.2)


@given(SHAPES, st.integers(1, 5), st.floats(0, 3000))
def test_partitions_together_have_the_shapes_number_of_devices_online(
    shape: Shape, shares: int, elapsed: float
) -> None:
    parts = [Portion(shape, share, shares) for share in range(shares)]
    number = math.floor(shape.at(elapsed, START) + 0.5)
    dealt = [len(range(number)[share::shares]) for share in range(shares)]
    assert [part.at(elapsed, START) for part in parts] == dealt
    assert all(part.at(elapsed, START) <= part.most(elapsed, math.inf, START) for part in parts)
    late = Delayed(shape, 100)
    assert late.at(elapsed, START + 100) == pytest.approx(shape.at(elapsed + 100, START))
    assert late.most(elapsed, elapsed + 5, START + 100) == shape.most(elapsed + 100, elapsed + 105, START)


@given(SHAPES, st.floats(1, 500))
def test_the_devices_online_follow_the_shape(shape: Shape, span: float) -> None:
    changes = list(online(shape, 60, START, START + span))
    times = [time for time, _ in changes]
    assert times == sorted(times)
    assert times[0] == START
    for (time, number), after in zip(changes, [*times[1:], START + span], strict=True):
        step = math.ulp(time)  # how exact a change's time in Unix seconds is
        instants = (max(0.0, time - START + shift) for shift in (-step, 0.0, step))
        assert number in {min(math.floor(shape.at(each, START) + 0.5), 60) for each in instants}
        if after - time > 2.01:  # no change in between
            middle = math.floor((time + after) / 2 - START) + 0.0
            if middle > time - START:
                assert number == min(math.floor(shape.at(middle, START) + 0.5), 60)


def test_a_ramp_takes_devices_online_one_by_one_and_a_step_all_at_once() -> None:
    ramp = list(online(Ramp(0, 10, over=20), 100, START, START + 30))
    assert [number for _, number in ramp] == list(range(11))
    assert [round(time - START, 2) for time, _ in ramp[1:]] == [1 + 2 * each for each in range(10)]
    herd = list(online(Herd(4, begins=10, outage=5.5), 4, START, START + 60))
    assert [(round(time - START, 2), number) for time, number in herd] == [(0, 4), (10, 0), (15.5, 4)]


def test_waiting_for_the_next_change_of_a_flat_shape_ends() -> None:
    changes = itertools.islice(online(Flat(5), 10, START), 3)
    assert [(time - START, number) for time, number in changes] == [(0, 5), (3600, 5), (7200, 5)]
