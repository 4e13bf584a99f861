"""One solution of a lab: its routes and event handlers, and the running of handlers."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aiohttp import web

from labkit.context import Context
from labkit.core.code_lines import LineCounts, raised_at, with_line
from labkit.core.errors import ServiceError, SettingsError
from labkit.core.host_time import perf_counter
from labkit.labtime.events import EventKind, HandlerOutcome
from labkit.labtime.time_limits import TimeLimit
from labkit.services.calls import Services
from labkit.settings import SolutionSettings, SubscriptionSettings
from labkit.solutions import events
from labkit.solutions.added import SOCKET_NAMES, AddedHandlers, AddedScript
from labkit.solutions.folders.cors import Cors
from labkit.solutions.folders.folder import Asset, SolutionFolder
from labkit.solutions.folders.schema_file import Document
from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.functions import FunctionHandler
from labkit.solutions.handlers import (
    Handler,
    HandlerError,
    HandlerRun,
    ScriptTimeError,
    explain,
    status_of,
    trace,
)
from labkit.solutions.lua import HostState, LuaError, LuaLimitError
from labkit.solutions.origins import Origin
from labkit.solutions.registrations import Names, Registration
from labkit.solutions.scripted import Scripts, run_limits
from labkit.solutions.web.admission import RateLimits
from labkit.solutions.web.documentation import document
from labkit.solutions.web.request import Request
from labkit.solutions.web.response import ReplyError, Response, reply
from labkit.solutions.web.routes import Route
from labkit.solutions.web.web_settings import WebSettings
from labkit.solutions.web.websocket_info import WebsocketInfo
from labkit.solutions.workers import Workers

F = TypeVar("F", bound=Callable[..., object])

ROUTE_NAMES = ("request", "response")


@dataclass(frozen=True, slots=True)
class SolutionState:
    """A solution as plain data. configured, warnings: as in the solution; host: of its scripts, if it has one.

    rates: the counts of its RateLimits.
    """

    settings: SolutionSettings
    configured: dict[str, dict[str, Any]]
    added: list[AddedScript]
    warnings: list[str]
    host: HostState | None
    rates: dict[str, tuple[float, int]] = field(default_factory=dict)


class PlatformSolution(AddedHandlers):
    """A solution of a lab, with the routes and handlers of its folder.

    products: ids of the products whose events it handles; environment: variables for os.getenv of scripts; configured:
    parameters of its services that cells set, beside folder and settings. Raises SettingsError with file and line
    of a script that does not compile.
    """

    def __init__(
        self,
        settings: SolutionSettings,
        context: Context,
        services: Services,
        workers: Workers,
        folder: SolutionFolder,
    ) -> None:
        super().__init__(settings.id, context, services, workers)
        self.domain = settings.domain or f"{settings.id}.apps.{context.settings.domain}"
        self.products = list(settings.products)
        self.aliases = dict(settings.aliases)
        self.business = settings.business
        self.subscriptions: Sequence[SubscriptionSettings] = settings.subscriptions
        self.environment = dict(settings.environment)
        self.configured: dict[str, dict[str, Any]] = {}
        self.settings = settings
        self.folder = folder
        self.web = WebSettings()  # set with the configuration of its services
        self.rates = RateLimits()
        self.assets: Mapping[str, Asset] = folder.assets
        self.warnings: list[str] = []  # of its folder, and of scripts that ran at the end of set-up
        self._run_count = 0  # of runs that have not ended
        self._last_run_ended: asyncio.Event | None = None  # made where somebody waits for it
        seeded = context.identifiers.seed is not None
        self._time = context.settings.guard.script_time
        self.use_scripts(
            Scripts(
                _modules(folder),
                services=services,
                log=self._log,
                now=context.clock.now,
                environment=self.environment,
                seed=int(context.identifiers.hex(f"{self.id} random", 8), 16) if seeded else None,
                limits=run_limits(context.settings),
                while_waiting=context.turns.released,
            )
        )
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

    @property
    def cors(self) -> Cors:
        """Which web pages may call the routes: of services/webservice.yaml, else of the project file."""
        return self.web.cors or self.folder.cors

    # ---- running

    def adopt(self, other: PlatformSolution) -> None:
        """Add the routes, handlers and configuration that cells added to another solution. Raises SettingsError."""
        self.adopt_added(other)
        self.configured = other.configured

    def install(self, service: str, scripts: Mapping[str, str], names: Mapping[str, Names]) -> None:
        """Set the scripts that handle those events of a service for which the solution has no handler of its own.

        They replace the scripts installed before. scripts, names (of the handler's argument): by event. Raises
        SettingsError, and changes nothing, if one does not compile.
        """
        named = {event: ScriptSource(f"{service} {event}", 1, source) for event, source in scripts.items()}
        self._handlers.install(service, named, names)

    def check_script(self, name: str, source: str) -> None:
        """Raise SettingsError, beginning with the name, if a script does not compile."""
        self.compile(ScriptSource(name, 1, source))

    def compile(self, script: ScriptSource) -> None:
        """Raise SettingsError with file and line if a script does not compile."""
        self._scripts.plain(script).close()

    def prepare(self) -> list[tuple[str, Handler]]:
        """Compile the modules and scripts that `initialise` runs, in order. Raises SettingsError if one does not."""
        modules = self._scripts.modules()
        scripts = [(script.file, self._scripts.plain(script)) for script in self.folder.init_scripts]
        return [*([("modules", modules)] if modules else []), *scripts]

    async def initialise(self, prepared: Iterable[tuple[str, Handler]]) -> None:
        """Run the prepared handlers; warn of failed ones."""
        for name, handler in prepared:
            await self._initialise(name, handler)
            handler.close()

    async def _initialise(self, what: str, handler: Handler) -> None:
        outcome = await self.run(what, handler, {}, self.context("solution", "init"), None)
        if outcome.error is not None:
            self.warn(f"{what} failed at set-up: {outcome.error}")

    def warn(self, text: str) -> None:
        """Record a warning for the solution's author, here and in the journal."""
        self.warnings.append(text)
        self._context.journal.record("warning", self.id, text)

    def snapshot(self) -> SolutionState:
        """Return the solution as plain data, without globals of scripts. Raises LabError for Python handlers."""
        return SolutionState(
            self.settings,
            self.configured,
            self.added_scripts(),
            list(self.warnings),
            self._scripts.snapshot(),
            dict(self.rates.counts),
        )

    def restore(self, state: SolutionState) -> None:
        """Take over what cells and runs have changed, in a solution with the same settings."""
        self.configured = state.configured
        self.add_scripts(state.added)
        self.rates.counts = dict(state.rates)
        if state.host is not None:
            self._scripts.restore(state.host)

    def cover(self, covered: list[Callable[[], LineCounts]]) -> None:
        """Count the lines of scripts that run from now on; functions that return the counts are added to the list."""
        self._scripts.cover(covered)

    def clear(self) -> None:
        """Forget warnings, counted requests and the state of scripts, for a reset; routes and handlers stay."""
        self.warnings.clear()
        self.rates.counts.clear()
        self._scripts.clear()

    def suspend(self) -> None:
        """Free resources that are bound to the current thread; the globals of scripts stay."""
        self._scripts.suspend()

    def crash(self) -> None:
        """Lose the globals of scripts and the counted requests."""
        self.rates.counts.clear()
        self._scripts.crash()

    def close(self) -> None:
        """Free the solution's Lua states."""
        self._scripts.close()

    def document(self) -> Document:
        """Return the OpenAPI document of the solution's routes."""
        host = self._context.url(self.domain).removeprefix("https://")
        return document(self.id, host, self.routes, self.web, self.folder.schema)

    async def answer(self, route: Route, request: Request, cause: int | None) -> web.Response:
        """Run a route's handler and return its response; sets the request's id.

        Raises HandlerError for an error of the handler, and ReplyError for an outcome that cannot be sent.
        """
        response = Response()
        context = self.context("webservice", "request")
        request.request_id = str(context["tracking_id"])
        outcome = await self.run(
            f"{route.method} {route.path}",
            route.handler,
            {"request": request, "response": response},
            context,
            cause,
        )
        if outcome.error is not None:
            raise HandlerError(outcome.status, outcome.error)
        try:
            return reply(outcome.result, response)
        except ReplyError as error:  # the run itself succeeded, so its record tells nothing of it
            text = f"the answer of {route.method} {route.path} cannot be sent: {error} ({route.where})"
            self._context.journal.record("error", self.id, text, cause=cause, status=500)
            self._services.mistakes.fail(self.id, f"{route.method} {route.path}", f"{error} ({route.where})")
            raise

    async def handle_websocket(self, route: Route, info: WebsocketInfo, cause: int) -> object:
        """Run a websocket route's handler for one event, and return what goes back to the client; None for nothing.

        That is the returned value, else `response.message`, else `response.body`. An error of the handler is in the
        journal alone.
        """
        response = Response(code=None)
        outcome = await self.run(
            f"{route.method} {route.path}",
            route.handler,
            {**dict.fromkeys(SOCKET_NAMES, info), "response": response},
            self.context("websocket", "websocket_info"),
            cause,
        )
        answers = (outcome.result, response.message, response.body)
        return (
            None if outcome.error is not None else next((each for each in answers if each is not None), None)
        )

    async def run_script(self, lua: str, name: str) -> tuple[HandlerOutcome, list[str]]:
        """Run a script at once, and return its outcome and the lines that it printed.

        name: of the script in messages. Raises SettingsError with the line if it does not compile.
        """
        handler, printed = self._scripts.plain(ScriptSource(name, 1, lua)), list[str]()
        try:
            context = self.context("solution", "run")
            return await self.run("script", handler, {}, context, None, printed), printed
        finally:
            handler.close()

    async def sandbox(self, script: str, parameters: object, cpu: float) -> object:
        """Run a script that can reach nothing of the lab, and return its result.

        cpu: seconds allowed. Raises ServiceError 400 for one that fails, 504 for one that takes more.
        """
        try:
            return await self._scripts.sandbox(script, parameters, cpu)
        except LuaError as error:
            is_late = isinstance(error, LuaLimitError) and error.limit == "cpu"
            raise ServiceError(504 if is_late else 400, str(error)) from None

    def find(self, service: str, event: str, product: str | None = None) -> Registration | None:
        """Return the handler of an event (of a device of `product`): see Registrations.find."""
        return self._handlers.find(service, event, product)

    def registered(self, kind: EventKind, product: str | None) -> Sequence[Registration]:
        """Return the handlers of an event: see Registrations.of_kind."""
        return self._handlers.of_kind(kind, product)

    def choose_events(self, types: Sequence[str] | None) -> None:
        """Set the types of devices' events that the handlers get; None: each that has a handler, and the usual ones."""
        self._handlers.choose(types)

    def handle(
        self,
        registration: Registration,
        raised: events.Key,
        argument: Any,
        *,
        cause: int | None = None,
        names: Names | None = None,
        caller: str | None = None,
    ) -> Coroutine[Any, Any, HandlerOutcome]:
        """Run the handler of an event and return its outcome. Never raises an error of the handler.

        raised: service and event as they were raised; they stand in context if the fallback handles them.
        names: of the argument, beside the event's fixed ones; caller: id of the solution that makes the
        call.
        """
        key = registration.key
        context = self.context(*(raised if key == events.FALLBACK else key))
        if caller is not None:
            context["caller_id"] = caller
        names = registration.names if names is None else tuple(dict.fromkeys((*names, *registration.names)))
        try:
            handler = self._handlers.bound(registration, names)
        except SettingsError as error:
            return _at_once(HandlerOutcome(500, error=str(error)))
        if isinstance(handler, FunctionHandler):
            argument = copy.deepcopy(argument)  # it belongs to the journal and to other solutions too
        named = dict.fromkeys((*names, "event"), argument)
        return self.run(f"{key[0]} {key[1]}", handler, named, context, cause)

    async def run(
        self,
        what: str,
        handler: Handler,
        arguments: Mapping[str, Any],
        context: Mapping[str, object],
        cause: int | None,
        printed: list[str] | None = None,
    ) -> HandlerOutcome:
        """Run a handler, with a record in the journal, and return its outcome. Never raises an error of the handler.

        printed: gets the lines that the handler prints.
        """
        journal = self._context.journal
        record = journal.open("script", self.id, what, cause=cause)
        run = HandlerRun(self.id, record.sequence, context=context, printed=printed)
        detail: dict[str, object] | None = None
        started = perf_counter()
        before = self._context.slow.begin(what)
        self._run_count += 1
        count = journal.begin_run(record, cause)
        limit = TimeLimit(self._time)
        try:
            try:
                result = await limit.run(handler(arguments, run))
            except TimeoutError as error:
                if limit.over:
                    places = getattr(error.__cause__, "__notes__", None) or [
                        ""
                    ]  # LuaRun adds them, inner ones first
                    raise ScriptTimeError(self._time, places[-1]) from error
                raise
        except Exception as error:  # noqa: BLE001  whatever a handler raises is its outcome
            outcome = HandlerOutcome(status_of(error), error=explain(error))
            record.status = outcome.status
            detail = {"error": outcome.error, "trace": trace(error)}
            self._note_failure(what, handler, context, error)
        else:
            outcome = HandlerOutcome(204 if result is None else 200, result)
            record.status = outcome.status
        finally:
            self._context.slow.end(what, before)
            measured = {**run.measures, "duration": perf_counter() - started}
            if detail is None:
                record.set_measures(measured)
            else:
                record.detail = {**detail, **measured}
            journal.end(record)
            journal.end_run(record, count)
            self._run_count -= 1
            if not self._run_count and self._last_run_ended is not None:
                self._last_run_ended.set()
        return outcome

    def _note_failure(
        self, what: str, handler: Handler, context: Mapping[str, object], error: Exception
    ) -> None:
        if (
            context["service"] == "solution"
        ):  # who runs a script at once gets its error, and set-up warns of it
            return
        place = raised_at(handler.function, error)[0] if isinstance(handler, FunctionHandler) else ""
        self._services.mistakes.fail(self.id, what, with_line(explain(error), place))

    async def runs_ended(self) -> None:
        """Return once no run of a handler is left, also none that waits for lab time."""
        if self._run_count:
            self._last_run_ended = asyncio.Event()
            await self._last_run_ended.wait()

    def context(self, service: str, event: str) -> dict[str, object]:
        """Return the `context` argument of a handler."""
        return {
            "solution_id": self.id,
            "service": service,
            "event": event,
            "script_key": service,
            "tracking_id": self._context.identifiers.hex(f"{self.id} tracking", 32),
        }

    def __repr__(self) -> str:
        return f"<solution {self.id} at {self.domain}>"


def _modules(folder: SolutionFolder) -> dict[str, str]:
    """Return the sources of a folder's modules, which share their local names where the platform joins modules."""
    if not folder.joins_modules:
        return {name: script.source for name, script in folder.modules.items()}
    from labkit.solutions.lua.names import sharing_locals  # here, since its parser takes long to import

    return {name: sharing_locals(script) for name, script in folder.modules.items()}


async def _at_once(outcome: HandlerOutcome) -> HandlerOutcome:
    """Return the outcome of a handler that cannot run."""
    return outcome
