"""Faults of requests: before a site works, and again before its answer leaves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NoReturn

from aiohttp import web

from labkit.faults.fault import Fault
from labkit.faults.responses import answered, change_of
from labkit.faults.tools import Tools
from labkit.http.connection import Connection
from labkit.http.cut import ConnectionCut
from labkit.http.error import HttpError

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
    identity, solution: whose it is, where that is known. answered: faults have seen the answer, or gave it.
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
    answered: bool = False


class Requests:
    """The faults of requests that a lab has, oldest first."""

    def __init__(self, faults: tuple[Fault, ...], tools: Tools) -> None:
        self._before = tuple(each for each in faults if each.phase == "before")
        self._after = tuple(each for each in faults if each.phase == "after")
        self._tools = tools

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
            await self._tools.hold(fault, asked.actor)


def _concerns(fault: Fault, asked: Asked) -> bool:
    full = f"{asked.path}?{asked.query}"
    target = full if "?" in fault.place.second else asked.path
    return fault.is_at(asked.method, target) and fault.is_for(
        site=asked.site, product=asked.product, identity=asked.identity, solution=asked.solution
    )


def _raise_answer(fault: Fault) -> NoReturn:
    """Raise what a fault answers instead of a site."""
    settings = fault.settings
    status = settings.status or 200
    if settings.body is None and status >= 400:  # the site says it in its own form
        raise HttpError(status, fault.reason, settings.headers)
    raise FaultAnswer(answered(fault, web.Response(status=status)))
