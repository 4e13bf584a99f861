"""Faults of requests: before a site works, and again before its answer leaves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NoReturn
from urllib.parse import quote

from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from labkit.faults.fault import Fault
from labkit.faults.message import Message, is_of_body
from labkit.faults.responses import answered, change_of, message_of
from labkit.faults.tools import Tools
from labkit.http.bodies import BODY, read_body
from labkit.http.connection import Connection
from labkit.http.cut import ConnectionCut
from labkit.http.error import HttpError

KEPT = "/:@!$&'()*+,;=[]"  # characters of a path and of a query that need no percent-encoding
Response = web.StreamResponse


class FaultAnswer(Exception):
    """A request is answered by a fault, and not by the site, which does no work."""

    def __init__(self, response: Response) -> None:
        super().__init__("a fault's")
        self.response = response


@dataclass(slots=True)
class Asked:
    """A request that faults may hit.

    path: decoded; query: as it came; actor: the journal's; cause: sequence of the request's record; product,
    identity, solution: whose it is, where that is known; given: what was asked, where a fault looked at it.
    awaited: the key of its answer, where the platform itself waits for that; answered: faults have seen the answer, or
    gave it.
    """

    method: str
    path: str
    query: str
    site: str
    actor: str
    cause: int
    connection: Connection
    product: str | None = None
    identity: str | None = None
    solution: str | None = None
    given: Message | None = None
    awaited: str = ""
    answered: bool = False


@dataclass(frozen=True, slots=True)
class Given:
    """A request as a site gets it, which faults may look at and change. limit: bytes of a body; guard: real seconds
    that it may take.
    """

    request: web.BaseRequest
    path: str
    query: str
    site: str
    limit: int
    guard: float
    product: str | None = None
    solution: str | None = None
    message: Message | None = None


class Requests:
    """The faults of requests that a lab has, oldest first."""

    def __init__(self, faults: tuple[Fault, ...], tools: Tools) -> None:
        self._looking = tuple(each for each in faults if each.if_given or each.changes_given)
        self._before = tuple(each for each in faults if each.phase == "before" and not each.changes_given)
        self._after = tuple(each for each in faults if each.phase == "after")
        self._tools = tools

    async def given(self, given: Given, actor: str, cause: int | None = None) -> Given:
        """The request as faults change it, and with what they have to know of it later.

        Raises HttpError where they have to read its body, and it does not come, or is too large.
        """
        here = [each for each in self._looking if _may_concern(each, given)]
        if not here:
            return given
        data = None
        if any(is_of_body(path) for each in here for path in (*each.if_given, *each.changes.paths)):
            data = await read_body(given.request, given.limit, given.guard)
        message = _message(given, data)
        changed = False
        for fault in here:
            if not fault.changes_given or not fault.if_given.hold(message.values):
                continue
            draft = message.copy()
            if draft.apply(fault.changes) and self._tools.hits(fault, actor, cause):
                message, changed = draft, True
        return _as_changed(given, message, data, changed)

    async def before(self, asked: Asked) -> None:
        """Hold the request; then raise FaultAnswer, HttpError (an error status, in the site's own form) or
        ConnectionCut where a fault comes instead of the work.
        """
        for fault in self._before:
            if not _concerns(fault, asked) or not self._tools.hits(fault, asked.actor, asked.cause):
                continue
            await self._hold(fault, asked)
            if fault.settings.cut is not None:
                raise ConnectionCut(fault.reason)
            if fault.settings.status is not None or fault.settings.body is not None:
                asked.answered = True
                _raise_answer(fault)

    async def after(self, asked: Asked, response: Response) -> Response:
        """The answer as it leaves: what a site answers, refusals too. Raises ConnectionCut where none leaves."""
        if asked.answered:
            return response
        asked.answered = True
        for fault in self._after:
            if fault.settings.if_status not in (None, response.status) or not _concerns(fault, asked):
                continue
            if fault.if_answer and not fault.if_answer.hold(message_of(response).values):
                continue
            change = change_of(fault, response)
            if change is None or not self._tools.hits(fault, asked.actor, asked.cause):
                continue
            await self._hold(fault, asked)
            changed = change()
            if changed is None:
                raise ConnectionCut(fault.reason)
            response = changed
        return response

    async def around(self, asked: Asked, work: Callable[[], Awaitable[Response]]) -> Response:
        """The answer to a request of a site that knows from the start whose it is: before, the work, after."""
        try:
            await self.before(asked)
        except FaultAnswer as fault:
            return fault.response
        return await self.after(asked, await work())

    async def _hold(self, fault: Fault, asked: Asked) -> None:
        if fault.settings.delay is not None:
            asked.connection.watch_input()
            with self._tools.awaited.held(asked.awaited):
                await self._tools.hold(fault, asked.actor)


def _concerns(fault: Fault, asked: Asked) -> bool:
    full = f"{asked.path}?{asked.query}"
    target = full if "?" in fault.place.second else asked.path
    return (
        fault.is_at(asked.method, target)
        and fault.is_for(
            site=asked.site, product=asked.product, identity=asked.identity, solution=asked.solution
        )
        and (not fault.if_given or (asked.given is not None and fault.if_given.hold(asked.given.values)))
    )


def _may_concern(fault: Fault, given: Given) -> bool:
    """May a fault hit a request, whoever's it turns out to be?"""
    target = f"{given.path}?{given.query}" if "?" in fault.place.second else given.path
    return fault.is_at(given.request.method, target) and fault.is_at_site(
        given.site, given.product, given.solution
    )


def _message(given: Given, data: bytes | None) -> Message:
    text = None
    if data is not None:
        with suppress(UnicodeDecodeError):
            text = data.decode()
    return Message(CIMultiDict(given.request.headers), text, given.path, given.query)


def _as_changed(given: Given, message: Message, data: bytes | None, changed: bool) -> Given:
    request = given.request
    if changed:
        request = request.clone(headers=message.headers)
    if (message.path, message.query) != (given.path, given.query):
        path, query = quote(f"/{message.path.removeprefix('/')}", KEPT), quote(message.query, KEPT + "?%")
        request = request.clone(rel_url=URL(f"{path}?{query}" if query else path, encoded=True))
    if data is not None:
        request[BODY] = data if message.text is None else message.text.encode("utf-8", "surrogatepass")
    return replace(given, request=request, path=message.path, query=message.query, message=message)


def _raise_answer(fault: Fault) -> NoReturn:
    """Raise what a fault answers instead of a site."""
    settings = fault.settings
    status = settings.status or 200
    if settings.body is None and status >= 400:  # the site says it in its own form
        raise HttpError(status, fault.reason, settings.headers)
    raise FaultAnswer(answered(fault, web.Response(status=status)))
