"""Rows that join the points of several series, read in pages until enough of them are complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any, NamedTuple, TypeAlias

from labkit.services.series.store import (
    FALSE,
    FEW,
    PAGE,
    TRUE,
    Row,
    Series,
    SeriesReader,
    Value,
    Window,
    tags_order,
)

SMALLEST_PAGE = 2
Columns: TypeAlias = Sequence[Sequence[Series]]
# Values by time, of each column; not a list for each row, since the collector of garbage visits every list.
Points: TypeAlias = list[dict[int, Value]]
_BOOLEANS = frozenset({TRUE, FALSE})


class Rows(NamedTuple):
    """Rows of a time and a value for each column, None where it has no point. tags: of each row, as a text."""

    rows: list[list[Any]]
    tags: list[str]


@dataclass(slots=True)
class _Scan:
    """Position in a series.

    points: of its column and tags; size: of the next page, which doubles with each; last: time of the last point read;
    done: whether all are read.
    """

    series: Series
    points: dict[int, Value]
    size: int
    last: int | None = None
    done: bool = field(default=False)

    def take(self, page: Sequence[Row]) -> None:
        """Add a page that was read."""
        self.points.update(page)
        self.last = page[-1][0] if page else self.last
        self.done = len(page) < self.size
        self.size = min(PAGE, 2 * self.size)


async def joined(
    reader: SeriesReader, columns: Columns, window: Window, limit: int, *, full: bool = False
) -> Rows:
    """Return rows of time and values; points with the same time and tags share a row.

    columns: the series of each column. full: leave out rows without a value in each column. At most `limit` rows, in
    the window's direction, and by tags where times are equal.
    """
    columns, names = await _reaching(reader, columns, window, limit, full=full and len(columns) > 1)
    groups: dict[str, Points] = {tags: [{} for _ in columns] for tags in names}
    count = sum(map(len, columns))
    size = PAGE if count <= FEW else min(PAGE, max(SMALLEST_PAGE, limit // count + 1))
    scans = [
        _Scan(each, groups[each.tags][number], size)
        for number, column in enumerate(columns)
        for each in column
    ]
    await (_read_on if count <= FEW else _begin)(reader, scans, window)
    while True:
        pending = [each.last for each in scans if not each.done and each.last is not None]
        front = _front(pending, window)
        times = {tags: _complete(points, front, window, full=full) for tags, points in groups.items()}
        complete = sum(map(len, times.values()))
        if front is None or complete >= limit:
            await reader.pause(complete)
            return _built(groups, times, window, limit)
        if full:
            for tags, points in groups.items():
                _drop_incomplete(points, set(times[tags]), front, window)
        await _read_on(reader, scans, window)


async def joined_of_all(
    reader: SeriesReader,
    solution: str,
    columns: Sequence[tuple[str, str] | None],
    window: Window,
    limit: int,
    *,
    full: bool,
) -> Rows:
    """Return the rows of `joined` of all series of these names and fields, without a look at each series.

    columns: name and field of each; None for one without points.
    """
    rows, tags = Rows([], [])
    size = min(PAGE, limit)
    while True:
        groups: dict[str, Points] = {}
        ends: list[int] = []
        for number, column in enumerate(columns):
            if column is None:
                continue
            page, last = await reader.of_all(solution, *column, window, size)
            ends += [] if last is None else [last]
            for time, value, own, _ in page:
                groups.setdefault(own, [{} for _ in columns])[number][time] = value
        front = _front(ends, window)
        groups = {own: groups[own] for own in sorted(groups, key=tags_order)}
        times = {own: _complete(points, front, window, full=full) for own, points in groups.items()}
        found = _built(groups, times, window, limit - len(rows))
        rows += found.rows
        tags += found.tags
        if front is None or len(rows) >= limit:
            return Rows(rows, tags)
        begin, end = (window.begin, front - 1) if window.descending else (front + 1, window.end)
        window, size = Window(begin, end, window.descending), min(PAGE, 2 * size)


async def _reaching(
    reader: SeriesReader, columns: Columns, window: Window, limit: int, *, full: bool
) -> tuple[Columns, list[str]]:
    """Return the columns with the series whose points may be among the rows, and the different tags of these.

    A row of each set of tags is at its first time. So of more sets than rows only those count that begin first.
    """
    names = {each.tags for column in columns for each in column}
    if full or len(names) <= limit:
        return columns, sorted(names, key=tags_order)
    owners = {each.id: each.tags for column in columns for each in column}
    firsts: dict[str, int] = {}
    async for number, [(time, _)] in reader.heads([*owners], window, 1):
        key, tags = -time if window.descending else time, owners[number]
        firsts[tags] = min(key, firsts.get(tags, key))
    last = max(nsmallest(limit, firsts.values()), default=0)
    chosen = {tags for tags, key in firsts.items() if key < last}
    equal = (tags for tags, key in firsts.items() if key == last)
    chosen.update(nsmallest(limit, equal, key=tags_order))
    kept = [[each for each in column if each.tags in chosen] for column in columns]
    return kept, sorted(chosen, key=tags_order)


async def _begin(reader: SeriesReader, scans: Sequence[_Scan], window: Window) -> None:
    """Read the first page of each of many series."""
    by_id: dict[int, list[_Scan]] = {}
    for scan in scans:
        by_id.setdefault(scan.series.id, []).append(scan)
        scan.done = True
    async for number, page in reader.heads([*by_id], window, scans[0].size):
        for scan in by_id[number]:
            scan.take(page)


async def _read_on(reader: SeriesReader, scans: Sequence[_Scan], window: Window) -> None:
    """Read a page of each series that holds back rows of the others."""
    left = [each for each in scans if not each.done]
    front = _front([each.last for each in left if each.last is not None], window)
    for scan in left:
        if scan.last is not None and scan.last != front:
            continue
        begin, end = window.begin, window.end
        if scan.last is not None and window.descending:
            end = scan.last - 1
        elif scan.last is not None:
            begin = scan.last + 1
        scan.take(await reader.page(scan.series.id, begin, end, scan.size, descending=window.descending))


def _front(times: Sequence[int], window: Window) -> int | None:
    """Return the time up to which all series are read; None if all are read to their end, or none at all."""
    return None if not times else max(times) if window.descending else min(times)


def _is_read(time: int, front: int, window: Window) -> bool:
    """Return whether no series can add a point of this time."""
    return time >= front if window.descending else time <= front


def _complete(points: Points, front: int | None, window: Window, *, full: bool) -> list[int]:
    """Return the times of the rows to which no series can add a value."""
    times = set(points[0]).intersection(*points[1:]) if full else set().union(*points)
    return list(times) if front is None else [time for time in times if _is_read(time, front, window)]


def _drop_incomplete(points: Points, times: set[int], front: int, window: Window) -> None:
    """Forget the points of rows that lack a value for good: there may be millions of them."""
    for own in points:
        for time in [time for time in own if time not in times and _is_read(time, front, window)]:
            del own[time]


def _built(groups: dict[str, Points], times: dict[str, list[int]], window: Window, limit: int) -> Rows:
    """Return the rows of these times, by tags where times are equal."""
    if len(groups) == 1:
        [(tags, points)] = groups.items()
        chosen = sorted(times[tags], reverse=window.descending)[:limit]
        finds = [each.get for each in points]
        rows = [[time, *[find(time) for find in finds]] for time in chosen]
        owners = [tags] * len(rows)
    else:
        sign = -1 if window.descending else 1
        names = list(groups)
        numbers = {tags: number for number, tags in enumerate(names)}
        keys = sorted((sign * time, numbers[tags]) for tags, own in times.items() for time in own)[:limit]
        rows = [[sign * key, *[each.get(sign * key) for each in groups[names[at]]]] for key, at in keys]
        owners = [names[at] for _, at in keys]
    if any(not _BOOLEANS.isdisjoint(each.values()) for points in groups.values() for each in points):
        rows = [[value == TRUE if type(value) is bytes else value for value in row] for row in rows]
    return Rows(rows, owners)


def fill_previous(found: Rows, *, descending: bool) -> None:
    """Replace each None by the value before it in time, of the same column and tags."""
    before: dict[str, list[Any]] = {}
    pairs = list(zip(found.rows, found.tags, strict=True))
    for row, tags in reversed(pairs) if descending else pairs:
        for column, value in enumerate(before.get(tags, ())):
            if row[column] is None:
                row[column] = value
        before[tags] = row
