"""Times of tables to replay: parsed if they are unambiguous, refused otherwise."""

from __future__ import annotations

import datetime
from typing import Any

import pandas
import pytest

from labkit.core.errors import LabError
from labkit.fleet.tables import measured


def seconds(times: Any) -> list[float]:
    table = pandas.DataFrame({"time": times, "temperature": range(len(times))})
    return [when for when, _ in measured(table, "time", "device")[None]]


UTC = datetime.UTC
EAST = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(
    ("times", "after"),
    [
        (["2026-02-01", "2026-02-13"], 12 * 86400),
        (["2026-02-01 09:30", "2026-02-01T09:31:00.5Z"], 60.5),
        (["2026/02/01", "2026/02/02"], 86400),
        (["1 Feb 2026 00:00", "2 Feb 2026 00:00"], 86400),
        (["Sun, 01 Feb 2026 00:00:00 +0000", "Sun, 01 Feb 2026 00:00:01 +0000"], 1),
        (["00:00:01.5", "00:01:00"], 58.5),
        (["-1 days +00:00:00", "1 days 00:00:00"], 2 * 86400),
        (["5min", "1h 30m"], 85 * 60),
        (["1.5", "2.5e1"], 23.5),
        ([1.5, 2], 0.5),
        (pandas.period_range("2026-01-01", periods=2, freq="h"), 3600),
        (pandas.date_range("2026-03-29 00:30", periods=2, freq="h", tz="Europe/Berlin"), 3600),
        ([datetime.datetime(2026, 1, 1, tzinfo=UTC), datetime.datetime(2026, 1, 1, 3, tzinfo=EAST)], 3600),
        ([pandas.Timedelta("1s"), pandas.Timedelta("1ms")], 0.999),
    ],
    ids=lambda each: str(each[0]) if not isinstance(each, float | int) else "",
)
def test_times_are_parsed(times: Any, after: float) -> None:
    assert seconds(times) == [0, after]


@pytest.mark.parametrize(
    "times",
    [
        ["01.02.2026 00:00", "13.02.2026 00:00"],
        ["01/02/2026 00:00", "02/02/2026 00:00"],
        ["01.02.2026", "02.02.2026"],
        ["1,5", "2,5"],
        ["1-2-2026", "2-2-2026"],
        ["2026-02-01", "01.02.2026"],
        ["now", "then"],
        [True, False],
        ["noon on Monday", "later"],
    ],
    ids=str,
)
def test_ambiguous_times_are_an_error(times: Any) -> None:
    with pytest.raises(LabError, match=r"expected times as dates \(2026-02-01 09:30\) or as seconds, not "):
        seconds(times)
