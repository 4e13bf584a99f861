"""Conversion of workers' own intervals to those of the run, compared with a model that counts each event."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from labkit.fleet.intervals import Intervals
from labkit.fleet.measures import Measures

BEGAN = 1_767_225_600.25


def counted(requests: int) -> Measures:
    measures = Measures()
    for _ in range(requests):
        measures.answered(200, 0.01)
    return measures


@given(
    every=st.sampled_from([0.2, 1.0, 7.0, 60.0]),
    shorter=st.sampled_from([1, 2, 5]),
    late=st.floats(0, 0.49),
    events=st.lists(st.integers(0, 200), max_size=60),
    length=st.integers(1, 12),
    reported=st.integers(0, 6),
)
@example(every=1.0, shorter=1, late=0.4, events=[15, 25, 25], length=3, reported=0)
def test_an_event_is_in_its_interval_or_the_next_to_it(
    every: float, shorter: int, late: float, events: list[int], length: int, reported: int
) -> None:
    """events: in tenths of an interval; late: how much later than the run a worker began, in its own intervals."""
    own = every / shorter
    offset = late * own
    intervals = Intervals(BEGAN, every)
    rows: list[tuple[float, int]] = []
    for number in range(length * shorter):
        begin = BEGAN + offset + number * own
        times = [BEGAN + each / 10 * every for each in events]
        inside = sum(begin < each <= begin + own for each in times)
        intervals.add(counted(inside), begin, begin + own)
        while len(rows) < reported and intervals.due <= begin + own:
            rows.append((intervals.due, intervals.take().requests))
    end = BEGAN + length * every
    rows += [(when, measures.requests) for when, measures in intervals.rest(end)]
    reach = BEGAN + offset, BEGAN + offset + length * every
    wanted = [
        each for each in (BEGAN + tenth / 10 * every for tenth in events) if reach[0] < each <= reach[1]
    ]
    assert sum(count for _, count in rows) == len(wanted)
    assert all(later > before for before, later in pairwise([BEGAN, *(when for when, _ in rows)]))
    for when in (time for time, _ in rows):  # up to half of a worker's interval may lie on the other side
        early = sum(each <= when - own / 2 - 1e-6 for each in wanted)
        late_ones = sum(each <= when + own / 2 + 1e-6 for each in wanted)
        if when < end:
            assert early <= sum(count for time, count in rows if time <= when) <= late_ones


def test_events_after_the_end_are_in_the_last_row() -> None:
    intervals = Intervals(BEGAN, 1.0)
    for begin in (0.1, 1.1, 2.1, 3.1, 4.1):
        intervals.add(counted(1), BEGAN + begin, BEGAN + begin + 1)
    assert [(when - BEGAN, found.requests) for when, found in intervals.rest(BEGAN + 2.5)] == [
        (1, 1),
        (2, 1),
        (2.5, 3),
    ]
    assert list(intervals.rest(BEGAN + 9)) == []


def test_rows_are_in_order() -> None:
    intervals = Intervals(BEGAN, 1.0)
    intervals.add(counted(1), BEGAN, BEGAN + 1)
    when = intervals.due
    assert intervals.take().requests == 1
    intervals.add(counted(2), BEGAN + 0.2, BEGAN + 0.9)  # reported late
    [(last, found)] = intervals.rest(BEGAN + 0.95)
    assert last > when
    assert found.requests == 2
