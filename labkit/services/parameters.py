"""What scripts set of the parameters of their services, kept in the lab's database.

It lies over what folders, settings and cells say, until one of these says something new: the solution is replaced or
reloaded, a cell configures the service, or the lab is reset.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Column, Connection, String, Table, Text

from labkit.core.database import Database, execute
from labkit.core.tables import metadata

parameter_table = Table(
    "parameter",
    metadata,
    Column("solution", String, primary_key=True),
    Column("service", String, primary_key=True),
    Column("parameters", Text, nullable=False, info={"secret": True}),
)

SELECT = "SELECT parameters FROM parameter WHERE solution = ? AND service = ?"
KEEP = "INSERT OR REPLACE INTO parameter (solution, service, parameters) VALUES (?, ?, ?)"
FORGET = "DELETE FROM parameter WHERE solution = ? AND ? IN (service, '')"


class SetParameters:
    """Of all solutions of a lab."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._all: dict[str, dict[str, dict[str, Any]]] = {}

    async def load(self) -> None:
        """Know those that the database has."""
        self.clear()
        for solution, service, parameters in await self._database.read(_read):
            self._all.setdefault(solution, {})[service] = json.loads(parameters)

    def clear(self) -> None:
        self._all.clear()

    def of(self, solution: str) -> Mapping[str, Mapping[str, Any]]:
        """Parameters by service."""
        return self._all.get(solution, {})

    async def add(self, solution: str, service: str, parameters: Mapping[str, Any]) -> None:
        """Keep some, beside those that were set before."""
        kept = await self._database.run(_add, solution, service, parameters)
        self._all.setdefault(solution, {})[service] = kept

    async def forget(self, solution: str, service: str = "") -> None:
        """Forget those of a service, or all of a solution."""
        if solution not in self._all:
            return
        await self._database.run(lambda connection: execute(connection, FORGET, (solution, service)))
        if service:
            self._all[solution].pop(service, None)
        else:
            del self._all[solution]


def _read(connection: Connection) -> list[tuple[str, str, str]]:
    return list(execute(connection, "SELECT solution, service, parameters FROM parameter"))


def _add(connection: Connection, solution: str, service: str, given: Mapping[str, Any]) -> dict[str, Any]:
    row = execute(connection, SELECT, (solution, service)).fetchone()
    kept = {**(json.loads(row[0]) if row else {}), **given}
    execute(connection, KEEP, (solution, service, json.dumps(kept)))
    return kept
