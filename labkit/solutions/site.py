"""A solution's host: the way of a request through its routes."""

from __future__ import annotations

import asyncio
import mimetypes
from functools import cached_property
from urllib.parse import unquote

from aiohttp import web

from labkit.context import Context
from labkit.core.errors import SettingsError
from labkit.core.hiding import without_issued_in_path
from labkit.core.journal import Record
from labkit.faults import AWAITED, Asked, FaultAnswer, Given
from labkit.http.bodies import read_body
from labkit.http.connection import Connection
from labkit.http.cut import ConnectionCut
from labkit.http.error import HttpError
from labkit.http.sites import Site
from labkit.solutions import request as requests
from labkit.solutions.cors import preflight
from labkit.solutions.handlers import explain, status_of
from labkit.solutions.request import Request
from labkit.solutions.response import failure
from labkit.solutions.routes import Match, single_slashes
from labkit.solutions.scripts import WEBSOCKET
from labkit.solutions.solution import Solution
from labkit.solutions.workers import Workers

BODY_LIMIT = 1024 * 1024  # bytes
LONG_BODY = (
    128 * 1024
)  # bytes that take longer to decode than to hand to a thread, tens of milliseconds at the most


class SolutionSite(Site):
    """Answers the requests to one solution's domain."""

    def __init__(self, solution: Solution, context: Context, workers: Workers) -> None:
        super().__init__(solution.domain, f"solution {solution.id!r}")
        self._solution = solution
        self._context = context
        self._workers = workers

    @cached_property
    def _types(self) -> mimetypes.MimeTypes:
        """The built-in table: the same answer on every machine. Most solutions never need it."""
        return mimetypes.MimeTypes()

    async def handle(self, connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request to the solution's domain. What the solution itself refuses is JSON {error: text}."""
        solution = self._solution
        path, _, query = (request.rel_url.raw_path_qs or "/").partition("?")
        record = self._context.journal.open(
            "request", solution.id, f"{request.method} {without_issued_in_path(path)}"
        )
        faults = self._context.faults.requests
        asked = None if faults is None else self._asked(connection, request, path, query, record)
        try:
            try:
                if faults is not None and asked is not None:
                    given = await faults.given(
                        self._given(request, path, query), solution.id, record.sequence
                    )
                    asked.given = given.message
                    request = given.request
                    path, _, query = (request.rel_url.raw_path_qs or "/").partition("?")
                    await faults.before(asked)
                response: web.StreamResponse = await self._answer(connection, request, path, query, record)
            except HttpError as refused:
                response = failure(refused.status, refused.reason, refused.headers)
                if refused.closes:
                    response.force_close()
                record.detail = {"reason": refused.reason}
            except FaultAnswer as fault:
                response = fault.response
            cors = solution.cors.headers_for(request.headers, preflight(request.method, request.headers))
            for name, value in cors.items():
                response.headers.setdefault(name, value)  # what a script says of itself stays
            if faults is not None and asked is not None:
                response = await faults.after(asked, response)
        except ConnectionCut as cut:
            record.detail = {"reason": str(cut)}
            self._context.journal.end(record)
            raise
        record.status, record.size = response.status, response.content_length
        self._context.journal.end(record)
        return response

    def _asked(
        self, connection: Connection, request: web.BaseRequest, path: str, query: str, record: Record
    ) -> Asked:
        """What faults may know of a request."""
        return Asked(
            request.method,
            unquote(path),
            query,
            self.host,
            self._solution.id,
            record.sequence,
            connection,
            solution=self._solution.id,
            awaited=request.headers.get(AWAITED, ""),
        )

    def _given(self, request: web.BaseRequest, path: str, query: str) -> Given:
        """A request for faults to look at and to change."""
        guard = self._context.settings.guard.body
        return Given(request, unquote(path), query, self.host, BODY_LIMIT, guard, solution=self._solution.id)

    async def _answer(
        self,
        connection: Connection,
        request: web.BaseRequest,
        path: str,
        query: str,
        record: Record,
    ) -> web.Response:
        solution = self._solution
        try:
            path.encode()
            match = solution.routes.match(request.method, path)
        except ValueError:
            raise HttpError(400, "the path is not percent-encoded UTF-8") from None
        if match.route is None:
            return await self.without_route(request, path, match)
        route = match.route
        parameters = {**requests.query(query), **match.parameters}
        data = await read_body(request, BODY_LIMIT, self._context.settings.guard.body)
        types = (route.content_type, request.headers.get("Content-Type"))
        long = len(data) > LONG_BODY
        body = (
            await asyncio.to_thread(requests.decode, data, *types) if long else requests.decode(data, *types)
        )
        given = Request(
            uri=self._context.url(solution.domain, request.rel_url.raw_path_qs),
            route=route.path,
            method=request.method,
            parameters=parameters,
            headers=requests.headers(request.headers),
            body=body,
            ip=connection.peer_ip,
            timestamp=self._context.clock.micros(),
            long=long,
        )
        try:
            return await solution.answer(route, given, record.sequence)
        except Exception as error:  # noqa: BLE001  whatever a handler raises is its outcome
            record.detail = {"error": explain(error)}
            return failure(status_of(error), explain(error))

    async def without_route(self, request: web.BaseRequest, path: str, match: Match) -> web.Response:
        """An asset, the answer to OPTIONS, or a refusal."""
        asset = self._solution.assets.get(unquote(single_slashes(path)))
        allowed = set(match.allowed) - {WEBSOCKET} | ({"GET", "HEAD"} if asset else set())
        if asset and request.method in ("GET", "HEAD"):
            try:
                data = await self._workers.run(asset.read)
            except OSError as error:
                raise HttpError(404, f"{path}: {error.strerror}") from None
            except SettingsError as error:  # it has become a link out of its folder
                raise HttpError(404, str(error)) from None
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
