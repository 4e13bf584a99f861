"""Event and route handlers made of Python functions, sync or async."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from labkit.core.errors import LabError
from labkit.core.slow import SlowCalls
from labkit.labtime.branches import Branches
from labkit.labtime.turns import Turns
from labkit.services.calls import Services
from labkit.solutions import proxy
from labkit.solutions.handlers import HandlerRun, Log
from labkit.solutions.web.websocket_info import WebsocketInfo
from labkit.solutions.workers import Workers

VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
UNAWAITED = "{0} is called without await, so that it does nothing: expected await services.{0}(…)"
UNRUN = "it returns the coroutine {}, which nothing runs: expected an async function"
HELPERS = ("services", "context", "log", "now")


class Logger:
    """The `log` argument of Python handlers: `log.info("…")` and the other levels write to the journal."""

    def __init__(self, write: Log) -> None:
        self._write = write

    def debug(self, text: object) -> None:
        """Write a record of level debug to the journal."""
        self._write("debug", str(text))

    def info(self, text: object) -> None:
        """Write a record of level info to the journal."""
        self._write("info", str(text))

    def notice(self, text: object) -> None:
        """Write a record of level notice to the journal."""
        self._write("notice", str(text))

    def warning(self, text: object) -> None:
        """Write a record of level warning to the journal."""
        self._write("warning", str(text))

    def error(self, text: object) -> None:
        """Write a record of level error to the journal."""
        self._write("error", str(text))


class FunctionHandler:
    """Handler that calls a Python function with the arguments that its parameters name.

    names: the names of arguments that this kind of handler offers (`request`, `response`; `data` …); any_name: one
    parameter of any other name gets the first of them. Every function may also have the parameters services (to be
    awaited in an async function; blocking in a sync function, which runs in a thread), context, log, and now (a
    function that returns lab time in seconds). Raises LabError for a function with any other required parameter. A run
    fails if a service call is not awaited, or if a sync function returns a coroutine: neither would do anything.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        names: tuple[str, ...],
        *,
        any_name: bool = False,
        services: Services,
        workers: Workers,
        turns: Turns,
        slow: SlowCalls,
        now: Callable[[], float],
        log: Callable[[HandlerRun, str, str], None],
    ) -> None:
        self.function = function
        self._name = getattr(function, "__name__", type(function).__name__)
        self._parameters, other = _parameters(function, (*names, *HELPERS), any_name)
        self._renamed = {} if other is None else {other: names[0]}
        self._async = any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))
        self._services = services
        self._workers = workers
        self._turns = turns
        self._slow = slow
        self._now = now
        self._log = log

    async def __call__(self, arguments: Mapping[str, Any], run: HandlerRun) -> object:
        loop = asyncio.get_running_loop()
        if self._async:
            with Branches(self._turns) as branches:
                function = self._bound(arguments, run, branches.call, partial(self._log, run))
                # A task has its own context, so that context variables set by one run are not visible to the next.
                result = await loop.create_task(self._slow.run(self._slow.name, function))
                if calls := await branches.unawaited():
                    *_, service, operation, _ = calls[0].args
                    raise self._mistake(run, UNAWAITED.format(f"{service}.{operation}"))
                return result

        def log(level: str, text: str) -> None:
            loop.call_soon_threadsafe(self._log, run, level, text)

        make = partial(self._workers.wait_for, loop=loop)
        result = await self._workers.run(self._bound(arguments, run, make, log))
        if inspect.iscoroutine(result):
            result.close()
            raise self._mistake(run, UNRUN.format(result.__qualname__))
        return result

    def _mistake(self, run: HandlerRun, text: str) -> LabError:
        """Report a mistake in the function, and return it as an error."""
        self._services.report(run, self._name, text)
        return LabError(f"{self._name}: {text}")

    def _bound(
        self,
        arguments: Mapping[str, Any],
        run: HandlerRun,
        make: Callable[[Callable[[], Any]], Any],
        log: Log,
    ) -> Callable[[], Any]:
        """Return the function bound to its arguments. make: runs the coroutine of a service call."""

        def call(service: str, operation: str, parameters: object) -> Any:
            return make(partial(self._services.call, run, service, operation, parameters))

        offered = {
            **arguments,
            "services": proxy.ServicesProxy(partial(self._services.operations, run), call),
            "context": run.context,
            "log": Logger(log),
            "now": self._now,
        }
        given = {name: _bound_to(call, offered[self._renamed.get(name, name)]) for name in self._parameters}
        return partial(self.function, **given)

    def close(self) -> None:
        pass


def _bound_to(call: Callable[[str, str, object], Any], argument: Any) -> Any:
    """Return an argument, with functions that make their service calls by `call` if it has any."""
    return argument.bound_to(call) if isinstance(argument, WebsocketInfo) else argument


def _parameters(
    function: Callable[..., Any], offered: tuple[str, ...], any_name: bool
) -> tuple[list[str], str | None]:
    """Return the names of a function's parameters, and the one among them that is not an offered name, or None."""
    names: list[str] = []
    other = None
    for parameter in inspect.signature(function).parameters.values():
        by_name = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if parameter.name in offered and by_name:
            names.append(parameter.name)
        elif parameter.default is parameter.empty and by_name and any_name and other is None:
            other = parameter.name
            names.append(other)
        elif parameter.default is parameter.empty and parameter.kind not in VARIABLE:
            name = getattr(function, "__name__", "the function")
            raise LabError(f"{name}: cannot give {parameter.name!r}; it may ask for: {', '.join(offered)}")
    return names, other
