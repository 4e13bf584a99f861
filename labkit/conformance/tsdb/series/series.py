"""Driver of the Tsdb model: the same metrics in two solutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.conformance.models.calls import CallResult
from labkit.conformance.models.commands import Commands, optional, several, together
from labkit.conformance.models.game import TenantGame
from labkit.conformance.tsdb.series.client import BASE, shifted
from labkit.conformance.tsdb.series.model import SolutionPoints, Tags

METRICS = ("m", "n", "é")
TAGS: tuple[Tags, ...] = (
    frozenset(),
    frozenset({("sn", "a")}),
    frozenset({("sn", "b")}),
    frozenset({("sn", "a"), ("x", '1","sn":"b')}),
)
VALUES = (0, 1, -2, 7.5, "on", "21.5", "", True, False)
SIZES = (1, 5, 20)  # seconds; BASE is a multiple of each
SECONDS = range(41)
WRITTEN = several(together(METRICS, VALUES), 3, 1, unique_by=lambda pair: pair[0])

command = Commands(
    index=(0, 0, 1),
    metrics=several(METRICS, 3, 1, unique=True),
    metric=METRICS,
    tags=TAGS,
    start=SECONDS,
    end=SECONDS,
)


class Series(TenantGame[SolutionPoints]):
    """One run of the model: metrics with a prefix of its own, in two solutions."""

    default = "TSDB-WRITE-1"

    service = "Tsdb"
    model = SolutionPoints
    separator = " "

    async def end(self) -> None:
        """Read everything once more, in both solutions."""
        for index, points in enumerate(self.models):
            await self.list_metrics(index)
            for metric in points.metrics():
                await self.query(index, (metric,), frozenset(), {})
        await self._calls.send()

    # ---- what commands do

    @command(writes=several(together(WRITTEN, TAGS, SECONDS), 4, 1), many=bool)
    async def write(
        self, index: int, writes: Sequence[tuple[Sequence[tuple[str, Any]], Tags, int]], many: bool
    ) -> None:
        """Write values of metrics, with `write` or all of them with `multiWrite`."""
        given = []
        for metrics, tags, seconds in writes:
            for metric, value in metrics:
                self.models[index].write(metric, tags, seconds, value)
            given.append(
                {
                    "metrics": {self._prefix + metric: value for metric, value in metrics},
                    "tags": dict(tags),
                    "ts": f"{BASE + seconds}s",
                }
            )
        if many:
            self._done(index, "multiWrite", {"datapoints": given}, "TSDB-WRITE-5")
            return
        for each in given:
            self._done(index, "write", each, "TSDB-WRITE-1")

    @command(
        options=optional(
            start=SECONDS,
            end=SECONDS,
            order=("asc", "desc"),
            limit=(1, 2, 5),
            fill=("null", "previous", "none", 0, 1.5),
        )
    )
    async def query(self, index: int, metrics: Sequence[str], tags: Tags, options: Mapping[str, Any]) -> None:
        """Query rows. options: start, end, order, limit, fill."""
        start, end = options.get("start", -1000), options.get("end", 1000)
        order, limit = options.get("order", "desc"), options.get("limit", 10_000)
        fill = options.get("fill", "null")
        rows = self.models[index].rows(metrics, tags, start, end, order, limit, fill)
        given = {"order_by": order, "limit": limit, "fill": fill}
        rule = "TSDB-QUERY-5" if fill != "null" else "TSDB-QUERY-2" if tags else "TSDB-QUERY-1"
        self._read(index, metrics, {**self._span(tags, start, end), **given}, rule, rows)

    @command(function=("avg", "min", "max", "count", "sum"), size=SIZES)
    async def summarize(
        self, index: int, metric: str, tags: Tags, function: str, size: int, start: int, end: int
    ) -> None:
        """Query an aggregate of a metric. size: seconds, of which BASE is a multiple."""
        rows = self.models[index].summary(metric, tags, start, end, function, size)
        given = {**self._span(tags, start, end), "aggregate": function, "sampling_size": f"{size}s"}
        self._read(index, (metric,), given, "TSDB-QUERY-6", rows)

    @command()
    async def recent(self, index: int, metrics: Sequence[str], tags: Tags) -> None:
        """Ask for the newest values."""
        rows = self.models[index].newest(metrics, tags)
        given = {"tags": dict(tags), "epoch": "s"}
        self._read(index, metrics, given, "TSDB-LIST-2", rows, "recent")

    @command()
    async def list_metrics(self, index: int) -> None:
        """List the metrics of this run."""
        wanted = [self._prefix + metric for metric in self.models[index].metrics()]

        def judge(given: CallResult) -> None:
            found = given.value.get("metrics") if isinstance(given.value, dict) else given.value
            own = [each for each in found or () if str(each).startswith(self._prefix)]
            self._rules.holds("TSDB-LIST-1", "the metrics", own, wanted, given)

        self._calls.add(index, "Tsdb.listMetrics", {"next": self._prefix}, judge)

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
        others = self.models[1 - index]
        strange = any(
            (metric, tags, time) not in self.models[index].kept for metric, tags, time in others.kept
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
