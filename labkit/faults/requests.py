"""Faults of requests: applied before a site handles a request, and to its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NoReturn
from urllib.parse import quote

from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from labkit.faults.fault import ActiveFault
from labkit.faults.message import Message, is_of_body
from labkit.faults.responses import apply_fault, message_of, response_change
from labkit.faults.tools import Tools
from labkit.http.bodies import BODY, read_body
from labkit.http.connection import Connection
from labkit.http.cut import ConnectionCut
from labkit.http.error import HttpError

KEPT = "/:@!$&'()*+,;=[]"  # characters of a path and of a query that need no percent-encoding
Response = web.StreamResponse


class FaultAnswer(Exception):
    """Raised where a fault answers a request, so that the site does not handle it."""

    def __init__(self, response: Response) -> None:
        super().__init__("a fault's")
        self.response = response


@dataclass(slots=True)
class Asked:
    """The attributes of a request that faults match.

    path: decoded; query: as received; actor: the journal's; cause: sequence of the request's record; product,
    identity, solution: the owner, where known; given: the request as a fault read it; awaited: the key under
    which the platform itself waits for the answer; answered: whether faults have processed the answer, or gave
    it.
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
    """A request before a site handles it, which faults may read and change.

    limit: bytes of a body; guard: real seconds in which the body has to arrive.
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
    """The active faults of requests, oldest first."""

    def __init__(self, faults: tuple[ActiveFault, ...], tools: Tools) -> None:
        self._looking = tuple(each for each in faults if each.if_given or each.changes_given)
        self._before = tuple(each for each in faults if each.phase == "before" and not each.changes_given)
        self._after = tuple(each for each in faults if each.phase == "after")
        self._tools = tools

    async def given(self, given: Given, actor: str, cause: int | None = None) -> Given:
        """Return the request as faults change it, with the message that they match later.

        Raises HttpError where the faults need its body, and it does not arrive, or is too large.
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
        """Apply the faults that act before the site: delay the request, or replace its handling.

        Raises FaultAnswer, HttpError (an error status, in the site's own form) or ConnectionCut instead of the
        handling.
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
        """Return the answer (a refusal too) as faults change it. Raises ConnectionCut where none is sent."""
        if asked.answered:
            return response
        asked.answered = True
        for fault in self._after:
            if fault.settings.if_status not in (None, response.status) or not _concerns(fault, asked):
                continue
            if fault.if_answer and not fault.if_answer.hold(message_of(response).values):
                continue
            change = response_change(fault, response)
            if change is None or not self._tools.hits(fault, asked.actor, asked.cause):
                continue
            await self._hold(fault, asked)
            changed = change()
            if changed is None:
                raise ConnectionCut(fault.reason)
            response = changed
        return response

    async def around(self, asked: Asked, work: Callable[[], Awaitable[Response]]) -> Response:
        """Apply `before`, run `work`, apply `after`: for a site that knows the owner of a request from the start."""
        try:
            await self.before(asked)
        except FaultAnswer as fault:
            return fault.response
        return await self.after(asked, await work())

    async def _hold(self, fault: ActiveFault, asked: Asked) -> None:
        if fault.settings.delay is not None:
            asked.connection.watch_input()
            with self._tools.awaited.suspended(asked.awaited):
                await self._tools.hold(fault, asked.actor)


def _concerns(fault: ActiveFault, asked: Asked) -> bool:
    full = f"{asked.path}?{asked.query}"
    target = full if "?" in fault.place.second else asked.path
    return (
        fault.is_at(asked.method, target)
        and fault.is_for(
            site=asked.site, product=asked.product, identity=asked.identity, solution=asked.solution
        )
        and (not fault.if_given or (asked.given is not None and fault.if_given.hold(asked.given.values)))
    )


def _may_concern(fault: ActiveFault, given: Given) -> bool:
    """Return whether a fault may hit a request whose device is not known yet."""
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


def _raise_answer(fault: ActiveFault) -> NoReturn:
    """Raise the answer that a fault gives instead of the site."""
    settings = fault.settings
    status = settings.status or 200
    if settings.body is None and status >= 400:  # the site says it in its own form
        raise HttpError(status, fault.reason, settings.headers)
    raise FaultAnswer(apply_fault(fault, web.Response(status=status)))
