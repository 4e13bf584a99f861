"""Cost of a query of Tsdb: a day of a metric at a point a minute, among many other points.

`two` queries two metrics of the same day, `text` returns times of RFC 3339, `script` is a Lua script that queries the
day and counts its rows, `hourly` summarizes 30 days by the hour. The baseline reads the same rows from SQLite.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from sqlalchemy import Connection

from labkit.bench.control import BenchError
from labkit.bench.solutions import repeat_call
from labkit.bench.variant import Variant
from labkit.labtime.clock import Clock
from labkit.platform import Platform
from labkit.services.operation import Caller
from labkit.services.series.tables import NEWEST, STORE
from labkit.services.series.times import SECOND, UNITS, micros
from labkit.settings import LabSettings, SolutionSettings
from labkit.storage.connections import driver
from labkit.storage.database import execute_many

METRICS = 10
MINUTE = 60 * SECOND
DAY = int(UNITS["d"])
BATCH = 100_000  # points of one transaction while the store is filled
FAMILY = "SELECT family FROM series_point WHERE series = ?"
SCRIPT = """
local found = Tsdb.query{metrics = {"metric0"}, relative_start = "-1d", epoch = "s"}
return #found.values
"""


async def query(stack: AsyncExitStack, points: int) -> dict[str, Variant]:
    """Measure queries of a store with this many points, in ten metrics."""
    settings = LabSettings(https_port=0, solutions=(SolutionSettings(id="home"),))
    platform = await stack.enter_async_context(Platform(settings, clock=Clock(0.0)))
    caller = Caller("home")
    for number in range(METRICS):
        await platform.services.call(caller, "Tsdb", "write", {"metrics": {f"metric{number}": 20.5}})
    now = micros(platform.context.clock.now()) // MINUTE * MINUTE
    await _fill(platform, now, points // METRICS)
    day = min(1440, points // METRICS)

    async def ask(given: dict[str, Any]) -> Any:
        result: Any = await platform.services.call(caller, "Tsdb", "query", given)
        if not result.get("values"):
            raise BenchError(f"expected rows, got {str(result)[:200]}")
        return result

    async def least(span: tuple[int, int, int, int]) -> None:
        rows = platform.context.database.read_now(
            lambda connection: driver(connection).execute(NEWEST, span).fetchall()
        )
        if len([[time // SECOND, value] for time, value in rows]) < day:
            raise BenchError(f"expected {day} rows, got {len(rows)}")

    one = {"metrics": ["metric0"], "relative_start": "-1d", "epoch": "s"}
    return {
        "lab": repeat_call(ask, one),
        "baseline": repeat_call(least, (1, now - DAY, now, 2000)),
        "two": repeat_call(ask, {**one, "metrics": ["metric0", "metric1"]}),
        "text": repeat_call(ask, {"metrics": ["metric0"], "relative_start": "-1d"}),
        "script": repeat_call(partial(_run_script, platform, day), None),
        "hourly": repeat_call(
            ask, {**one, "relative_start": "-30d", "aggregate": "avg", "sampling_size": "1h"}
        ),
    }


async def _fill(platform: Platform, now: int, each: int) -> None:
    """Store points of all metrics, which have one, a point a minute until now, in the order of their times."""

    def rows(series: int, family: int, begin: int) -> Iterator[tuple[int, int, float, int]]:
        for number in range(begin, min(begin + BATCH, each)):
            yield series, now - (each - 1 - number) * MINUTE, 20 + number % 64 / 8, family

    def store(connection: Connection, series: int, begin: int) -> None:
        (family,) = driver(connection).execute(FAMILY, (series,)).fetchone()
        execute_many(connection, STORE, rows(series, family, begin))

    for series in range(1, METRICS + 1):
        for begin in range(0, each, BATCH):
            await platform.context.database.run(store, series, begin)


async def _run_script(platform: Platform, day: int, _: object) -> None:
    solution = platform.solutions.get("home")
    if solution.find("bench", "day") is None:
        solution.on("bench", "day", lua=SCRIPT)
    registration = solution.find("bench", "day")
    assert registration is not None
    outcome = await solution.handle(registration, ("bench", "day"), {})
    if outcome.result is None or int(str(outcome.result)) < day:
        raise BenchError(f"expected {day} rows, got {outcome.result!r} {outcome.error!r}")


VARIANTS: dict[str, Callable[[AsyncExitStack, int], Awaitable[dict[str, Variant]]]] = {"tsdb-query": query}
