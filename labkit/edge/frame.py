"""Processing of a request that is the same at every site: its record in the journal, its faults and its refusal."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from labkit.context import Context
from labkit.core.errors import StorageError
from labkit.faults import FaultAnswer
from labkit.http.codings import packed
from labkit.http.connection import Connection, peer_name
from labkit.http.error import ConnectionCut, HttpError
from labkit.http.reply import Answer, Reply, as_response
from labkit.http.request import SiteRequest
from labkit.http.sites import Site, SiteExchange
from labkit.labtime.story_work import STORY_REQUEST
from labkit.services.redaction import shown_text

LONGEST = 64 * 1024  # bytes of a body that is shown


def shown_body(site: Site[Any], body: object) -> str:
    """Return the text of a body without secrets; empty if it is no text, or not of a device or a solution."""
    if site.product is None and site.solution is None:
        return ""
    if not isinstance(body, bytes) or not 0 < len(body) <= LONGEST:
        return ""
    try:
        return shown_text(body.decode())
    except UnicodeDecodeError:
        return ""


def shown_bodies(site: Site[Any], request: SiteRequest, answer: Answer) -> dict[str, str]:
    """Return the texts of a request's body, as `given`, and of its answer's, as `body`, where `shown_body` has one."""
    bodies = {"given": request.whole, "body": getattr(answer, "body", None)}
    return {name: text for name, each in bodies.items() if (text := shown_body(site, each))}


async def respond(context: Context, site: Site[Any], connection: Connection, request: SiteRequest) -> Answer:
    """Return the answer of a site to a request, and complete the request's record in the journal in any case.

    Raises ConnectionCut where there is no answer, and every exception of the site but HttpError.
    """
    exchange = site.exchange(connection, request)
    try:
        try:
            if (faults := context.faults.requests) is not None:
                await faults.change_request(exchange, context.settings.guard.body)
            answer: Answer = await site.answer(exchange)
        except HttpError as refusal:
            exchange.add_detail(reason=refusal.reason, **unknown_sender(exchange))
            answer = site.refusal(exchange, refusal)
            if refusal.closes:
                answer = as_response(answer)
                answer.force_close()
        except FaultAnswer as fault:
            answer = fault.response
        if not isinstance(answer, Reply):
            site.complete(exchange, answer)
        if (faults := context.faults.requests) is not None:
            answer = await faults.change_answer(exchange, as_response(answer))
        if (
            connection.cut_reason is not None
        ):  # within the request's own work: an event that restarts the platform
            raise ConnectionCut(connection.cut_reason)
        (record := exchange.record or exchange.identify()).status = answer.status
        if context.settings.journal.values and (shown := shown_bodies(site, exchange.request, answer)):
            exchange.add_detail(**shown)
        answer = packed(answer, request.headers) if site.codings else answer
        record.size = answer.size if isinstance(answer, Reply) else body_size(answer)
        return answer
    except ConnectionCut as cut:
        exchange.add_detail(reason=str(cut))
        raise
    except asyncio.CancelledError:
        exchange.add_detail(reason=connection.cut_reason or exchange.cancel_reason)
        raise
    except Exception as error:
        # The server answers, and reports the error.
        exchange.identify().status = error.status if isinstance(error, StorageError) else 500
        raise
    finally:
        exchange.end()


async def respond_to_story(
    context: Context, site: Site[Any], connection: Connection, request: SiteRequest
) -> Answer:
    """Answer like `respond`, and take over the count of a story's request meanwhile (`core.work`)."""
    request_of_story = context.story_requests.get(connection.peer_port)
    if request_of_story is None:
        return await respond(context, site, connection, request)
    request_of_story.received()
    token = STORY_REQUEST.set(request_of_story)
    try:
        return await respond(context, site, connection, request)
    finally:
        STORY_REQUEST.reset(token)
        request_of_story.answered()


def unknown_sender(exchange: SiteExchange) -> dict[str, str]:
    """Return the address and port of a client that sent a request to a product and is none of its devices."""
    peer = peer_name(exchange.connection.peer_ip, exchange.connection.peer_port)
    nameless = exchange.site.product is not None and exchange.identify().actor == exchange.site.actor
    return {"peer": peer} if peer and nameless else {}


def body_size(response: web.StreamResponse) -> int | None:
    """Return the number of bytes of a response's body, None if it is not known.

    A download knows it in any framing.
    """
    size: int | None = getattr(response, "size", None)
    return response.content_length if size is None else size
