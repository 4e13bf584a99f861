"""Routes and event handlers of a solution, those that cells add among them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, overload

from labkit.context import Context
from labkit.core.errors import SettingsError
from labkit.services.calls import Services
from labkit.solutions import events
from labkit.solutions.functions import FunctionHandler
from labkit.solutions.handlers import Handler, Run
from labkit.solutions.origins import CELL, Origin, check_place
from labkit.solutions.registrations import Registrations
from labkit.solutions.routes import Route, Routes
from labkit.solutions.scripted import Scripts
from labkit.solutions.scripts import JSON, Script
from labkit.solutions.workers import Workers

F = TypeVar("F", bound=Callable[..., object])

ROUTE_NAMES = ("request", "response")


class AddedHandlers:
    """Base of a solution: what answers requests and events, and the way to add to it. `use_scripts` has to follow."""

    def __init__(self, id: str, context: Context, services: Services, workers: Workers) -> None:
        self.id = id
        self.routes = Routes()
        self._context = context
        self._services = services
        self._workers = workers
        self._added: dict[tuple[str, ...], Callable[..., object]] = {}  # beside the folder
        self._replacing: set[tuple[str, ...]] = set()  # those of them that may replace what the folder has

    def use_scripts(self, scripts: Scripts) -> None:
        """Compile Lua with these."""
        self._scripts = scripts
        self._handlers = Registrations(scripts.event)

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
        add: Callable[..., object] = AddedHandlers.route
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
        add: Callable[..., object] = AddedHandlers.on
        given = {"service": service, "event": event, "function": function, "lua": lua}
        self._add(events.key(service, event), partial(add, **given), replace)
        return function

    def adopt_added(self, other: AddedHandlers) -> None:
        """Add the routes and handlers that another solution has beside its folder.

        Raises SettingsError where the folder has another handler at the place of one that was to replace none.
        """
        for key, add in other._added.items():
            add(self, replace=key in other._replacing)

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
