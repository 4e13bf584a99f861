"""Config: information about a solution, and the configuration of its services."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, Secret
from sqlalchemy import Connection, Table

from labkit.context import Context
from labkit.core.errors import ServiceError, SettingsError
from labkit.labtime.events import EventKind
from labkit.services.arguments import expect_plain
from labkit.services.bounds import fits, shown_name
from labkit.services.lookup import services_of
from labkit.services.operation import Caller, KeepsParameters, Service, WithoutEffect, operation
from labkit.services.parameters import ScriptParameters
from labkit.storage.database import execute, execute_many
from labkit.storage.schema import metadata, numbers, texts

CHANGED = EventKind("config", "service", ("service",))
LARGEST_RATE = 1_000_000
MOST_SIZE = 65_536  # characters and items of the parameters of a service
UNLIMITED = 10**9  # calls of a service in a day or a month

calls_table = Table(
    "service_calls",
    metadata,
    *texts("solution", "service"),
    *numbers("day", "count"),  # days of UTC since 1970
)
FIRST = date(1970, 1, 1).toordinal()
Count = tuple[str, str, int, int]  # of calls_table


class ConfigFile(BaseModel):
    """Parameters of the service, services/config.yaml (published references, services/config).

    rate_limit: requests in a second that the solution answers; more get 429.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    rate_limit: Annotated[int, Field(strict=True, ge=1, le=LARGEST_RATE)] | None = None
    auto_update: WithoutEffect = None
    reuse_vm: WithoutEffect = None


class Config(Service):
    """Service that describes a solution and stores the configuration of its services.

    Not offered: `updateEnv`; the event `status` is not raised.
    """

    name: ClassVar[str] = "Config"
    events: ClassVar[tuple[EventKind, ...]] = (CHANGED,)
    configuration_model: ClassVar[type[BaseModel]] = ConfigFile

    def __init__(self, context: Context) -> None:
        self._context = context
        self._script_parameters = ScriptParameters(context.database)

    async def start(self) -> None:
        await self._script_parameters.load()
        if self._context.database.durable:
            self._load(await self._context.database.read(_read_calls))

    async def stop(self) -> None:
        database = self._context.database
        if database.durable and database.is_open:  # it is closed after a restart that failed
            await database.run(_write_calls, self.snapshot())

    state_type = list[Count] | None  # None in a snapshot of an earlier version

    def snapshot(self) -> list[Count]:
        return [(*key, count) for key, count in self._context.calls.items()]

    async def restore(self, state: list[Count] | None) -> None:
        await self._script_parameters.load()
        self._load(state or [])

    async def recover(self) -> None:
        if self._context.database.durable:
            await self.start()

    async def clear(self) -> None:
        self._script_parameters.clear()
        self._load([])

    async def forget(self, solution: str) -> None:
        self._load([each for each in self.snapshot() if each[0] != solution])

    def _load(self, counts: list[Count]) -> None:
        self._context.calls.clear()
        self._context.calls.update(
            {(solution, service, day): count for solution, service, day, count in counts}
        )

    def script_parameters(self, solution: str) -> Mapping[str, Mapping[str, Any]]:
        return self._script_parameters.of_solution(solution)

    async def forget_script_parameters(self, solution: str, service: str = "") -> None:
        await self._script_parameters.forget(solution, service)

    @operation
    async def solution(self, caller: Caller) -> dict[str, object]:
        """Return the calling solution: id, name, domain (with the port, if not 443), products (ids), business_id."""
        solution = self._context.solutions.get(caller.solution)
        return {
            "id": solution.id,
            "name": solution.id,
            "domain": self._context.url(solution.domain).removeprefix("https://"),
            "products": list(solution.products),
            "business_id": solution.business,
        }

    @operation
    async def getParameters(
        self, caller: Caller, service: str, includeSchema: bool = False
    ) -> dict[str, object]:
        """Return the configured parameters of a service: `{parameters}`. 404 if there is no such service.

        includeSchema: add `schema`, a JSON schema that names those with an effect in `properties`.
        """
        known = self._known(caller, service)
        schema = {"schema": _schema(known)} if includeSchema else {}
        if isinstance(known, KeepsParameters):
            return {"parameters": known.parameters(caller.solution), **schema}
        found = self._context.configuration.get(caller.solution, {}).get(known.name, {})
        return {"parameters": dict(found), **schema}

    @operation
    async def setParameters(
        self, caller: Caller, service: str, parameters: Secret[dict[str, Any]]
    ) -> dict[str, object]:
        """Set parameters of a service and keep the others. Returns all: `{parameters}`.

        Raises the event `config service` if one of them changes.
        The parameters override the settings until the solution is reloaded or replaced, or the lab is reset; with a
        data file they survive a restart. 404 if there is no such service; 400 if the service refuses them, or they
        have more than 65536 characters and items together.
        """
        known = self._known(caller, service)
        given = parameters.get_secret_value()
        if isinstance(known, KeepsParameters):
            before = dict(known.parameters(caller.solution))
            kept = await known.set_parameters(caller, given)
            self._emit(caller, known.script_key, before, kept)
            return {"parameters": kept}
        name = known.name
        configured = self._context.configuration.setdefault(caller.solution, {})
        before = dict(configured.get(name, {}))
        changed = {**configured.get(name, {}), **given}
        if not fits(changed, MOST_SIZE):
            raise ServiceError(
                400, f"The parameters of a service may hold {MOST_SIZE} characters and items in all."
            )
        try:
            expect_plain(given, MOST_SIZE)
            solution = self._context.solutions.get(caller.solution)
            known.check(solution, {**configured, name: changed})
        except (SettingsError, ValueError) as error:
            raise ServiceError(400, str(error)) from None
        await self._script_parameters.add(caller.solution, name, given)
        self._context.configuration.setdefault(caller.solution, {}).setdefault(name, {}).update(given)
        known.configured(caller.solution)
        await known.set_up(caller.solution)
        self._emit(caller, name.lower(), before, changed)
        return {"parameters": changed}

    def _emit(
        self, caller: Caller, service: str, before: Mapping[str, object], after: Mapping[str, object]
    ) -> None:
        """Raise `config service` if parameters changed: a handler that sets them again ends a chain of events."""
        if before != after:
            payload = {"service": service, "action": "updated", "solution_id": caller.solution}
            self._context.events.emit(
                f"{caller.solution}/config",
                [(CHANGED, payload.copy, None)],
                cause=caller.cause,
                solution=caller.solution,
            )

    @operation
    async def listServices(self, caller: Caller, type: str | None = None) -> list[dict[str, object]]:
        """List the services that scripts can call, and the solution's products: id, type, service, script_key.

        type: list only `core` services, those of other solutions (`application`, or the older word `interface`), or
        products (`product`).
        """
        products = self._context.solutions.get(caller.solution).products
        chosen = "application" if type == "interface" else type
        kinds = [
            ("application", service.name, service.script_key)
            if isinstance(service, KeepsParameters)
            else ("core", name, name.lower())
            for name, service in services_of(self._context.services, caller.solution)
        ] + [("product", each, each.lower()) for each in products]
        return [
            {"id": f"{caller.solution}.{name}", "type": kind, "service": name, "script_key": key}
            for kind, name, key in kinds
            if chosen in (None, kind)
        ]

    @operation
    async def listService(self, caller: Caller, type: str | None = None) -> list[dict[str, object]]:
        """List services and products, as listServices (older name)."""
        return await self.listServices(caller, type)

    @operation
    async def usage(self, caller: Caller) -> dict[str, dict[str, object]]:
        """Return by service the number of its calls: `{service, quota, usage}`.

        usage: daily_calls, monthly_calls, total_calls, of the present day and month of UTC and of all time. With a data
        file they outlive a restart; a power cut loses those since the last one. quota: daily_calls, monthly_calls,
        numbers that nothing enforces.
        """
        today = int(self._context.clock.now() // 86_400)
        calls: dict[str, dict[int, int]] = {}
        for solution, service, day, count in self.snapshot():
            if solution == caller.solution:
                calls.setdefault(service, {})[day] = count
        return {
            name: {
                "service": name,
                "quota": {"daily_calls": UNLIMITED, "monthly_calls": UNLIMITED},
                "usage": call_usage(calls.get(name, {}), today),
            }
            for name, _ in services_of(self._context.services, caller.solution)
        }

    def _known(self, caller: Caller, service: str) -> Service:
        """Return the service of this name in any letter case: scripts also use lower case."""
        for name, found in services_of(self._context.services, caller.solution):
            if name.lower() == service.lower():
                return found
        raise ServiceError(404, f"Service {shown_name(service)} Not Found")


def _schema(service: Service) -> dict[str, object]:
    """Return a JSON schema of the parameters of a service: the arguments whose defaults they are."""
    declared = service.operations.values() if service.gives_defaults else ()
    names = sorted({name for each in declared for name in each.attributes})
    return {"type": "object", "properties": {name: {} for name in names}}


def call_usage(calls: Mapping[int, int], today: int) -> dict[str, int]:
    """Return the usage of a service. calls: their number by day; today: in days since 1970, too."""
    first = today - date.fromordinal(FIRST + today).day + 1  # of the month
    return {
        "daily_calls": calls.get(today, 0),
        "monthly_calls": sum(count for day, count in calls.items() if first <= day <= today),
        "total_calls": sum(calls.values()),
    }


def _read_calls(connection: Connection) -> list[Any]:
    return execute(connection, "SELECT * FROM service_calls").fetchall()


def _write_calls(connection: Connection, counts: list[Count]) -> None:
    execute(connection, "DELETE FROM service_calls")
    execute_many(connection, "INSERT INTO service_calls VALUES (?, ?, ?, ?)", counts)
