"""Reference model of a device for remote procedure calls: recorded datapoints of its resources, and its tags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Point = Sequence[Any]
NUMBERS = frozenset({"number", "level", "measured"})  # aliases whose values are numbers


class ModelDevice:
    """Datapoints by alias, and pairs of name and value."""

    def __init__(self) -> None:
        self.points: dict[str, dict[int, Any]] = {}
        self.tags: set[tuple[str, str]] = set()

    def record(self, alias: str, pairs: Iterable[Point], *, all_or_none: bool) -> list[list[Any]]:
        """Store the valid pairs, unless one is invalid and `all_or_none`; return the invalid ones."""
        pairs = list(pairs)
        invalid = [[time, "invalid"] for time, value in pairs if time < 0 or not _fits(alias, value)]
        if not (invalid and all_or_none):
            for time, value in pairs:
                if [time, "invalid"] not in invalid:
                    self.points.setdefault(alias, {})[time] = value
        return invalid

    def flush(self, aliases: Iterable[str], newer: int, older: int) -> None:
        """Delete the points between two times, both exclusive."""
        for alias in aliases:
            kept = {
                time: value for time, value in self.points.get(alias, {}).items() if not newer < time < older
            }
            self.points[alias] = kept

    def read(self, alias: str, start: int, end: int, order: str, limit: int, selection: str) -> list[Point]:
        """Return the selected points."""
        found = sorted(
            (time, value) for time, value in self.points.get(alias, {}).items() if start <= time <= end
        )
        if selection != "all" and found:
            low, high = (start, end) if selection == "givenwindow" else (found[0][0], found[-1][0])
            choose: Callable[..., Any] = max if order == "desc" else min
            parts: dict[int, list[tuple[int, Any]]] = {}
            for each in found:
                parts.setdefault((each[0] - low) * limit // (high - low + 1), []).append(each)
            found = sorted(choose(part, key=lambda each: each[0]) for part in parts.values())
        if order == "desc":
            found.reverse()
        return [list(each) for each in found[:limit]]

    def storage(self, alias: str) -> dict[str, int]:
        """Return count, times of the first and the last point, and bytes of all values."""
        points = self.points.get(alias, {})
        size = sum(len(str(value).encode()) for value in points.values())
        return {
            "count": len(points),
            "first": min(points, default=0),
            "last": max(points, default=0),
            "size": size,
        }

    def add_tags(self, tags: Iterable[tuple[str, str]], *, replace: bool) -> None:
        """Add tags. replace: instead of the present ones of the same names."""
        tags = list(tags)
        if replace:
            names = {name for name, _ in tags}
            self.tags = {tag for tag in self.tags if tag[0] not in names}
        self.tags.update(tags)

    def remove_tags(self, tags: Iterable[tuple[str, str | None]]) -> None:
        """Remove tags, without value all of a name."""
        for name, value in tags:
            self.tags = {tag for tag in self.tags if tag[0] != name or value not in (None, tag[1])}


def _fits(alias: str, value: Any) -> bool:
    if alias not in NUMBERS:
        return True
    return not isinstance(value, str) and (alias != "level" or 0 <= value <= 100)
