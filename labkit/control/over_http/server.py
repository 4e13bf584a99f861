"""Server of the control operations, on a listener of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from pathlib import Path
from typing import Any, cast

from aiohttp import hdrs, web

from labkit.control.control import Control
from labkit.control.following import Once
from labkit.control.over_http.access import Access
from labkit.control.over_http.answers import send_json, send_stream
from labkit.control.over_http.bodies import read_body
from labkit.control.over_http.files import within
from labkit.control.over_http.openapi import document_json
from labkit.control.over_http.operations import ControlOperation, method, operations, present
from labkit.control.over_http.page import PREFIX, LabPage
from labkit.control.over_http.problem import ControlProblem, expect_method, problem_of
from labkit.control.over_http.runs import RUNS, Runs, prefers_async
from labkit.core.errors import LabError, LabkitError, did_you_mean
from labkit.core.journal import Journal
from labkit.labtime.activity import Activity
from labkit.labtime.inputs import Backlog

AT_ONCE = 32  # requests, beside waits and streams
LARGE_AT_ONCE = 8  # requests with a large body
MAX_CONNECTIONS = 256
MAX_REQUESTS = 224  # with waits and streams; so there is a connection for who has to be refused
# aiohttp would log the head of a request that it cannot read, and the token with it
SILENT = logging.getLogger("labkit.control.over_http.silent")
SILENT.disabled = True


class ControlConnection(web.RequestHandler):
    """HTTP protocol of one connection, which refuses what it cannot read as problem details."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the answer to a request that cannot be read."""
        response = ControlProblem(
            status, "the request cannot be read" if status < 500 else "internal error"
        ).response()
        response.force_close()
        return response


class ControlServer(web.Server):
    """Answers the requests of all connections.

    files: folder below which paths in arguments may be; None: nowhere. A request ends with its client, as a cell ends
    by an interrupt. in_request: returns a context for each request that has the token.
    """

    def __init__(
        self,
        control: Control,
        journal: Journal,
        access: Access,
        page: LabPage,
        files: Path | None = None,
        in_request: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        super().__init__(
            cast(Any, self._answer),
            handler_cancellation=True,
            access_log=None,
            logger=SILENT,
            auto_decompress=False,
            lingering_time=2.0,
        )
        self._control = control
        self._journal = journal
        self._access = access
        self._page = page
        self._files = files
        self._in_request = in_request
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._by_path = {each.path: each for each in operations().values()}
        self._runs = Runs()
        self._busy: set[web.RequestHandler] = set()
        self._open: dict[web.RequestHandler, None] = {}  # but those that end
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._backlog = Backlog(Activity())  # nothing in the lab waits for its clients
        self._encoders = {
            each.key: Once(each.result.dump_json) for each in self._by_path.values() if each.streams
        }

    def __call__(self) -> web.RequestHandler:
        """Return the protocol of a new connection."""
        return ControlConnection(self, loop=self._loop, **self._kwargs)

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Add a connection. Above the limit, the oldest one without a request ends for it, or else the new one."""
        super().connection_made(handler, transport)
        self._open[handler] = None
        if len(self._open) > MAX_CONNECTIONS:
            ended = next((each for each in self._open if each not in self._busy), handler)
            del self._open[ended]
            ended.force_close()

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        self._open.pop(handler, None)
        super().connection_lost(handler, exc)

    async def shutdown(self, timeout: float | None = None) -> None:
        """End all runs and connections."""
        await self._runs.stop()
        await self._control.fleets.started.close()
        await super().shutdown(timeout)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self._busy.add(request.protocol)
        try:
            if request.protocol._messages:  # the client has sent several: others have their turn
                await self._backlog.turn()
            self._access.check_sender(request)
            if request.rel_url.path_safe == "/health":
                expect_method(request, hdrs.METH_GET)
                return await send_json(request, b'{"status":"ok"}')
            if (shown := self._page.answer(request)) is not None:
                return shown
            self._access.check_token(request)
            if len(self._busy) > MAX_REQUESTS:
                raise ControlProblem(503, f"{MAX_REQUESTS} requests and streams are open, the most at a time")
            with self._in_request():
                return await self._authenticated(request)
        except (asyncio.CancelledError, ConnectionError):
            raise
        except Exception as error:  # noqa: BLE001  each error has an answer
            return self._problem(error).response()
        finally:
            self._busy.discard(request.protocol)

    async def _authenticated(self, request: web.BaseRequest) -> web.StreamResponse:
        # path_safe keeps %2F, which is no separator (RFC 3986 2.2)
        path, headers = request.rel_url.path_safe, {}
        if path == "/openapi.json":
            expect_method(request, hdrs.METH_GET)
            return await send_json(request, await asyncio.to_thread(document_json))
        if path == RUNS or path.startswith(f"{RUNS}/"):
            return await self._runs.answer(request)
        if path.startswith(PREFIX):
            async with AsyncExitStack() as reading:
                document = await read_body(request, lambda: reading.enter_async_context(self._large))
            return self._page.answer_authenticated(request, document)
        if path not in self._by_path and (now := present(path)) != path:
            path, headers = now, {str(hdrs.LINK): f'<{now}>; rel="successor-version"'}  # RFC 5829
        operation = self._by_path.get(path)
        if operation is None:
            path = path[:200]
            similar = did_you_mean(path, self._by_path) or "; /openapi.json lists all"
            raise ControlProblem(404, f"no operation at {path!r}{similar}")
        expect_method(request, hdrs.METH_POST)
        if request.query_string:
            raise ControlProblem(
                422, f"expected arguments in the body, as JSON, not {request.query_string[:200]!r}"
            )
        if request.headers.get(hdrs.CONTENT_ENCODING, "identity").lower() != "identity":
            raise ControlProblem(415, "Content-Encoding: expected none")
        lasts = operation.waits or operation.streams
        async with AsyncExitStack() as reading:
            body = read_body(request, lambda: reading.enter_async_context(self._large))
            arguments = within(self._files, await operation.read_arguments(await body))
        async with nullcontext() if lasts else self._slots:
            if prefers_async(request) and not operation.streams:
                return await self._start_run(request, operation, arguments)
            result = await self._call(operation, arguments)
            if operation.streams:
                return await send_stream(request, result, self._encoders[operation.key], self._backlog)
            encoded = await operation.encode_result(result)
        return await send_json(request, encoded, headers=headers)

    async def _start_run(
        self, request: web.BaseRequest, operation: ControlOperation, arguments: Mapping[str, Any]
    ) -> web.StreamResponse:
        async def perform() -> bytes:
            try:
                with self._in_request():  # it goes on after the answer
                    return await operation.encode_result(await self._call(operation, arguments))
            except Exception as error:
                raise self._problem(error) from error

        run = self._runs.start(operation, perform)
        headers = {hdrs.LOCATION: f"{RUNS}/{run.id}", "Preference-Applied": "respond-async"}
        return await send_json(request, run.head(), 202, headers)

    async def _call(self, operation: ControlOperation, arguments: Mapping[str, Any]) -> Any:
        limit = asyncio.timeout(operation.limit)
        try:
            async with limit:
                return await self._control.perform(method(self._control, operation), **arguments)
        except TimeoutError:
            if not limit.expired():
                raise
            ended = f"{operation.key}: it was ended after {operation.limit:g} s, the limit over HTTP"
            raise LabError(ended) from None

    def _problem(self, error: Exception) -> ControlProblem:
        """Return the refusal that an error means. The journal gets an unexpected one, the client no inner text."""
        if isinstance(error, ControlProblem):
            return error
        if isinstance(error, LabkitError):
            return problem_of(error)
        self._journal.record_error(error)
        return ControlProblem(500, "labkit has an error; the lab's journal has its trace")
