"""Registration of a solution's routes, event handlers and modules, from its folder and from notebook cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, overload

from labkit.context import Context
from labkit.core.errors import LabError, SettingsError
from labkit.services.calls import Services
from labkit.solutions import events
from labkit.solutions.folders.scripts import JSON, WEBSOCKET, ScriptSource
from labkit.solutions.functions import FunctionHandler
from labkit.solutions.handlers import Handler, HandlerRun
from labkit.solutions.origins import CELL, Origin, check_replacement
from labkit.solutions.registrations import Registrations
from labkit.solutions.scripted import Scripts
from labkit.solutions.web.routes import Match, Route, Routes, single_slashes
from labkit.solutions.workers import Workers

F = TypeVar("F", bound=Callable[..., object])

ROUTE_NAMES = ("request", "response")
SOCKET_NAMES = ("websocketInfo", "websocket_info", "response")
MODULE = re.compile(r"\w+(\.\w+)*")
MOST_PRINTED = 1000  # lines of a run that its caller gets


@dataclass(frozen=True, slots=True)
class AddedScript:
    """A script that a cell added, as plain data. given: arguments of `route`, of `on`, or of `module`."""

    is_route: bool
    given: dict[str, str]
    replace: bool


class AddedHandlers:
    """Base class of a solution with its routes and event handlers, and the methods that add them.

    Call `use_scripts` before adding any.
    """

    def __init__(self, id: str, context: Context, services: Services, workers: Workers) -> None:
        self.id = id
        self.routes = Routes()
        self._context = context
        self._services = services
        self._workers = workers
        self._added: dict[
            tuple[str, ...], Callable[..., object]
        ] = {}  # calls that repeat the additions of cells, by key
        self._replacing: set[tuple[str, ...]] = set()  # keys of additions with `replace`

    def use_scripts(self, scripts: Scripts) -> None:
        """Set the compiler of Lua scripts."""
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

        The function, sync or async, may have any of these parameters: request, response, services, context,
        log, now; with the method WEBSOCKET websocket_info (or websocketInfo) instead of request. A handler with the
        same text or a function of the same name replaces the route's present handler; with `replace`, any handler does.
        content_type: of the bodies that the route accepts. Raises SettingsError for a wrong method, path or script, and
        if the route has another handler; LabError for an unknown parameter.
        """
        if function is None and lua is None:
            return lambda given: self.route(method, path, given, content_type=content_type, replace=replace)
        method = method.upper()
        handler: Handler
        if function is not None:
            handler = self._function(function, SOCKET_NAMES if method == WEBSOCKET else ROUTE_NAMES)
            origin = Origin(function=function)
        else:
            script = ScriptSource(f"{method} {path}", 1, lua or "")
            handler = self._scripts.endpoint(script, method)
            origin = Origin(script=script)
        route = Route(method, path, handler, content_type, origin=origin)
        present = self.routes.at(route)
        try:
            check_replacement(
                f"{method} {path}", None if present is None else present.origin, origin, replace
            )
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

        A script gets the event under its fixed name (events.py), and context; a function gets it under that name or
        `event`, and may have the parameters services, context, log, now. If an interface defines the event (an
        operation of the solution's own, or an event of one that it subscribes to), a function may use any name for it.
        A handler with the same text or a function of the same name replaces the event's present handler; with
        `replace`, any handler does. While a fleet is simulated, handlers run one at a time, and so do the service calls
        of a handler (labtime/turns.py). Raises SettingsError for a wrong script, and if the event has another handler.
        """
        if function is None and lua is None:
            return lambda given: self.on(service, event, given, replace=replace)
        if function is not None:
            names = events.arguments(self._context.events, service, event)
            offered = tuple(dict.fromkeys((*names, "event")))
            handler = self._function(function, offered, any_name=self._has_variable_names(service, event))
            self._handlers.register(service, event, handler, names, Origin(function=function), replace)
        else:
            self._handle_with(
                service, event, ScriptSource(f"{service}_{event}", 1, lua or ""), replace=replace
            )
        add: Callable[..., object] = AddedHandlers.on
        given = {"service": service, "event": event, "function": function, "lua": lua}
        self._add(events.key(service, event), partial(add, **given), replace)
        return function

    def module(self, name: str, lua: str, *, replace: bool = True, function: None = None) -> None:
        """Add a module for `require(name)`, or replace one, also of the folder; its text runs before the next script.

        Raises SettingsError for a wrong name, and with file and line for a wrong script.
        """
        if not MODULE.fullmatch(name):
            raise SettingsError(f"module {name:.200}: expected a name such as counters, or util.counters")
        self._scripts.add_module(name, lua)
        add: Callable[..., object] = AddedHandlers.module
        self._add(("module", name), partial(add, name=name, lua=lua, function=function), replace)

    def added_scripts(self) -> list[AddedScript]:
        """Return the additions of cells as plain data. Raises LabError if one is a Python function."""
        found = []
        for key, add in self._added.items():
            assert isinstance(add, partial)
            given = dict(add.keywords)
            if given.pop("function") is not None:
                raise LabError(
                    f"solution {self.id!r}: {' '.join(key)} has a handler in Python, which a snapshot cannot contain: "
                    "handle it in Lua, or try futures with lab.fork()"
                )
            found.append(AddedScript(add.func is AddedHandlers.route, given, key in self._replacing))
        return found

    def add_scripts(self, added: Iterable[AddedScript]) -> None:
        """Add scripts as cells did in another lab. Raises SettingsError for a wrong one."""
        for each in added:
            is_event = "event" in each.given
            add: Callable[..., object] = self.route if each.is_route else self.on if is_event else self.module
            add(**each.given, replace=each.replace)

    def adopt_added(self, other: AddedHandlers) -> None:
        """Add the routes and handlers that cells added to another solution.

        Raises SettingsError if the folder handles the same route or event, unless the handler was added with `replace`.
        """
        for key, add in other._added.items():
            add(self, replace=key in other._replacing)

    def _handle_with(
        self, service: str, event: str, script: ScriptSource, place: str = CELL, *, replace: bool = False
    ) -> None:
        names = events.arguments(self._context.events, service, event)
        self._handlers.register(service, event, script, names, Origin(script=script, place=place), replace)

    def websocket(self, path: str) -> Match | None:
        """Return the route of a websocket at a raw path, None if none is served there.

        Without a route, that is the handler of the event `websocket websocket_info`.
        """
        try:
            match = self.routes.match(WEBSOCKET, path or "/")
        except ValueError:
            return None
        if match.route is not None:
            return match
        found = self._handlers.find(*events.WEBSOCKETS)
        if found is None or found.key != events.WEBSOCKETS:
            return None
        handler = self._handlers.bound(found, found.names)
        return Match(Route(WEBSOCKET, single_slashes(path or "/"), handler, origin=found.origin), {}, [])

    def _add(self, key: tuple[str, ...], add: Callable[..., object], replace: bool) -> None:
        """Record an addition of a cell, so that a reload can repeat it. replace: it may replace any handler."""
        self._added[key] = add
        self._services.mistakes.forget(self.id)
        if replace:
            self._replacing.add(key)

    def _has_variable_names(self, service: str, event: str) -> bool:
        """Return whether the names of an event's argument are known only when the event is emitted."""
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
            slow=self._context.slow,
            now=self._context.clock.now,
            log=self._log,
        )

    def _log(self, run: HandlerRun, level: str, text: str) -> None:
        if run.printed is not None and len(run.printed) <= MOST_PRINTED:
            full = len(run.printed) == MOST_PRINTED
            line = text if level == "print" else f"{level}: {text}"
            run.printed.append("further lines are in the solution's log" if full else line)
        self._context.journal.record("log", self.id, text, cause=run.cause, detail={"level": level})
