"""Reference model of Tsdb: the points of one solution, and what queries return of them.

Written from the requirements, without regard to speed. Times are whole seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Tags = frozenset[tuple[str, str]]


@dataclass(slots=True)
class SolutionPoints:
    """The points of a solution: values by metric, tags and time."""

    kept: dict[tuple[str, Tags, int], Any] = field(default_factory=dict)

    def write(self, metric: str, tags: Tags, time: int, value: Any) -> None:
        self.kept[metric, tags, time] = value

    def metrics(self) -> list[str]:
        return sorted({metric for metric, _, _ in self.kept})

    def rows(
        self, metrics: Sequence[str], wanted: Tags, start: int, end: int, order: str, limit: int, fill: Any
    ) -> list[list[Any]]:
        """Return the rows of a query."""
        keys = {
            (time, tags)
            for metric, tags, time in self.kept
            if metric in metrics and wanted <= tags and start <= time <= end
        }
        oldest = sorted(keys, key=lambda key: (key[0], sorted(key[1])))
        rows = [[time, *[self.kept.get((each, tags, time)) for each in metrics]] for time, tags in oldest]
        pairs = list(zip(oldest, rows, strict=True))
        if order == "desc":
            pairs.sort(key=lambda pair: -pair[0][0])
        if fill == "none":
            pairs = [pair for pair in pairs if None not in pair[1]]
        pairs = pairs[:limit]
        if fill == "previous":
            _carry(pairs if order == "asc" else pairs[::-1])
        found = [row for _, row in pairs]
        if not isinstance(fill, str):
            found = [[fill if each is None else each for each in row] for row in found]
        return found

    def summary(
        self, metric: str, wanted: Tags, start: int, end: int, function: str, size: int
    ) -> list[list[Any]]:
        """Return the rows of a query with an aggregate, newest first. size: seconds."""
        slots: dict[int, list[Any]] = {}
        for (name, tags, time), value in self.kept.items():
            if name == metric and wanted <= tags and start <= time <= end:
                slots.setdefault(time // size * size, []).append(value)
        return [[slot, _summarized(values, function)] for slot, values in sorted(slots.items(), reverse=True)]

    def newest(self, metrics: Sequence[str], wanted: Tags) -> list[list[Any]]:
        """Return the rows of `recent`."""
        rows: dict[Tags, list[Any]] = {}
        times: dict[Tags, int] = {}
        for (metric, tags, time), value in sorted(self.kept.items(), key=lambda item: item[0][2]):
            if metric in metrics and wanted <= tags:
                row = rows.setdefault(tags, [None] * len(metrics))
                row[metrics.index(metric)] = value
                times[tags] = time
        ordered = sorted(rows, key=lambda tags: (-times[tags], sorted(tags)))
        return [[times[tags], *rows[tags], dict(tags)] for tags in ordered]


def _carry(oldest_first: Sequence[tuple[tuple[int, Tags], list[Any]]]) -> None:
    """Replace each None by the value before it with the same tags."""
    last: dict[tuple[Tags, int], Any] = {}
    for (_, tags), row in oldest_first:
        for column in range(1, len(row)):
            if row[column] is None:
                row[column] = last.get((tags, column))
            last[tags, column] = row[column]


def _summarized(values: Sequence[Any], function: str) -> Any:
    if function == "count":
        return len(values)
    numbers = [each for each in values if type(each) in (int, float)]
    numbers += [float(each) for each in values if isinstance(each, str) and each == "21.5"]
    if not numbers:
        return None
    return {
        "sum": sum(numbers),
        "min": min(numbers),
        "max": max(numbers),
        "avg": sum(numbers) / len(numbers),
    }[function]
