"""Faults of requests: applied before a site handles a request, and to its answer."""

from __future__ import annotations

from contextlib import suppress
from typing import NoReturn
from urllib.parse import quote

from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from labkit.faults.awaited import AWAITED
from labkit.faults.fault import ActiveFault
from labkit.faults.message import FieldMessage, is_of_body
from labkit.faults.responses import apply_fault, message_of, response_change
from labkit.faults.tools import FaultTools
from labkit.http.error import ConnectionCut, HttpError
from labkit.http.sites import SiteExchange

SAFE = "/:@!$&'()*+,;=[]"  # characters of a path and of a query that need no percent-encoding
Response = web.StreamResponse


class FaultAnswer(Exception):
    """Answer of a fault to a request, raised so that the site does not handle it."""

    def __init__(self, response: Response) -> None:
        super().__init__("a fault's")
        self.response = response


class IncomingFaults:
    """The active faults of requests, oldest first."""

    def __init__(self, faults: tuple[ActiveFault, ...], tools: FaultTools) -> None:
        self._looking = tuple(each for each in faults if each.if_given or each.changes_given)
        self._before = tuple(each for each in faults if each.phase == "before" and not each.changes_given)
        self._after = tuple(each for each in faults if each.phase == "after")
        self._tools = tools

    async def change_request(self, exchange: SiteExchange, guard: float) -> None:
        """Apply the faults that change a request, and store its fields for later conditions.

        guard: real seconds until which the body has to arrive. Raises HttpError if faults need the body, and it does
        not arrive or is too large.
        """
        here = [each for each in self._looking if _may_concern(each, exchange)]
        if not here:
            return
        data = None
        if any(is_of_body(path) for each in here for path in (*each.if_given, *each.changes.paths)):
            data = await exchange.body(guard)
        message = _message(exchange, data)
        record, changed = exchange.record, False
        actor, cause = (exchange.site.actor, None) if record is None else (record.actor, record.sequence)
        for fault in here:
            if not fault.changes_given or not fault.if_given.are_met(message.values):
                continue
            draft = message.copy()
            if draft.apply(fault.changes) and self._tools.hits(fault, actor, cause):
                message, changed = draft, True
        _change(exchange, message, data, changed)

    async def apply_before(self, exchange: SiteExchange) -> None:
        """Apply the faults that act before the site: delay the request, or replace its handling.

        Raises FaultAnswer, HttpError (an error status, in the site's own form) or ConnectionCut instead of the
        handling.
        """
        record = exchange.identify()
        for fault in self._before:
            if not _concerns(fault, exchange) or not self._tools.hits(fault, record.actor, record.sequence):
                continue
            await self._delay(fault, exchange, record.actor)
            if fault.settings.forget:
                await exchange.forget_credentials()
            if fault.settings.restart:
                await self._tools.restart(fault)
            if fault.settings.restart or fault.settings.cut is not None:
                raise ConnectionCut(fault.cut_reason)
            if fault.settings.status is not None or fault.settings.body is not None:
                exchange.answered = True
                _raise_answer(fault)

    async def change_answer(self, exchange: SiteExchange, response: Response) -> Response:
        """Return the answer (or refusal) with the changes of faults. Raises ConnectionCut if a fault drops it."""
        record = exchange.identify()
        if exchange.answered:
            return response
        exchange.answered = True
        for fault in self._after:
            if fault.settings.if_status not in (None, response.status) or not _concerns(fault, exchange):
                continue
            if fault.if_answer and not fault.if_answer.are_met(message_of(response).values):
                continue
            change = response_change(fault, response)
            if change is None or not self._tools.hits(fault, record.actor, record.sequence):
                continue
            await self._delay(fault, exchange, record.actor)
            if fault.settings.restart:
                await self._tools.restart(fault)
                raise ConnectionCut(fault.cut_reason)
            changed = change()
            if changed is None:
                raise ConnectionCut(fault.cut_reason)
            if fault.settings.cut is not None:  # inside the answer
                exchange.add_detail(reason=fault.cut_reason)
            response = changed
        return response

    async def _delay(self, fault: ActiveFault, exchange: SiteExchange, actor: str) -> None:
        if fault.settings.delay is not None:
            exchange.connection.watch_input()
            with self._tools.awaited.suspended(exchange.request.headers.get(AWAITED, "")):
                await self._tools.delay(fault, actor)


def _concerns(fault: ActiveFault, exchange: SiteExchange) -> bool:
    site = exchange.site
    return (
        _is_there(fault, exchange)
        and fault.is_for(
            site=site.host, product=site.product, identity=exchange.identity, solution=site.solution
        )
        and (
            not fault.if_given
            or (exchange.field_values is not None and fault.if_given.are_met(exchange.field_values))
        )
    )


def _may_concern(fault: ActiveFault, exchange: SiteExchange) -> bool:
    """Return whether a fault may hit a request whose device is not known yet."""
    site = exchange.site
    return _is_there(fault, exchange) and fault.is_at_site(site.host, site.product, site.solution)


def _is_there(fault: ActiveFault, exchange: SiteExchange) -> bool:
    """Return whether a request has the method and path of a fault."""
    full = f"{exchange.path}?{exchange.raw_query}"
    return fault.is_at(exchange.method, full if "?" in fault.place.second else exchange.path)


def _message(exchange: SiteExchange, data: bytes | None) -> FieldMessage:
    text = None
    if data is not None:
        with suppress(UnicodeDecodeError):
            text = data.decode()
    return FieldMessage(CIMultiDict(exchange.request.headers), text, exchange.path, exchange.raw_query)


def _change(exchange: SiteExchange, message: FieldMessage, data: bytes | None, changed: bool) -> None:
    """Replace the site's request by the one that faults have changed."""
    request = exchange.request
    if changed:
        request = request.clone(headers=message.headers)
    if (message.path, message.query) != (exchange.path, exchange.raw_query):
        path, query = quote(f"/{message.path.removeprefix('/')}", SAFE), quote(message.query, SAFE + "?%")
        request = request.clone(rel_url=URL(f"{path}?{query}" if query else path, encoded=True))
    if data is not None:
        request.whole = data if message.text is None else message.text.encode("utf-8", "surrogatepass")
    exchange.request, exchange.path, exchange.raw_query = request, message.path, message.query
    exchange.field_values = message.values


def _raise_answer(fault: ActiveFault) -> NoReturn:
    """Raise the answer with which a fault replaces the site's answer."""
    settings = fault.settings
    status = settings.status or 200
    if settings.body is None and status >= 400:  # the site sends its own form of this error
        raise HttpError(status, fault.reason, settings.headers)
    raise FaultAnswer(apply_fault(fault, web.Response(status=status)))
