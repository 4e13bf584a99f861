"""A LuaHost on a workbench: its logs and service calls are recorded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from labkit.core.coroutines import result_of
from labkit.services.operation import WAITS, Parameters
from labkit.solutions.lua import LuaHost, LuaResult

START = 1_700_000_000.25

Service = Callable[[str, str, Any, Any], Awaitable[Any]]


class Bench:
    """host: the tested one; time: its lab seconds.

    immediate: whether `service` never waits; by default the one that answers with its parameter `value` alone.
    calls: (service, operation, parameters, context) of each; logs: (level, text, context) of each.
    """

    def __init__(
        self,
        *,
        service: Service | None = None,
        immediate: bool | None = None,
        random_seed: int | None = 7,
        **settings: Any,
    ) -> None:
        self.is_immediate = service is None if immediate is None else immediate
        self.calls: list[tuple[str, str, Any, Any]] = []
        self.logs: list[tuple[str, str, Any]] = []
        self.time = START
        self._service = service
        self.host = LuaHost(
            services=self,
            write_log=lambda level, text, context: self.logs.append((level, text, context)),
            now=lambda: self.time,
            random_seed=random_seed,
            **settings,
        )

    def call_at_once(self, context: Any, service: str, operation: str, written: Parameters) -> object:
        return result_of(self.call(context, service, operation, written)) if self.is_immediate else WAITS

    async def call(self, context: Any, service: str, operation: str, written: Parameters) -> Any:
        parameters: Any = written.read()
        self.calls.append((service, operation, parameters, context))
        if self._service is not None:
            return await self._service(service, operation, parameters, context)
        return {"value": parameters["value"]} if "value" in parameters else {}

    async def result(self, source: str, **arguments: Any) -> LuaResult:
        """Return the result of a script with keyword arguments."""
        function = self.host.load("script", source, list(arguments), file="script.lua")
        return await self.host.run(function, *arguments.values(), context="context")

    async def value(self, source: str, **arguments: Any) -> Any:
        """Return the value that a script returns."""
        return (await self.result(source, **arguments)).value
