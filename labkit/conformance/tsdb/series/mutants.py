"""Faults of the store of time series."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from labkit.conformance.breaking import change_arguments, change_result
from labkit.conformance.mutant import patch
from labkit.services.series.store import SeriesPoint
from labkit.storage.database import Database

STORE = "labkit.services.series.store:SeriesStore"
WRITE, FIND = f"{STORE}.write", f"{STORE}.find"
PAGES = "labkit.services.series.store:SeriesReader.page"

_moments = count(1)


def _moved(points: Sequence[SeriesPoint]) -> list[SeriesPoint]:
    return [each._replace(time=each.time + next(_moments) % 1000) for each in points]


beside = patch("TSDB-WRITE-2", WRITE, "an equal time is moved a little")(change_arguments(points=_moved))
untagged = patch("TSDB-WRITE-2 TSDB-QUERY-2", WRITE, "points are stored without their tags")(
    change_arguments(points=lambda points: [each._replace(tags="{}") for each in points])
)
one_tenant = patch("TSDB-KEEP-1 TSER-KEEP-1", WRITE, "all points belong to one solution")(
    change_arguments(solution="probe")
)
without_the_first = patch("TSDB-QUERY-3", PAGES, "the beginning of the span is not included")(
    change_arguments(begin=lambda begin: begin + 1)
)
without_the_last = patch("TSDB-QUERY-3", PAGES, "the end of the span is not included")(
    change_arguments(end=lambda end: end - 1)
)
short_page = patch("TSDB-QUERY-4", PAGES, "a full page counts as the last")(
    change_result(lambda rows: rows[:-1] if len(rows) == 2000 else rows)
)
one_instead_of_all = patch("TSDB-QUERY-1", FIND, "a metric has the points of one set of tags only")(
    change_result(lambda series: series[:1])
)


@patch("TSDB-KEEP-3", "labkit.storage.database:Database.copy_for_snapshot")
def not_in_snapshots(original: Any, self: Database) -> sqlite3.Connection:
    """a snapshot has no points"""
    copy: sqlite3.Connection = original(self)
    copy.execute("DELETE FROM series_point")
    return copy


whole_seconds = patch(
    "TSDB-QUERY-8", "labkit.services.tsdb.query:shown_time", "texts of times have no fractions"
)(change_arguments(time=lambda time: time // 10**6 * 10**6))
gaps_between_pages = patch("TSDB-QUERY-4", PAGES, "the point beside a full page is passed over")(
    change_arguments(end=lambda end: end - (end % 10**6 > 0))
)
newest_of_all = patch(
    "TSDB-QUERY-4",
    "labkit.services.tsdb.query:joined",
    "rows of several metrics are the newest, whatever the order",
)(change_arguments(window=lambda window: replace(window, descending=True)))

beside_of_any_time = patch("TSDB-LIST-4", PAGES, "values beside the newest one are of another time")(
    change_arguments(begin=lambda begin: begin - 10**7, end=lambda end: end - 1)
)
closed = patch(
    "TSDB-QUERY-10", "labkit.services.tsdb.service:window", "a given end is included in the field"
)(change_arguments(half_open=False))


@patch("TSDB-QUERY-10", "labkit.services.tsdb.query:PointQuery.rows")
async def with_gaps(original: Any, self: Any, *given: Any) -> Any:
    """rows that lack a value are not left out"""
    return await original(replace(self, fill="null"), *given)
