"""Model check of Tsdb: values of a few metrics in two solutions, written and read in random order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.old_models import Model, model_check
from labkit.conformance.tsdb.series.game import SeriesGame
from labkit.conformance.tsdb.series.model import Tags

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

METRICS = ("m", "n", "é")
TAGS: tuple[Tags, ...] = (
    frozenset(),
    frozenset({("sn", "a")}),
    frozenset({("sn", "b")}),
    frozenset({("sn", "a"), ("x", '1","sn":"b')}),
)
VALUES = (0, 1, -2, 7.5, "on", "21.5", "", True, False)
SIZES = (1, 5, 20)  # seconds; BASE is a multiple of each


@dataclass(frozen=True)
class WriteValues:
    """Write values, each with its tags and seconds."""

    solution: int
    writes: tuple[tuple[tuple[tuple[str, Any], ...], Tags, int], ...]
    many: bool

    async def __call__(self, game: SeriesGame) -> None:
        writes = [(dict(metrics), tags, seconds) for metrics, tags, seconds in self.writes]
        await game.write(self.solution, writes, many=self.many)


@dataclass(frozen=True)
class QueryRows:
    """Query rows of metrics."""

    solution: int
    metrics: tuple[str, ...]
    tags: Tags
    options: tuple[tuple[str, Any], ...]

    async def __call__(self, game: SeriesGame) -> None:
        await game.query(self.solution, self.metrics, self.tags, dict(self.options))


@dataclass(frozen=True)
class QuerySummary:
    """Query an aggregate of one metric."""

    solution: int
    metric: str
    tags: Tags
    function: str
    size: int
    start: int
    end: int

    async def __call__(self, game: SeriesGame) -> None:
        await game.summarize(
            self.solution, self.metric, self.tags, self.function, self.size, self.start, self.end
        )


@dataclass(frozen=True)
class RecentValues:
    """Ask for the newest values."""

    solution: int
    metrics: tuple[str, ...]
    tags: Tags

    async def __call__(self, game: SeriesGame) -> None:
        await game.recent(self.solution, self.metrics, self.tags)


@dataclass(frozen=True)
class ListMetrics:
    """List all metrics."""

    solution: int

    async def __call__(self, game: SeriesGame) -> None:
        await game.list_metrics(self.solution)


def commands() -> SearchStrategy[Any]:
    """Return the calls of scripts."""
    from hypothesis import strategies as st

    one_of = st.sampled_from
    solutions, tags, seconds = one_of([0, 0, 1]), one_of(TAGS), st.integers(0, 40)
    metrics = st.lists(one_of(METRICS), min_size=1, max_size=3, unique=True).map(tuple)
    values = st.lists(
        st.tuples(one_of(METRICS), one_of(VALUES)), min_size=1, max_size=3, unique_by=lambda pair: pair[0]
    ).map(tuple)
    writes = st.lists(st.tuples(values, tags, seconds), min_size=1, max_size=4).map(tuple)
    options = st.fixed_dictionaries(
        {},
        optional={
            "start": seconds,
            "end": seconds,
            "order": one_of(("asc", "desc")),
            "limit": one_of((1, 2, 5)),
            "fill": one_of(("null", "previous", "none", 0, 1.5)),
        },
    ).map(lambda given: tuple(given.items()))
    functions = one_of(("avg", "min", "max", "count", "sum"))
    write = st.builds(WriteValues, solutions, writes, st.booleans())
    query = st.builds(QueryRows, solutions, metrics, tags, options)
    return st.one_of(
        write,
        write,
        query,
        query,
        st.builds(QuerySummary, solutions, one_of(METRICS), tags, functions, one_of(SIZES), seconds, seconds),
        st.builds(RecentValues, solutions, metrics, tags),
        st.builds(ListMetrics, solutions),
    )


RULES = (
    "TSDB-WRITE-1 TSDB-WRITE-5 TSDB-QUERY-1 TSDB-QUERY-2 TSDB-QUERY-5 TSDB-QUERY-6 TSDB-LIST-1 "
    "TSDB-LIST-2 TSDB-KEEP-1"
)

tsdb = model_check(
    "series/model",
    "values of two solutions, written and read in any order, as a model has them",
    Model(tuple(RULES.split()), commands, SeriesGame),
)
