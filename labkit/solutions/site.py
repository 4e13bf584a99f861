"""Site of a solution: answers requests to its domain with routes and assets."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from labkit.context import Context
from labkit.core.errors import SettingsError
from labkit.core.redaction import without_issued_in_path
from labkit.faults import AWAITED, awaited_as
from labkit.http.bodies import read_body
from labkit.http.connection import Connection
from labkit.http.error import HttpError
from labkit.http.request import SiteRequest
from labkit.http.sites import Site, SiteExchange
from labkit.http.websocket import asks_for_websocket, refused_upgrade
from labkit.labtime.story_work import STORY_REQUEST
from labkit.solutions.folders.cors import preflight
from labkit.solutions.folders.scripts import WEBSOCKET
from labkit.solutions.handlers import explain, status_of
from labkit.solutions.solution import PlatformSolution
from labkit.solutions.web import request as requests
from labkit.solutions.web.admission import admit
from labkit.solutions.web.documentation_pages import PAGES, page
from labkit.solutions.web.request import Request
from labkit.solutions.web.response import failure
from labkit.solutions.web.routes import Match, single_slashes
from labkit.solutions.websockets import SolutionWebsockets, WebsocketExchange
from labkit.solutions.workers import Workers

BODY_LIMIT = 1024 * 1024  # bytes
NONE: Mapping[str, Any] = MappingProxyType({})
SECOND = 1.0
LONG_BODY = (
    128 * 1024
)  # bytes above which a body is decoded in a thread, so that it does not block the event loop


class SolutionSite(Site[SiteExchange]):
    """Site that answers requests to the domain of a solution."""

    body_limit = BODY_LIMIT
    _context: Context

    def __init__(self, solution: PlatformSolution, context: Context, workers: Workers) -> None:
        super().__init__(solution.domain, f"solution {solution.id!r}", solution.id, context)
        self.solution = solution.id
        self._solution = solution
        self._workers = workers
        self._websockets = SolutionWebsockets(solution.id, context)

    @cached_property
    def _types(self) -> mimetypes.MimeTypes:
        """Python's built-in table of media types, which does not depend on the machine. Created when first needed."""
        return mimetypes.MimeTypes()

    def exchange(self, connection: Connection, request: SiteRequest) -> SiteExchange:
        if not asks_for_websocket(request) or self._solution.websocket(request.rel_url.raw_path) is None:
            return super().exchange(connection, request)
        url = request.rel_url
        summary = f"{WEBSOCKET} {without_issued_in_path(url.raw_path or '/')}"
        record = self._context.journal.open("request", self.actor, summary)
        path, query = unquote(url.raw_path), url.raw_query_string
        return WebsocketExchange(self._context, self, connection, request, path, query, record=record)

    def refusal(self, exchange: SiteExchange, error: HttpError) -> web.StreamResponse:
        """Return JSON {error: text}."""
        return failure(error.status, error.reason, error.headers)

    def complete(self, exchange: SiteExchange, response: web.StreamResponse) -> None:
        """Add the headers of the solution's settings, and those of CORS."""
        request = exchange.request
        headers = self._solution.cors.headers_for(request.headers, preflight(request.method, request.headers))
        for name, value in (*headers.items(), *self._solution.web.headers):
            response.headers.setdefault(name, value)  # a script's own headers take precedence

    async def answer(self, exchange: SiteExchange) -> web.StreamResponse:
        configured = self._context.configuration.get(self._solution.id)
        limit = configured.get("Config", NONE).get("rate_limit") if configured else None
        setting = "rate_limit of services/config.yaml"
        if not limit:
            limit, setting = self._context.settings.limits.solution_requests, "limits.solution_requests"
        if limit and self._solution.rates.wait("", "", limit, self._context.clock.now(), SECOND):
            reason = f"more than {limit} requests in a second, by {setting}"
            raise HttpError(429, reason, {"Retry-After": "1"})
        if isinstance(exchange, WebsocketExchange):
            return await self._websockets.open(self._solution, exchange)
        await exchange.acts_as()
        request, record = exchange.request, exchange.identify()
        path, _, query = (request.rel_url.raw_path_qs or "/").partition("?")
        solution = self._solution
        try:
            path.encode()
            match = solution.routes.match(request.method, path)
        except ValueError:
            raise HttpError(400, "the path is not percent-encoded UTF-8") from None
        if match.route is None:
            return await self.without_route(request, path, match)
        route = match.route
        asked = requests.query(query)
        if not preflight(request.method, request.headers):  # browsers send no credentials with it
            now, address = self._context.clock.now(), exchange.connection.peer_ip
            admit(route, solution.web, solution.rates, request.headers, asked, address, now)
        parameters = {**asked, **match.parameters}
        data = await read_body(request, BODY_LIMIT, self._context.settings.guard.body)
        types = (route.content_type, request.headers.get("Content-Type"))
        long = len(data) > LONG_BODY
        body = (
            await asyncio.to_thread(requests.decode, data, *types) if long else requests.decode(data, *types)
        )
        headers = requests.headers(request.headers)
        key = headers.pop(AWAITED.lower(), "")
        given = Request(
            uri=self._context.url(solution.domain, request.rel_url.raw_path_qs),
            route=route.path,
            method=request.method,
            parameters=parameters,
            headers=headers,
            body=body,
            ip=exchange.connection.peer_ip,
            server_ip=self._context.address.host,
            timestamp=self._context.clock.micros(),
            long=long,
        )
        try:
            if (request_of_story := STORY_REQUEST.get()) is None:
                with awaited_as(key):
                    return await solution.answer(route, given, record.sequence)
            async with self._context.turns.for_story(request_of_story.turn):
                return await solution.answer(route, given, record.sequence)
        except Exception as error:  # noqa: BLE001  a handler may raise any exception
            record.detail = {"error": explain(error)}
            return failure(status_of(error), explain(error))

    def _without_file(self, request: web.BaseRequest, path: str) -> web.Response:
        """Answer a request for which the solution has neither route nor asset, by a page of its documentation.

        Raises HttpError for another path, and for another method than GET and HEAD.
        """
        name = single_slashes(path)
        if name not in PAGES:
            raise HttpError(404, "unknown path")
        allow = {"Allow": "GET, HEAD, OPTIONS"}
        if request.method == "OPTIONS":
            return web.Response(status=204, headers=allow)
        if request.method not in ("GET", "HEAD"):
            raise HttpError(405, "wrong method for this path", allow)
        content, kind = page(name, self._solution.document())
        return web.Response(body=content, content_type=kind, charset="utf-8")

    async def without_route(self, request: web.BaseRequest, path: str, match: Match) -> web.Response:
        """Answer a request without a route, by an asset or by the methods for OPTIONS. Raises HttpError otherwise."""
        asset = self._solution.assets.get(unquote(single_slashes(path)))
        allowed = set(match.allowed) - {WEBSOCKET} | ({"GET", "HEAD"} if asset else set())
        if asset and request.method in ("GET", "HEAD"):
            try:
                data = await self._workers.run(asset.read)
            except OSError as error:
                raise HttpError(404, f"{path}: {error.strerror}") from None
            except SettingsError as error:  # it resolves outside its folder by now
                raise HttpError(404, str(error)) from None
            kind = self._types.guess_type(asset.name)[0] or "application/octet-stream"
            return web.Response(
                body=data, content_type=kind, charset="utf-8" if kind.startswith("text/") else None
            )
        if not match.allowed and not asset:
            return self._without_file(request, path)
        if WEBSOCKET in match.allowed and request.method == "GET":
            raise HttpError(426, "this path is a websocket", refused_upgrade())
        allow = {"Allow": ", ".join(sorted(allowed | {"OPTIONS"}))}
        if request.method == "OPTIONS":
            return web.Response(status=204, headers=allow)
        raise HttpError(405, "wrong method for this path", allow)
