"""Random queries in InfluxQL, compared with a model that was written from InfluxDB's documentation.

The model keeps all points in a list and looks at all of them for each row.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.services.tsdb.series_rig import START, SeriesRig
from tests.sizes import size

MINUTE = 60
SPAN = 40  # minutes before START in which there are points
Numbers = list[tuple[int, Any]]  # minute, value


@dataclass(frozen=True)
class Point:
    """A point of the measurement `m`. minute: after the first one."""

    sn: str
    minute: int
    value: Any


def _mode(values: Sequence[Any]) -> Any:
    return max(dict.fromkeys(values), key=values.count)


FUNCTIONS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "mean(v)": lambda values: sum(values) / len(values),
    "sum(v)": sum,
    "count(v)": len,
    "min(v)": min,
    "max(v)": max,
    "spread(v)": lambda values: max(values) - min(values),
    "median(v)": statistics.median,
    "stddev(v)": lambda values: statistics.stdev(values) if len(values) > 1 else None,
    "mode(v)": _mode,
    "count(distinct(v))": lambda values: len({*values}),
}


def _pairs(rows: Numbers, change: Callable[[Any, Any, int], Any]) -> Numbers:
    return [
        (rows[at][0], change(rows[at - 1][1], rows[at][1], (rows[at][0] - rows[at - 1][0]) * MINUTE))
        for at in range(1, len(rows))
    ]


TRANSFORMS: dict[str, Callable[[Numbers], Numbers]] = {
    "difference({})": lambda rows: _pairs(rows, lambda old, new, seconds: new - old),
    "non_negative_difference({})": lambda rows: [
        each for each in _pairs(rows, lambda old, new, seconds: new - old) if each[1] >= 0
    ],
    "derivative({}, 1h)": lambda rows: _pairs(rows, lambda old, new, seconds: (new - old) * 3600 / seconds),
    "non_negative_derivative({}, 30s)": lambda rows: [
        each for each in _pairs(rows, lambda old, new, seconds: (new - old) * 30 / seconds) if each[1] >= 0
    ],
    "moving_average({}, 3)": lambda rows: [
        (rows[at][0], sum(value for _, value in rows[at - 2 : at + 1]) / 3) for at in range(2, len(rows))
    ],
    "cumulative_sum({})": lambda rows: [
        (rows[at][0], sum(value for _, value in rows[: at + 1])) for at in range(len(rows))
    ],
}


@dataclass(frozen=True)
class Query:
    """A query, as data. size: minutes of GROUP BY time; pages: LIMIT, OFFSET, SLIMIT and SOFFSET."""

    function: str
    transform: str
    size: int | None
    by_tag: bool
    fill: str
    descending: bool
    first: int
    pages: tuple[int | None, int | None, int | None, int | None]

    def text(self) -> str:
        column = self.function or "v"
        column = self.transform.format(column) if self.transform else column
        begin = START - (SPAN - self.first) * MINUTE
        by = [f"time({self.size}m)"] * (self.size is not None) + ["sn"] * self.by_tag
        parts = [f"SELECT {column} AS r FROM m WHERE time >= {begin}s AND time < {START}s"]
        parts += ["GROUP BY " + ", ".join(by)] if by else []
        parts += [f"fill({self.fill})"] if self.fill and by else []
        parts += ["ORDER BY time DESC"] if self.descending else []
        words = zip(("LIMIT", "OFFSET", "SLIMIT", "SOFFSET"), self.pages, strict=True)
        return " ".join(parts + [f"{word} {number}" for word, number in words if number is not None])

    def answer(self, points: Sequence[Point]) -> list[tuple[str, Numbers]]:
        """Return the series, each as the value of its tag and its rows."""
        limit, offset, series_limit, series_offset = self.pages
        found = []
        for sn in sorted({each.sn for each in points}) if self.by_tag else [""]:
            mine = [each for each in points if each.minute >= self.first and sn in ("", each.sn)]
            rows = self._rows(sorted(mine, key=lambda each: (each.minute, each.sn)))
            rows = rows[::-1] if self.descending else rows
            rows = rows[offset or 0 :]
            rows = rows if limit is None else rows[:limit]
            if rows:
                found.append((sn, rows))
        found = found[series_offset or 0 :]
        return found if series_limit is None else found[:series_limit]

    def _rows(self, points: Sequence[Point]) -> Numbers:
        if not self.function:
            return TRANSFORMS[self.transform]([(each.minute, each.value) for each in points])
        function = FUNCTIONS[self.function]
        if not points:
            return []
        if self.size is None:
            result = function([each.value for each in points])
            picks = self.function in ("min(v)", "max(v)")  # with the time of the point
            time = next(each.minute for each in points if each.value == result) if picks else self.first
            return [(time, result)]
        size = self.size
        aligned = START // MINUTE - SPAN  # minutes since 1970 at which the span begins
        starts = range((aligned + self.first) // size * size - aligned, SPAN, size)
        values = {
            start: function([each.value for each in points if start <= each.minute < start + size])
            for start in starts
            if any(start <= each.minute < start + size for each in points)
        }
        rows = self._filled(starts, values)
        if not self.transform:
            return rows
        return TRANSFORMS[self.transform]([each for each in rows if each[1] is not None])

    def _filled(self, starts: Sequence[int], values: dict[int, Any]) -> Numbers:
        rows: Numbers = []
        for start in starts:
            if start in values:
                rows.append((start, values[start]))
                continue
            before = [each for each in values if each < start]
            after = [each for each in values if each > start]
            if self.fill == "none":
                continue
            if self.fill in ("null", ""):
                rows.append((start, 0 if self.function.startswith("count") else None))
            elif self.fill == "previous":
                rows.append((start, values[max(before)] if before else None))
            elif self.fill == "linear":
                rows.append(
                    (start, _line(values, max(before), min(after), start) if before and after else None)
                )
            else:
                rows.append((start, float(self.fill)))
        return rows


def _line(values: dict[int, Any], before: int, after: int, at: int) -> Any:
    first, last = values[before], values[after]
    if first is None or last is None:
        return None
    found = first + (last - first) * (at - before) / (after - before)
    whole = isinstance(first, int) and isinstance(last, int)
    return first + math.trunc((last - first) * (at - before) / (after - before)) if whole else found


def drawn(chance: random.Random) -> tuple[list[Point], Query]:
    """Return points and a query."""
    whole = chance.random() < 0.3
    numbers = range(-5, 20) if whole else [0.5 * each for each in range(-9, 30)]
    points = {
        (sn, minute): Point(sn, minute, chance.choice(numbers))
        for sn in ("a", "b", "c")[: chance.randint(1, 3)]
        for minute in chance.sample(range(SPAN), chance.choice([1, 2, 5, 20]))
    }
    function = chance.choice(list(FUNCTIONS))
    transform = chance.choice(["", "", *TRANSFORMS])
    size = chance.choice([None, 1, 2, 5, 7])
    if transform and size is None:
        function = ""
        taken: set[int] = set()  # of points at one time the order is not documented
        for key in sorted(points, key=lambda each: (each[1], each[0])):
            if key[1] in taken:
                del points[key]
            taken.add(key[1])
    pages = tuple(chance.choice([None, None, low, 3, 50]) for low in (1, 0, 1, 0))
    return list(points.values()), Query(
        function,
        transform,
        size,
        chance.random() < 0.5,
        chance.choice(["", "null", "none", "previous", "linear", "-1.5", "7"]) if size else "",
        chance.random() < 0.3,
        chance.choice([0, 0, 3, 11]),
        pages,  # type: ignore[arg-type]
    )


def is_near(one: Any, other: Any) -> bool:
    """Return whether two rows are equal, but for the last digits of sums."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("seed", range(4))
async def test_queries_are_answered_as_the_model_says(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(size(80, 2_000)):
        points, query = drawn(chance)
        rig = SeriesRig()
        lines = "\n".join(
            f"m,sn={each.sn} v={each.value}{'i' if isinstance(each.value, int) else ''} "
            f"{START - (SPAN - each.minute) * MINUTE}"
            for each in points
        )
        assert await rig.call("Timeseries.write", query=lines, precision="s") == {}
        answer = await rig.call("Timeseries.query", q=query.text(), epoch="s")
        found = [
            (
                each.get("tags", {}).get("sn", ""),
                [((time - START) // MINUTE + SPAN, value) for time, value in each["values"]],
            )
            for each in answer["results"][0].get("series", [])
        ]
        expected = query.answer(points)
        assert [(sn, [time for time, _ in rows]) for sn, rows in found] == [
            (sn, [time for time, _ in rows]) for sn, rows in expected
        ], query.text()
        for (_, ours), (_, theirs) in zip(found, expected, strict=True):
            assert all(is_near(one, other) for (_, one), (_, other) in zip(ours, theirs, strict=True)), (
                query.text(),
                ours,
                theirs,
            )
