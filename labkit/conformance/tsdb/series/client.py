"""Client of Tsdb for checks: metrics with names of a check's own, and times apart from those of other checks."""

from __future__ import annotations

from typing import Any

from labkit.conformance.probe import PROBE, Service
from labkit.conformance.target import Target

BASE = 1_480_000_000  # seconds; times of points whose age does not matter
SPAN = {"start_time": "0s", "end_time": "9999999999s", "epoch": "s"}


class Tsdb(Service):
    """Tsdb of a solution. `metric` returns a name of this check's own."""

    def __init__(self, target: Target, solution: str = PROBE, prefix: str = "") -> None:
        super().__init__(target, "Tsdb", solution)
        self.prefix = prefix or target.identity()

    def metric(self, name: str) -> str:
        return f"{self.prefix} {name}"

    async def write(self, seconds: int, tags: dict[str, Any] | None = None, /, **values: Any) -> None:
        """Write values of metrics at a time that many seconds after BASE."""
        metrics = {self.metric(name): value for name, value in values.items()}
        await self.done("write", metrics=metrics, tags=tags or {}, ts=f"{BASE + seconds}s")

    async def rows(self, *names: str, **arguments: Any) -> Any:
        """Return the values of a query, with times as seconds after BASE and rows of full length."""
        metrics = [self.metric(name) for name in names]
        found = await self.done("query", metrics=metrics, **{**SPAN, **arguments})
        values = found.get("values")
        if isinstance(values, dict):
            return {name: shifted(values.get(metric), 1) for name, metric in zip(names, metrics, strict=True)}
        return shifted(values, len(names))


def shifted(rows: Any, width: int) -> Any:
    """Return rows with times as seconds after BASE. Lua does not show the length of a row that ends in nil."""
    if rows in ({}, None):
        return []
    if not isinstance(rows, list) or not all(isinstance(row, list) and row for row in rows):
        return rows
    padded = [[*row, *[None] * (width + 1 - len(row))] for row in rows]
    return [[row[0] - BASE if isinstance(row[0], int | float) else row[0], *row[1:]] for row in padded]
