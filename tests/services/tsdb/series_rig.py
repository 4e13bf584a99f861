"""Tsdb and Timeseries with two solutions that call them, without the rest of a lab."""

from __future__ import annotations

from typing import Any

from labkit.services.calls import Services
from labkit.services.operation import Caller
from labkit.services.timeseries.service import Timeseries
from labkit.services.tsdb.service import Tsdb
from labkit.storage.database import Database
from tests.context import Entry, make_context, open_database

START = 1_767_225_600  # seconds; the time of a seeded lab


class SeriesRig:
    """Both services, over one store in memory."""

    def __init__(self) -> None:
        self.context = make_context(Entry("acme"), Entry("other"))
        open_database(self.context)
        self.tsdb, self.timeseries = Tsdb(self.context), Timeseries(self.context)
        self.services = Services(self.context, [self.tsdb, self.timeseries])

    @property
    def database(self) -> Database:
        return self.context.database

    async def call(self, called: str, solution: str = "acme", **parameters: Any) -> Any:
        service, _, operation = called.partition(".")
        return await self.services.call(Caller(solution), service, operation, parameters)

    async def write(self, seconds: int, solution: str = "acme", /, *, sn: str = "a", **metrics: Any) -> None:
        """Write values at a time that many seconds after the start."""
        written = await self.call(
            "Tsdb.write", solution, metrics=metrics, tags={"sn": sn}, ts=f"{START + seconds}s"
        )
        assert written == {}

    async def values(self, *metrics: str, **arguments: Any) -> Any:
        """Return the values of a query, with times as seconds after the start."""
        given = {"start_time": "0s", "end_time": "9999999999s", "epoch": "s", **arguments}
        found = await self.call("Tsdb.query", metrics=list(metrics), **given)
        values = found["values"]
        if isinstance(values, dict):
            return {name: shifted(rows) for name, rows in values.items()}
        return shifted(values)

    def points(self) -> int:
        """Return the number of stored points, also of deleted series."""
        return self.database.read_now(lambda connection: count(connection, "series_point"))


def shifted(rows: list[list[Any]]) -> list[tuple[Any, ...]]:
    return [(time - START, *values) for time, *values in rows]


def count(connection: Any, table: str) -> int:
    found = connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()
    assert isinstance(found, int)
    return found
