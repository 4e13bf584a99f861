"""Server of the control operations, on a listener of its own."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

from aiohttp import hdrs, web
from pydantic import ValidationError

from labkit.control.control import Control
from labkit.control.over_http.access import Access
from labkit.control.over_http.answers import send_json, send_stream
from labkit.control.over_http.bodies import read_body
from labkit.control.over_http.files import within
from labkit.control.over_http.openapi import document
from labkit.control.over_http.operations import ControlOperation, method, operations
from labkit.control.over_http.problem import ControlProblem, problem_of, wrong_arguments
from labkit.core.errors import LabkitError
from labkit.core.journal import Journal

AT_ONCE = 32  # requests, beside waits and streams
MAX_CONNECTIONS = 256
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
    by an interrupt.
    """

    def __init__(self, control: Control, journal: Journal, access: Access, files: Path | None = None) -> None:
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
        self._files = files
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._by_path = {each.path: each for each in operations().values()}
        self._busy: set[web.RequestHandler] = set()

    def __call__(self) -> web.RequestHandler:
        """Return the protocol of a new connection."""
        return ControlConnection(self, loop=self._loop, **self._kwargs)

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Add a connection. Above the limit, the oldest one without a request ends for it, or else the new one."""
        super().connection_made(handler, transport)
        if len(self._connections) > MAX_CONNECTIONS:
            idle = (each for each in self._connections if each not in self._busy)
            next(idle, handler).force_close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self._busy.add(request.protocol)
        try:
            self._access.check_sender(request)
            if request.path == "/health":
                _expect_method(request, hdrs.METH_GET)
                return await send_json(request, b'{"status":"ok"}')
            self._access.check_token(request)
            return await self._authenticated(request)
        except ControlProblem as problem:
            return problem.response()
        except LabkitError as error:
            return problem_of(error).response()
        except ValidationError as error:
            return wrong_arguments(error).response()
        except (asyncio.CancelledError, ConnectionError):
            raise
        except Exception as error:  # noqa: BLE001  the journal has it, the client gets no inner text
            self._journal.record_error(error)
            return ControlProblem(500, "labkit has an error; the lab's journal has its trace").response()
        finally:
            self._busy.discard(request.protocol)

    async def _authenticated(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/openapi.json":
            _expect_method(request, hdrs.METH_GET)
            return await send_json(request, json.dumps(document()).encode())
        operation = self._by_path.get(request.path)
        if operation is None:
            raise ControlProblem(404, f"no operation at {request.path[:200]!r}; /openapi.json lists all")
        _expect_method(request, hdrs.METH_POST)
        if request.headers.get(hdrs.CONTENT_ENCODING, "identity").lower() != "identity":
            raise ControlProblem(415, "Content-Encoding: expected none")
        if operation.waits or operation.streams:
            return await self._run(request, operation)
        async with self._slots:
            return await self._run(request, operation)

    async def _run(self, request: web.BaseRequest, operation: ControlOperation) -> web.StreamResponse:
        body = await read_body(request)
        arguments = within(self._files, operation.decode_arguments(body))
        call: Callable[..., Awaitable[Any]] = method(self._control, operation)
        result = await call(**arguments)
        if operation.streams:
            return await send_stream(request, operation, result)
        return await send_json(request, await operation.encode_result(result))


def _expect_method(request: web.BaseRequest, expected: str) -> None:
    if request.method != expected:
        raise ControlProblem(405, f"expected {expected}", headers={hdrs.ALLOW: expected})
