"""The lab's database, to look at."""

from __future__ import annotations

from labkit.control.data import Table
from labkit.platform import Platform


class DatabaseControl:
    """What the platform keeps."""

    def __init__(self, platform: Platform) -> None:
        self._database = platform.context.database

    async def sql(self, query: str) -> Table:
        """The rows of a SELECT; keys and secrets count as NULL in it.

        Raises LabError for what would change the data, is no SQL, takes longer than `guard.sql` seconds, or gives
        more than `guard.sql_size` bytes. One that takes longer than 10 ms reads a copy, and blocks no device.
        """
        columns, rows, hidden = await self._database.select(query)
        return Table.model_construct(columns=columns, rows=rows, hidden=hidden)
