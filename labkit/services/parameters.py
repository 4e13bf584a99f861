"""Service parameters that scripts set, stored in the lab's database.

They override the parameters of folders, settings and cells until the solution is replaced or reloaded, a cell
configures the service, or the lab is reset.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Column, Connection, Table, Text

from labkit.storage.database import Database, execute
from labkit.storage.schema import metadata, texts

parameter_table = Table(
    "parameter",
    metadata,
    *texts("solution", "service", key=True),
    Column("parameters", Text, nullable=False, info={"secret": True}),
)

SELECT = "SELECT parameters FROM parameter WHERE solution = ? AND service = ?"
STORE = "INSERT OR REPLACE INTO parameter (solution, service, parameters) VALUES (?, ?, ?)"
DELETE = "DELETE FROM parameter WHERE solution = ? AND ? IN (service, '')"


class ScriptParameters:
    """Store of the service parameters that scripts set, by solution and service."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._all: dict[str, dict[str, dict[str, Any]]] = {}

    async def load(self) -> None:
        """Replace the parameters in memory with those in the database."""
        self.clear()
        for solution, service, parameters in await self._database.read(_read):
            self._all.setdefault(solution, {})[service] = json.loads(parameters)

    def clear(self) -> None:
        self._all.clear()

    def of_solution(self, solution: str) -> Mapping[str, Mapping[str, Any]]:
        """Return a solution's parameters by service."""
        return self._all.get(solution, {})

    async def add(self, solution: str, service: str, parameters: Mapping[str, Any]) -> None:
        """Merge parameters into those stored for a service."""
        kept = await self._database.run(_add, solution, service, parameters)
        self._all.setdefault(solution, {})[service] = kept

    async def forget(self, solution: str, service: str = "") -> None:
        """Delete the parameters of a service, or of all services of a solution."""
        if solution not in self._all:
            return
        await self._database.run(lambda connection: execute(connection, DELETE, (solution, service)))
        if service:
            self._all[solution].pop(service, None)
        else:
            del self._all[solution]


def _read(connection: Connection) -> list[tuple[str, str, str]]:
    return list(execute(connection, "SELECT solution, service, parameters FROM parameter"))


def _add(connection: Connection, solution: str, service: str, given: Mapping[str, Any]) -> dict[str, Any]:
    row = execute(connection, SELECT, (solution, service)).fetchone()
    kept = {**(json.loads(row[0]) if row else {}), **given}
    execute(connection, STORE, (solution, service, json.dumps(kept)))
    return kept
