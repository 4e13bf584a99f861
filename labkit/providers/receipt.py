"""A request on its way through a provider: its line in the inbox, its record in the journal, the faults that hit it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import unquote

from aiohttp import web

from labkit.context import Context
from labkit.core.bounded import cut_text
from labkit.core.hiding import without_issued_in_path
from labkit.core.journal import Record
from labkit.faults import AWAITED, Asked, FaultAnswer, Given
from labkit.http.connection import Connection
from labkit.http.cut import ConnectionCut
from labkit.providers.inbox import Arrival, Inbox

BODY_LIMIT = 1024 * 1024  # bytes of a body that faults look at
LONGEST_PATH = 1024  # characters of a path that the inbox keeps


@dataclass(slots=True)
class Receipt:
    """A request that arrived. actor: the journal's, whose the request is."""

    context: Context
    connection: Connection
    request: web.BaseRequest
    site: str
    actor: str
    record: Record
    arrival: Arrival
    asked: Asked | None = None

    async def meet_faults(self) -> None:
        """Called before the work, and before the body is read: a fault may change the request.

        Raises FaultAnswer, HttpError or ConnectionCut where a fault comes instead of the work.
        """
        if (faults := self.context.faults.requests) is None:
            return
        asked, url = self._asked(), self.request.rel_url
        guard = self.context.settings.guard.body
        given = await faults.given(
            Given(self.request, asked.path, url.raw_query_string, self.site, BODY_LIMIT, guard),
            self.actor,
            self.record.sequence,
        )
        self.request, asked.given = given.request, given.message
        await faults.before(asked)

    def _asked(self) -> Asked:
        if self.asked is None:
            url = self.request.rel_url
            self.asked = Asked(
                self.request.method,
                unquote(url.raw_path),
                url.raw_query_string,
                self.site,
                self.actor,
                self.record.sequence,
                self.connection,
                awaited=self.request.headers.get(AWAITED, ""),
            )
        return self.asked

    async def _changed(self, response: web.StreamResponse) -> web.StreamResponse:
        faults = self.context.faults.requests
        return response if faults is None else await faults.after(self._asked(), response)

    def _end(self) -> None:
        """Have the journal tell what is known now."""
        record, arrival = self.record, self.arrival
        record.status = arrival.status
        detail: dict[str, object] = {"parameters": dict(arrival.parameters), "answer": arrival.answer}
        record.detail = detail | ({"fault": arrival.fault} if arrival.fault else {})
        self.context.journal.end(record)


async def receive(
    context: Context,
    connection: Connection,
    request: web.BaseRequest,
    *,
    site: str,
    actor: str,
    inbox: Inbox,
    cause: int | None,
    respond: Callable[[Receipt], Awaitable[web.StreamResponse]],
) -> web.StreamResponse:
    """Take in a request and answer it. Raises ConnectionCut where it gets no answer.

    cause: the journal's record that led to it; respond: asks `meet_faults` before it works.
    """
    path = request.rel_url.raw_path
    record = context.journal.open(
        "request", actor, f"{request.method} {without_issued_in_path(path)}", cause=cause
    )
    arrival = inbox.receive(Arrival(context.clock.now(), request.method, cut_text(path, LONGEST_PATH), {}))
    receipt = Receipt(context, connection, request, site, actor, record, arrival)
    try:
        try:
            response = await respond(receipt)
        except FaultAnswer as fault:
            arrival.answer = str(fault)
            response = fault.response
        response = await receipt._changed(response)
    except (ConnectionCut, asyncio.CancelledError):  # the latter: whoever asked has left
        receipt._end()
        raise
    arrival.status = response.status
    record.size = response.content_length
    receipt._end()
    return response


async def unanswered(fault: str, patience: float) -> None:
    """What the faults `slow` and `down` do: nothing for any other. Raises ConnectionCut.

    patience: real seconds after which a caller gives up; who is slow holds the answer for twice as long.
    """
    if fault == "slow":
        await asyncio.sleep(2 * patience)
    if fault in ("slow", "down"):
        raise ConnectionCut(fault)
