"""One solution: its routes and event handlers, and how they run."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any, TypeVar, overload

from aiohttp import web

from labkit.context import Context
from labkit.core.errors import SettingsError
from labkit.core.events import Outcome as Outcome
from labkit.core.time_limits import TimeLimit
from labkit.services.calls import Services
from labkit.settings import SolutionSettings, SubscriptionSettings
from labkit.solutions import events
from labkit.solutions.folder import Asset, SolutionFolder
from labkit.solutions.functions import FunctionHandler
from labkit.solutions.handlers import Handler, Run, ScriptTimeError, explain, status_of, trace
from labkit.solutions.origins import CELL, Origin, check_place
from labkit.solutions.registrations import Names, Registration, Registrations
from labkit.solutions.request import Request
from labkit.solutions.response import Response, reply
from labkit.solutions.routes import Route, Routes
from labkit.solutions.scripted import Scripts
from labkit.solutions.scripts import JSON, Script
from labkit.solutions.workers import Workers

F = TypeVar("F", bound=Callable[..., object])

ROUTE_NAMES = ("request", "response")


class Solution:
    """A solution of a lab, with the routes and handlers of its folder.

    products: ids of those whose events it handles; environment: what scripts get by os.getenv; configured: what
    cells configured for its services, beside folder and settings. Raises SettingsError naming file and line of a
    script that does not compile.
    """

    def __init__(
        self,
        settings: SolutionSettings,
        context: Context,
        services: Services,
        workers: Workers,
        folder: SolutionFolder,
    ) -> None:
        self.id = settings.id
        self.domain = settings.domain or f"{settings.id}.apps.{context.settings.domain}"
        self.products = list(settings.products)
        self.aliases = dict(settings.aliases)
        self.business = settings.business
        self.subscriptions: Sequence[SubscriptionSettings] = settings.subscriptions
        self.environment = dict(settings.environment)
        self.configured: dict[str, dict[str, Any]] = {}
        self.settings = settings
        self.folder = folder
        self.routes = Routes()
        self.cors = folder.cors
        self.assets: Mapping[str, Asset] = folder.assets
        self.warnings: list[str] = []  # of its folder, and of what ran at the end of set-up
        self._context = context
        self._services = services
        self._workers = workers
        self._added: dict[tuple[str, ...], Callable[..., object]] = {}  # beside the folder
        self._replacing: set[tuple[str, ...]] = set()  # those of them that may replace what the folder has
        seeded = context.identifiers.seed is not None
        self._time = context.settings.guard.script_time
        self._scripts = Scripts(
            folder.modules,
            services=services,
            log=self._log,
            now=context.clock.now,
            environment=self.environment,
            seed=int(context.identifiers.hex(f"{self.id} random", 8), 16) if seeded else None,
            cpu=context.settings.guard.script_cpu,
            at_once=context.settings.guard.scripts,
            aside=context.turns.aside,
        )
        self._handlers = Registrations(self._scripts.event)
        for endpoint in folder.endpoints:
            handler = self._scripts.endpoint(endpoint.script, endpoint.method)
            self.routes.add(
                Route(
                    endpoint.method,
                    endpoint.path,
                    handler,
                    endpoint.content_type,
                    endpoint.script.where,
                    endpoint.tags,
                    Origin(script=endpoint.script, place=endpoint.script.where),
                )
            )
        for each in folder.events:
            self._handle_with(each.service, each.event, each.script, each.script.where)

    # ---- registering

    @overload
    def route(
        self, method: str, path: str, *, content_type: str = JSON, replace: bool = False
    ) -> Callable[[F], F]: ...
    @overload
    def route(
        self, method: str, path: str, function: F, *, content_type: str = JSON, replace: bool = False
    ) -> F: ...
    @overload
    def route(
        self,
        method: str,
        path: str,
        function: None = None,
        *,
        lua: str,
        content_type: str = JSON,
        replace: bool = False,
    ) -> None: ...
    def route(
        self,
        method: str,
        path: str,
        function: Callable[..., object] | None = None,
        *,
        lua: str | None = None,
        content_type: str = JSON,
        replace: bool = False,
    ) -> Any:
        """Answer `method path` with Lua or with a function; with neither, decorate a function.

        The function, sync or async, gets by name what it asks for of: request, response, services, context,
        log, now. A route of the same method and path gives way to the same text, to a function of the same name, and
        with `replace` to any. content_type: of the bodies it takes. Raises SettingsError for a wrong method, path or
        script, and where another handler is there; LabError for a function that asks for more.
        """
        if function is None and lua is None:
            return lambda given: self.route(method, path, given, content_type=content_type, replace=replace)
        method = method.upper()
        handler: Handler
        if function is not None:
            handler = self._function(function, ROUTE_NAMES)
            origin = Origin(function=function)
        else:
            script = Script(f"{method} {path}", 1, lua or "")
            handler = self._scripts.endpoint(script, method)
            origin = Origin(script=script)
        route = Route(method, path, handler, content_type, origin=origin)
        there = self.routes.at(route)
        try:
            check_place(f"{method} {path}", None if there is None else there.origin, origin, replace)
        except SettingsError:
            handler.close()
            raise
        replaced = self.routes.replace(route)
        if replaced is not None:
            replaced.handler.close()
        add: Callable[..., object] = Solution.route
        given = {
            "method": method,
            "path": path,
            "function": function,
            "lua": lua,
            "content_type": content_type,
        }
        self._add((method, path), partial(add, **given), replace)
        return function

    @overload
    def on(self, service: str, event: str, *, replace: bool = False) -> Callable[[F], F]: ...
    @overload
    def on(self, service: str, event: str, function: F, *, replace: bool = False) -> F: ...
    @overload
    def on(
        self, service: str, event: str, function: None = None, *, lua: str, replace: bool = False
    ) -> None: ...
    def on(
        self,
        service: str,
        event: str,
        function: Callable[..., object] | None = None,
        *,
        lua: str | None = None,
        replace: bool = False,
    ) -> Any:
        """Handle an event with Lua or with a function; with neither, decorate a function.

        A script gets the event under its fixed name (events.py) and context, a function under that name or
        `event`, and services, context, log, now. Where others name the event's argument (an operation of the
        solution's interface, an event of one that it subscribes to), a function may give it any name. A handler of
        the same service and event gives way to the same text, to a function of the same name, and with `replace` to
        any. While a fleet is simulated, one handler works at a time, and one call of it (core/turns.py).
        Raises SettingsError for a wrong script, and where another handler is there.
        """
        if function is None and lua is None:
            return lambda given: self.on(service, event, given, replace=replace)
        if function is not None:
            names = events.arguments(self._context.events, service, event)
            offered = tuple(dict.fromkeys((*names, "event")))
            handler = self._function(function, offered, any_name=self._names_vary(service, event))
            self._handlers.keep(service, event, handler, names, Origin(function=function), replace)
        else:
            self._handle_with(service, event, Script(f"{service}_{event}", 1, lua or ""), replace=replace)
        add: Callable[..., object] = Solution.on
        given = {"service": service, "event": event, "function": function, "lua": lua}
        self._add(events.key(service, event), partial(add, **given), replace)
        return function

    def adopt(self, other: Solution) -> None:
        """Add the routes, handlers and configuration that another one has beside its folder.

        Raises SettingsError where the folder has another handler at the place of one that was to replace none.
        """
        for key, add in other._added.items():
            add(self, replace=key in other._replacing)
        self.configured = other.configured

    def install(self, service: str, scripts: Mapping[str, str], names: Mapping[str, Names]) -> None:
        """Have these scripts handle events of a service that have no handler here, and no others.

        scripts, names (of the handler's argument): by event. Raises SettingsError, and changes nothing, where one
        does not compile.
        """
        named = {event: Script(f"{service} {event}", 1, source) for event, source in scripts.items()}
        self._handlers.install(service, named, names)

    def check_script(self, name: str, source: str) -> None:
        """Raises SettingsError, beginning with the name, for a script that does not compile."""
        self._scripts.plain(Script(name, 1, source)).close()

    # ---- running

    def prepare(self) -> list[tuple[str, Handler]]:
        """What `initialise` is to run: the modules, then the scripts. Raises SettingsError if they do not compile."""
        modules = self._scripts.modules()
        scripts = [(script.file, self._scripts.plain(script)) for script in self.folder.init_scripts]
        return [*([("modules", modules)] if modules else []), *scripts]

    async def initialise(self, prepared: Iterable[tuple[str, Handler]]) -> None:
        """Run what was prepared; of what fails there is a warning."""
        for name, handler in prepared:
            await self._initialise(name, handler)
            handler.close()

    async def _initialise(self, what: str, handler: Handler) -> None:
        outcome = await self._guarded(what, handler, {}, self.context("solution", "init"), None)
        if outcome.error is not None:
            self.warn(f"{what} failed at set-up: {outcome.error}")

    def warn(self, text: str) -> None:
        """Keep what its author ought to know, here and in the journal."""
        self.warnings.append(text)
        self._context.journal.record("warning", self.id, text)

    def clear(self) -> None:
        """Forget what its scripts keep, for a reset; routes and handlers stay."""
        self.warnings.clear()
        self._scripts.clear()

    def suspend(self) -> None:
        """Hold nothing that belongs to this thread; what its scripts keep stays."""
        self._scripts.suspend()

    def crash(self) -> None:
        """Lose the globals of its scripts."""
        self._scripts.crash()

    def close(self) -> None:
        """Free the Lua of it."""
        self._scripts.close()

    async def answer(self, route: Route, request: Request, cause: int | None) -> web.Response:
        """Run a route; gives the request its id.

        Raises what the handler raises, and ReplyError for an outcome that cannot be sent.
        """
        response = Response()
        context = self.context("webservice", "request")
        request.request_id = str(context["tracking_id"])
        result = await self.run(
            f"{route.method} {route.path}",
            route.handler,
            {"request": request, "response": response},
            context,
            cause,
        )
        return reply(result, response)

    def find(self, service: str, event: str, product: str | None = None) -> Registration | None:
        """What handles an event (of a device of `product`): its own handler, or the one for events without any."""
        return self._handlers.find(service, event, product)

    async def handle(
        self,
        registration: Registration,
        raised: events.Key,
        argument: Any,
        *,
        cause: int | None = None,
        names: Names | None = None,
        caller: str | None = None,
    ) -> Outcome:
        """Run the handler of an event. Never raises for what a handler does.

        raised: service and event as they were raised; context names them where they have no handler of their own.
        names: those that its argument has beside the event's fixed ones; caller: the solution whose
        call it is.
        """
        key = registration.key
        context = self.context(*(raised if key == events.FALLBACK else key))
        if caller is not None:
            context["caller_id"] = caller
        names = registration.names if names is None else tuple(dict.fromkeys((*names, *registration.names)))
        try:
            handler = self._handlers.bound(registration, names)
        except SettingsError as error:
            return Outcome(500, error=str(error))
        if isinstance(handler, FunctionHandler):
            argument = copy.deepcopy(argument)  # it belongs to the journal and to other solutions too
        named = dict.fromkeys((*names, "event"), argument)
        try:  # as `_guarded`, which is not awaited for what it costs with each event
            result = await self.run(f"{key[0]} {key[1]}", handler, named, context, cause)
        except Exception as error:  # noqa: BLE001
            return Outcome(status_of(error), error=explain(error))
        return Outcome(204 if result is None else 200, result)

    async def run(
        self,
        what: str,
        handler: Handler,
        arguments: Mapping[str, Any],
        context: Mapping[str, object],
        cause: int | None,
    ) -> object:
        """Run a handler, with a record in the journal. Raises what it raises."""
        record = self._context.journal.open("script", self.id, what, cause=cause)
        run = Run(self.id, record.sequence, context=context)
        detail: dict[str, object] = {}
        started = perf_counter()
        count = self._context.journal.begin_run(record, cause)
        limit = TimeLimit(self._time)
        try:
            try:
                async with limit:
                    result = await handler(arguments, run)
            except TimeoutError as error:
                if limit.over:
                    raise ScriptTimeError(self._time) from error
                raise
        except Exception as error:
            record.status = status_of(error)
            detail |= {"error": explain(error), "trace": trace(error)}
            raise
        else:
            record.status = 204 if result is None else 200
        finally:
            measured = {**run.measures, "duration": perf_counter() - started}
            if detail:
                record.detail = {**detail, **measured}
            else:
                record.measured(measured)
            self._context.journal.end(record)
            self._context.journal.end_run(record, count)
        return result

    def context(self, service: str, event: str) -> dict[str, object]:
        """What a handler sees as `context`."""
        return {
            "solution_id": self.id,
            "service": service,
            "event": event,
            "script_key": service,
            "tracking_id": self._context.identifiers.hex(f"{self.id} tracking", 32),
        }

    async def _guarded(
        self,
        what: str,
        handler: Handler,
        arguments: Mapping[str, Any],
        context: Mapping[str, object],
        cause: int | None,
    ) -> Outcome:
        try:
            result = await self.run(what, handler, arguments, context, cause)
        except Exception as error:  # noqa: BLE001  whatever a handler raises is its outcome
            return Outcome(status_of(error), error=explain(error))
        return Outcome(204 if result is None else 200, result)

    def _handle_with(
        self, service: str, event: str, script: Script, place: str = CELL, *, replace: bool = False
    ) -> None:
        names = events.arguments(self._context.events, service, event)
        self._handlers.keep(service, event, script, names, Origin(script=script, place=place), replace)

    def _add(self, key: tuple[str, ...], add: Callable[..., object], replace: bool) -> None:
        """Keep what was added beside the folder, for a reload. replace: in the place of whatever is there."""
        self._added[key] = add
        if replace:
            self._replacing.add(key)

    def _names_vary(self, service: str, event: str) -> bool:
        """Are the names of an event's argument not known before it is raised?"""
        kind = self._context.events.kind(service, event)
        return event != "datapoint" and (kind is None or kind.any_name)

    def _function(
        self, function: Callable[..., object], names: tuple[str, ...], *, any_name: bool = False
    ) -> FunctionHandler:
        return FunctionHandler(
            function,
            names,
            any_name=any_name,
            services=self._services,
            workers=self._workers,
            turns=self._context.turns,
            now=self._context.clock.now,
            log=self._log,
        )

    def _log(self, run: Run, level: str, text: str) -> None:
        self._context.journal.record("log", self.id, text, cause=run.cause, detail={"level": level})

    def __repr__(self) -> str:
        return f"<solution {self.id} at {self.domain}>"
