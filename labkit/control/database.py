"""Read-only queries of the lab's database."""

from __future__ import annotations

from labkit.control.bounds import Script, ends_after
from labkit.control.data import Table
from labkit.platform import Platform


class DatabaseControl:
    """Queries of the platform's stored data."""

    def __init__(self, platform: Platform) -> None:
        self._database = platform.context.database

    @ends_after(10)
    async def sql(self, query: Script) -> Table:
        """Return the result of a SELECT. Keys and secrets read as NULL.

        Raises LabError for invalid SQL, for a statement that would change data, and for one that takes longer than
        `guard.sql` seconds or returns more than `guard.sql_size` bytes. A query that takes longer than 10 ms continues
        on a copy of the data, and so blocks no device.
        """
        columns, rows, hidden = await self._database.select(query)
        return Table.model_construct(columns=columns, rows=rows, hidden=hidden)
