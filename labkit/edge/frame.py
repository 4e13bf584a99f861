"""The frame around every site: a request's record in the journal, its faults, its refusal and its end."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from labkit.context import Context
from labkit.core.errors import StorageError
from labkit.faults import FaultAnswer
from labkit.http.connection import Connection
from labkit.http.cut import ConnectionCut
from labkit.http.error import HttpError
from labkit.http.sites import Site


async def respond(
    context: Context, site: Site[Any], connection: Connection, request: web.BaseRequest
) -> web.StreamResponse:
    """Return the answer of a site to a request; however that ends, the journal has its record.

    Raises ConnectionCut where there is no answer, and what the site raises beside HttpError.
    """
    exchange = site.exchange(connection, request)
    try:
        try:
            if (faults := context.faults.requests) is not None:
                await faults.change_request(exchange, context.settings.guard.body)
            response: web.StreamResponse = await site.answer(exchange)
        except HttpError as refusal:
            exchange.add_detail(reason=refusal.reason)
            response = site.refusal(exchange, refusal)
            if refusal.closes:
                response.force_close()
        except FaultAnswer as fault:
            response = fault.response
        site.complete(exchange, response)
        if (faults := context.faults.requests) is not None:
            response = await faults.change_answer(exchange, response)
        record = exchange.record or exchange.identify()
        record.status = response.status
        size: int | None = getattr(
            response, "size", None
        )  # as a reply of the device API knows it, at less cost
        record.size = response.content_length if size is None else size
        return response
    except ConnectionCut as cut:
        exchange.add_detail(reason=str(cut))
        raise
    except asyncio.CancelledError:
        exchange.add_detail(reason=exchange.cancel_reason)
        raise
    except Exception as error:
        # The server answers, and reports the error.
        exchange.identify().status = error.status if isinstance(error, StorageError) else 500
        raise
    finally:
        exchange.end()
