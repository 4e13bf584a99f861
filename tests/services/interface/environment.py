"""Environment of the Interface service's tests: solutions that publish and subscribe, without a listener."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from labkit.context import Context
from labkit.labtime.clock import Clock
from labkit.services.calls import Services
from labkit.services.config import Config
from labkit.services.interface.service import Interface
from labkit.services.keystore import Keystore
from labkit.services.operation import Caller
from labkit.services.scripts import ScriptsService
from labkit.settings import SolutionSettings
from labkit.solutions.solution import PlatformSolution
from labkit.solutions.solutions import Solutions
from labkit.storage.schema import metadata
from tests.context import make_context

START = 1_767_225_600.0  # 2026-01-01T00:00:00Z


class Environment:
    """The services and solutions of a test, and what they recorded."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.interface = Interface(context)
        others = [Keystore(context), Config(context), ScriptsService(context)]
        self.services = Services(context, [*others, self.interface])
        self.solutions = Solutions(context, self.services, str, str)

    @property
    def clock(self) -> Clock:
        return self.context.clock

    async def add(
        self, id: str, interface: Mapping[str, Any] | None = None, **settings: Any
    ) -> PlatformSolution:
        return await self.solutions.add(solution(id, interface, **settings))

    async def replace(
        self, id: str, interface: Mapping[str, Any] | None = None, **settings: Any
    ) -> PlatformSolution:
        return await self.solutions.replace(solution(id, interface, **settings))

    async def call(self, solution: str, operation: str, **arguments: Any) -> Any:
        """Call `Service.operation`, as a script of the solution does, counted as pending work."""
        service, _, name = operation.partition(".")
        with self.context.activity:
            return await self.services.call(Caller(solution), service, name, arguments)

    async def settle(self) -> None:
        await self.context.activity.idle()

    async def reset(self) -> None:
        """Reset all parts, as a platform does."""
        await self.settle()
        await self.solutions.clear()
        await self.services.clear()
        await self.context.database.run(_empty)
        self.context.identifiers.clear()
        self.context.clock.reset()
        self.context.journal.clear()
        await self.services.refill()
        await self.solutions.refill()

    def events(self) -> list[str]:
        """Return the emitted events as `event to solution`."""
        return [
            f"{each.summary} to {(each.detail or {}).get('to')}"
            for each in self.context.journal.select(kind="event")
        ]


def _empty(connection: Connection) -> None:
    for table in reversed(metadata.sorted_tables):
        connection.execute(table.delete())


def solution(id: str, interface: Mapping[str, Any] | None = None, **settings: Any) -> SolutionSettings:
    services = {**settings.pop("services", {})}
    if interface is not None:
        services["Interface"] = dict(interface)
    return SolutionSettings.model_validate({"id": id, "services": services, **settings})


@asynccontextmanager
async def environment(
    *solutions: SolutionSettings, data: Path | None = None, **guard: Any
) -> AsyncIterator[Environment]:
    """Provide started services and solutions."""
    context = make_context(clock=Clock(0, START), guard=guard, data=data)
    context.database.start(metadata)
    context.identifiers.start = context.database.starts
    made = Environment(context)
    await made.services.start()
    try:
        await made.solutions.add_all(solutions)
        yield made
        await made.settle()
    finally:
        await made.context.events.stop()
        await made.solutions.stop()
        await made.services.stop()
        context.database.close()


def storing_handler(into: list[Any]) -> Any:
    """Return a handler that stores its events."""

    def handler(event: Any) -> None:
        into.append(event)

    return handler
