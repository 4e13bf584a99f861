"""Driver of the Tsdb model: the same metrics in two solutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.conformance.models.calls import CallResult, Calls
from labkit.conformance.models.rules import Rules
from labkit.conformance.probe import PROBE, WITNESS
from labkit.conformance.target import Target
from labkit.conformance.tsdb.series.client import BASE, shifted
from labkit.conformance.tsdb.series.model import SolutionPoints, Tags

SOLUTIONS = (PROBE, WITNESS)


class SeriesGame:
    """One run of the model: metrics with a prefix of its own, in two solutions."""

    default = "TSDB-WRITE-1"

    def __init__(self, target: Target, rules: Rules) -> None:
        self._rules = rules
        self._calls = Calls(target, rules, self.default, SOLUTIONS)
        self.points = [SolutionPoints(), SolutionPoints()]
        self._prefix = f"{target.identity()} "

    async def begin(self) -> None:
        """Begin with metrics that nobody has written yet."""

    async def end(self) -> None:
        """Read everything once more, in both solutions."""
        for index, points in enumerate(self.points):
            await self.list_metrics(index)
            for metric in points.metrics():
                await self.query(index, (metric,), frozenset(), {})
        await self._calls.send()

    async def close(self) -> None:
        """Leave the points, which no other run reads."""

    async def play(self, command: Any) -> None:
        await command(self)

    async def pause(self) -> None:
        """Finish pending calls, since the platform is about to restart."""
        await self._calls.send()

    # ---- what commands do

    async def write(
        self, index: int, writes: Sequence[tuple[Mapping[str, Any], Tags, int]], *, many: bool
    ) -> None:
        """Write values of metrics, with `write` or all of them with `multiWrite`."""
        given = []
        for metrics, tags, seconds in writes:
            for metric, value in metrics.items():
                self.points[index].write(metric, tags, seconds, value)
            given.append(
                {
                    "metrics": {self._prefix + metric: value for metric, value in metrics.items()},
                    "tags": dict(tags),
                    "ts": f"{BASE + seconds}s",
                }
            )
        if many:
            self._done(index, "multiWrite", {"datapoints": given}, "TSDB-WRITE-5")
            return
        for each in given:
            self._done(index, "write", each, "TSDB-WRITE-1")

    async def query(self, index: int, metrics: Sequence[str], tags: Tags, options: Mapping[str, Any]) -> None:
        """Query rows. options: start, end, order, limit, fill."""
        start, end = options.get("start", -1000), options.get("end", 1000)
        order, limit = options.get("order", "desc"), options.get("limit", 10_000)
        fill = options.get("fill", "null")
        rows = self.points[index].rows(metrics, tags, start, end, order, limit, fill)
        given = {"order_by": order, "limit": limit, "fill": fill}
        rule = "TSDB-QUERY-5" if fill != "null" else "TSDB-QUERY-2" if tags else "TSDB-QUERY-1"
        self._read(index, metrics, {**self._span(tags, start, end), **given}, rule, rows)

    async def summarize(
        self, index: int, metric: str, tags: Tags, function: str, size: int, start: int, end: int
    ) -> None:
        """Query an aggregate of a metric. size: seconds, of which BASE is a multiple."""
        rows = self.points[index].summary(metric, tags, start, end, function, size)
        given = {**self._span(tags, start, end), "aggregate": function, "sampling_size": f"{size}s"}
        self._read(index, (metric,), given, "TSDB-QUERY-6", rows)

    async def recent(self, index: int, metrics: Sequence[str], tags: Tags) -> None:
        """Ask for the newest values."""
        rows = self.points[index].newest(metrics, tags)
        given = {"tags": dict(tags), "epoch": "s"}
        self._read(index, metrics, given, "TSDB-LIST-2", rows, "recent")

    async def list_metrics(self, index: int) -> None:
        """List the metrics of this run."""
        wanted = [self._prefix + metric for metric in self.points[index].metrics()]

        def judge(given: CallResult) -> None:
            found = given.value.get("metrics") if isinstance(given.value, dict) else given.value
            own = [each for each in found or () if str(each).startswith(self._prefix)]
            self._rules.holds("TSDB-LIST-1", "the metrics", own, wanted, given)

        self._calls.add(index, "Tsdb.listMetrics", {}, judge)

    # ---- comparing

    def _span(self, tags: Tags, start: int, end: int) -> dict[str, Any]:
        return {
            "tags": dict(tags),
            "start_time": f"{BASE + start}s",
            "end_time": f"{BASE + end}s",
            "epoch": "s",
        }

    def _read(
        self,
        index: int,
        metrics: Sequence[str],
        given: dict[str, Any],
        rule: str,
        wanted: list[list[Any]],
        operation: str = "query",
    ) -> None:
        width = len(metrics) + (operation == "recent")
        others = self.points[1 - index]
        strange = any(
            (metric, tags, time) not in self.points[index].kept for metric, tags, time in others.kept
        )

        def judge(result: CallResult) -> None:
            values = result.value.get("values") if isinstance(result.value, dict) else result.value
            found = shifted(values, width)
            if strange and isinstance(found, list) and len(found) > len(wanted):
                self._rules.holds("TSDB-KEEP-1", f"what {operation} gives", found, wanted, result)
            self._rules.holds(rule, f"what {operation} gives", found, wanted, result)

        names = [self._prefix + metric for metric in metrics]
        self._calls.add(index, f"Tsdb.{operation}", {**given, "metrics": names}, judge)

    def _done(self, index: int, operation: str, parameters: dict[str, Any], rule: str) -> None:
        def judge(given: CallResult) -> None:
            self._rules.holds(rule, f"whether {operation} fails", given.refused, False, given)

        self._calls.add(index, f"Tsdb.{operation}", parameters, judge)
