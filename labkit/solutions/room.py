"""All solutions of a lab: which one is meant, and the way of a request through it."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Protocol
from urllib.parse import unquote

from aiohttp import web

from labkit.core.clock import Clock
from labkit.core.errors import LabError, SettingsError
from labkit.core.identifiers import Identifiers
from labkit.core.journal import Journal, Record
from labkit.http.bodies import read_body
from labkit.http.error import HttpError
from labkit.services.calls import Services
from labkit.settings import SolutionSettings
from labkit.solutions import folder as folders
from labkit.solutions import request as requests
from labkit.solutions.cors import preflight
from labkit.solutions.handlers import explain, status_of
from labkit.solutions.request import Request
from labkit.solutions.response import failure
from labkit.solutions.routes import Match, single_slashes
from labkit.solutions.scripts import WEBSOCKET
from labkit.solutions.solution import Outcome, Solution, Surroundings
from labkit.solutions.workers import Workers

BODY_LIMIT = 1024 * 1024
BODY_GUARD = 30.0

Configurations = MutableMapping[str, dict[str, dict[str, Any]]]


class Connection(Protocol):
    """What a solution needs to know of the connection that a request came on."""

    @property
    def peer_ip(self) -> str: ...


class Solutions:
    """The solutions of a lab.

    domain: that of the lab: a solution's default is <id>.apps.<domain>; url: the URL of a host and a path;
    configuration: solution id → service → parameters, filled when a solution is added, and shared with
    `Services`; script_cpu: seconds a script may compute between two service calls; body_limit: bytes of a
    request's body; body_guard: seconds of real time that it may take.
    """

    def __init__(
        self,
        *,
        domain: str,
        journal: Journal,
        clock: Clock,
        identifiers: Identifiers,
        services: Services,
        configuration: Configurations,
        url: Callable[[str, str], str],
        script_cpu: float = 2.0,
        body_limit: int = BODY_LIMIT,
        body_guard: float = BODY_GUARD,
    ) -> None:
        self._domain = domain
        self._journal = journal
        self._clock = clock
        self._configuration = configuration
        self._services = services
        self._url = url
        self._body_limit = body_limit
        self._body_guard = body_guard
        self._workers = Workers()
        self._around = Surroundings(services, journal, clock, identifiers, self._workers, script_cpu)
        self._solutions: dict[str, Solution] = {}
        self._hosts: dict[str, Solution] = {}
        self._types = mimetypes.MimeTypes()  # the built-in table: the same answer on every machine

    # ---- which solutions there are

    async def add(self, settings: SolutionSettings) -> Solution:
        """Add a solution, from its folder if it has one, and run what the folder runs at the end of set-up.

        Raises SettingsError where the id or the domain is taken, or the folder is wrong: names file and line.
        """
        host = settings.domain or f"{settings.id}.apps.{self._domain}"
        if settings.id in self._solutions:
            raise SettingsError(f"solution {settings.id!r}: is there already")
        if host in self._hosts:
            raise SettingsError(f"solution {settings.id!r}: domain {host} is taken")
        folder = folders.read(*settings.path)
        try:
            solution = Solution(
                settings.id,
                host,
                self._around,
                products=settings.products,
                environment=settings.environment,
                folder=folder,
            )
        except SettingsError as error:
            raise SettingsError(f"{', '.join(map(str, settings.path))}: {error}") from None
        self._configure(settings.id, folder.configuration, settings.services)
        self._solutions[settings.id] = self._hosts[host] = solution
        for warning in folder.warnings:
            solution.warn(warning)
        await solution.initialise(folder.init_scripts)
        for hook in folder.hooks:
            await self._run_hook(solution, hook)
        return solution

    def get(self, id: str) -> Solution:
        """Raises LabError for an unknown id."""
        if id not in self._solutions:
            raise LabError(f"no solution {id!r}; there are: {', '.join(self._solutions) or 'none'}")
        return self._solutions[id]

    def at(self, host: str | None) -> Solution | None:
        """The solution at a domain (lower case, no port)."""
        return self._hosts.get(host or "")

    def linked(self, product: str) -> list[Solution]:
        """The solutions that handle the events of a product."""
        return [each for each in self if product in each.products]

    def sender(self, id: str) -> str:
        """The address that a solution's mail comes from unless it says otherwise."""
        return f"noreply@{self.get(id).domain}"

    def __iter__(self) -> Iterator[Solution]:
        return iter(tuple(self._solutions.values()))

    def __len__(self) -> int:
        return len(self._solutions)

    def __contains__(self, id: object) -> bool:
        return id in self._solutions

    async def close(self) -> None:
        """End the handlers that run in threads, the threads, and Lua."""
        if not await self._workers.close():
            self._journal.record("error", "platform", "a Python handler runs on in its thread", status=500)
        for solution in self:
            solution.close()

    # ---- what they do

    async def deliver(
        self,
        solution: Solution,
        service: str,
        event: str,
        argument: Any,
        *,
        cause: int | None = None,
        product: str | None = None,
    ) -> Outcome | None:
        """Hand an event to a solution's handler (Solution.handle). product: whose device caused it."""
        return await solution.handle(service, event, argument, cause=cause, product=product)

    async def serve(
        self, solution: Solution, connection: Connection, request: web.BaseRequest
    ) -> web.StreamResponse:
        """Answer a request to a solution's domain. What the solution itself refuses is JSON {error: text}."""
        path, _, query = (request.rel_url.raw_path_qs or "/").partition("?")
        record = self._journal.open("request", solution.id, f"{request.method} {path}")
        try:
            response = await self._answer(solution, connection, request, path, query, record)
        except HttpError as refused:
            response = failure(refused.status, refused.reason, refused.headers)
            if refused.closes:
                response.force_close()
            record.detail = {"reason": refused.reason}
        cors = solution.cors.headers_for(request.headers, preflight(request.method, request.headers))
        for name, value in cors.items():
            response.headers.setdefault(name, value)  # what a script says of itself stays
        record.status, record.size = response.status, response.content_length
        return response

    async def _answer(
        self,
        solution: Solution,
        connection: Connection,
        request: web.BaseRequest,
        path: str,
        query: str,
        record: Record,
    ) -> web.Response:
        try:
            path.encode()
            match = solution.routes.match(request.method, path)
        except ValueError:
            raise HttpError(400, "the path is not percent-encoded UTF-8") from None
        if match.route is None:
            return await self._without_route(solution, request, path, match)
        route = match.route
        parameters = {**requests.query(query), **match.parameters}
        data = await read_body(request, self._body_limit, self._body_guard)
        body = requests.decode(data, route.content_type, request.headers.get("Content-Type"))
        given = Request(
            uri=self._url(solution.domain, request.rel_url.raw_path_qs),
            route=route.path,
            method=request.method,
            parameters=parameters,
            headers=requests.headers(request.headers),
            body=body,
            ip=connection.peer_ip,
            timestamp=self._clock.micros(),
        )
        try:
            return await solution.answer(route, given, record.sequence)
        except Exception as error:  # noqa: BLE001  whatever a handler raises is its outcome
            record.detail = {"error": explain(error)}
            return failure(status_of(error), explain(error))

    async def _without_route(
        self, solution: Solution, request: web.BaseRequest, path: str, match: Match
    ) -> web.Response:
        """An asset, the answer to OPTIONS, or a refusal."""
        asset = solution.assets.get(unquote(single_slashes(path)))
        allowed = set(match.allowed) - {WEBSOCKET} | ({"GET", "HEAD"} if asset else set())
        if asset and request.method in ("GET", "HEAD"):
            try:
                data = await self._workers.run(asset.read_bytes)
            except OSError as error:
                raise HttpError(404, f"{path}: {error.strerror}") from None
            kind = self._types.guess_type(asset.name)[0] or "application/octet-stream"
            return web.Response(
                body=data, content_type=kind, charset="utf-8" if kind.startswith("text/") else None
            )
        if not match.allowed and not asset:
            raise HttpError(404, "unknown path")
        if WEBSOCKET in match.allowed and request.method == "GET":
            raise HttpError(501, "websocket routes are loaded but not served")
        allow = {"Allow": ", ".join(sorted(allowed | {"OPTIONS"}))}
        if request.method == "OPTIONS":
            return web.Response(status=204, headers=allow)
        raise HttpError(405, "wrong method for this path", allow)

    def _configure(self, id: str, *layers: Mapping[str, Mapping[str, Any]]) -> None:
        """Set parameters of a solution's services; later layers win. Files name services in lower case."""
        names = {service.name.lower(): service.name for service in self._services}
        kept = self._configuration.setdefault(id, {})
        for layer in layers:
            for service, parameters in layer.items():
                kept.setdefault(names.get(service.lower(), service), {}).update(parameters)

    async def _run_hook(self, solution: Solution, path: str) -> None:
        """Run an older folder's GET route once, at the end of set-up; it need not be there."""
        route = solution.routes.match("GET", path).route
        if route is None:
            return
        request = Request(self._url(solution.domain, path), route.path, "GET", timestamp=self._clock.micros())
        try:
            await solution.answer(route, request, None)
        except Exception as error:  # noqa: BLE001  whatever a handler raises is its outcome
            solution.warn(f"GET {path} at set-up: {explain(error)}")
