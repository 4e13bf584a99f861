"""Aggregation of values by day and hour, for the heat map."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from labkit.widgets.frames import beginning

if TYPE_CHECKING:
    import pandas

HOUR = 3600
MOST_HOURS = 24 * 366  # limit of the hours of one interval


def times_of(frame: pandas.DataFrame) -> pandas.Series[pandas.Timestamp]:
    """Return the times of a frame, from its column `time` or its index, in UTC."""
    times = frame["time"] if "time" in frame else frame.index.to_series()
    times = times.reset_index(drop=True)
    return times if times.dt.tz is None else times.dt.tz_convert("UTC")


def by_hour(frame: pandas.DataFrame, column: str, how: str) -> pandas.DataFrame:
    """Return a row per day and a column per hour. how: the aggregation of the rows of an hour.

    A tick has the time of its interval's end. An interval longer than an hour counts in all of its hours: a sum is
    divided among them by time, any other value is the same in all.
    """
    import pandas

    times, values = times_of(frame), frame[column].reset_index(drop=True)
    if "time" not in frame.columns:
        lasted = _longest(frame)
        times = times - pandas.Timedelta(1, "us")  # an interval's end may be the next hour's beginning
        if lasted > HOUR:
            times, values = _spread(frame, values, times, how)
    day = times.dt.strftime("%a %d %b").rename("day (UTC)")
    order = list(dict.fromkeys(day))
    shown = values.groupby([day, times.dt.hour.rename("hour")]).agg(how).unstack("hour")
    return shown.reindex(index=order, columns=range(24))


def _longest(frame: pandas.DataFrame) -> float:
    """Return the length of the longest interval in seconds."""
    begin = beginning(frame)
    if begin is None:
        return 0.0
    ends = [begin, *frame.index]
    return max(
        ((later - earlier).total_seconds() for earlier, later in pairwise(ends)),
        default=0.0,
    )


def _spread(
    frame: pandas.DataFrame, values: pandas.Series[float], times: pandas.Series[pandas.Timestamp], how: str
) -> tuple[pandas.Series[pandas.Timestamp], pandas.Series[float]]:
    """Return times and values with a row for every hour that an interval overlaps."""
    import pandas

    begin = beginning(frame)
    begins = [begin, *frame.index[:-1]]
    made: list[tuple[pandas.Timestamp, float]] = []
    for first, end, last, value in zip(begins, frame.index, times, values, strict=True):
        first, end = (each if each.tzinfo is None else each.tz_convert("UTC") for each in (first, end))
        whole = (end - first).total_seconds()
        hours = pandas.date_range(first.floor("h"), last, freq="h")[-MOST_HOURS:]
        for hour in hours:
            within = (min(end, hour + pandas.Timedelta(1, "h")) - max(first, hour)).total_seconds()
            made.append((hour, value * within / whole if how == "sum" and whole else value))
    spread = pandas.DataFrame(made, columns=["time", "value"])
    return spread["time"], spread["value"]
