"""Functions with which faults create responses, or change them before they are sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, runtime_checkable

from aiohttp import hdrs, web
from multidict import CIMultiDict

from labkit.faults.fault import ActiveFault
from labkit.faults.message import FieldMessage
from labkit.http.error import CutResponse
from labkit.settings.fault_values import FRAMING

EMPTY = (204, 304)  # statuses of answers without a body
Response = web.StreamResponse
Change = Callable[[], Response | None]


@runtime_checkable
class Breakable(Protocol):
    """A response that is sent in parts, and can be ended in the middle."""

    def break_off(self) -> None:
        """Send half of the response, then close the connection."""


def response_change(fault: ActiveFault, response: Response) -> Change | None:
    """Return the function that applies a fault to a response, or None where it has nothing to change.

    The function returns the changed response, or None where no response is sent.
    """
    settings = fault.settings
    if response.prepared:
        return None  # the response was sent already
    if settings.cut is not None:
        return partial(_broken_off, response) if settings.cut == "inside" else _no_answer
    if fault.changes:
        message = message_of(response)
        if not message.apply(fault.changes):
            return None
        return lambda: apply_fault(fault, _with_message(response, message))
    if settings.status is not None or settings.body is not None:
        return partial(apply_fault, fault, response)
    if settings.headers is not None:
        there = any(value or name in response.headers for name, value in settings.headers.items())
        return partial(apply_fault, fault, response) if there else None
    return partial(_same, response)  # only delayed


def apply_fault(fault: ActiveFault, response: Response) -> Response:
    """Return the response with the status, body and headers of a fault, as far as it defines them."""
    settings = fault.settings
    status = settings.status or response.status
    if status in EMPTY and (settings.body is not None or not _is_empty(response)):
        response = web.Response(status=status, headers=_kept(response, hdrs.CONTENT_TYPE))
    elif settings.body is not None:
        response = _with_body(response, settings.body)
    response.set_status(status)
    for name, value in (settings.headers or {}).items():
        response.headers.popall(name, None)
        if value:
            response.headers[name] = value
    return response


def _is_empty(response: Response) -> bool:
    return isinstance(response, web.Response) and not response.body


def _kept(response: Response, *without: str) -> dict[str, str]:
    left_out = {hdrs.CONTENT_LENGTH, hdrs.TRANSFER_ENCODING, *without}
    return {name: value for name, value in response.headers.items() if name not in left_out}


def _with_body(response: Response, body: Any) -> web.Response:
    """Return another response with this body: text unchanged, data as JSON."""
    type = "text/plain; charset=utf-8" if isinstance(body, str) else "application/json; charset=utf-8"
    data = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    headers = {**_kept(response, hdrs.CONTENT_TYPE), hdrs.CONTENT_TYPE: type}
    return web.Response(status=response.status, body=data.encode("utf-8", "replace"), headers=headers)


def message_of(response: Response) -> FieldMessage:
    """Return a response as a message, without a text if its body is no text, or is sent in parts."""
    body = response.body if isinstance(response, web.Response) else None
    text = None
    if isinstance(body, bytes | bytearray):
        with suppress(UnicodeDecodeError):
            text = body.decode()
    return FieldMessage(CIMultiDict(response.headers), text)


def _with_message(response: Response, message: FieldMessage) -> Response:
    headers, text = response.headers, message.text
    if isinstance(response, web.Response) and text is not None:
        response.body = text.encode("utf-8", "surrogatepass")
    for name in {*headers, *message.headers}:
        values = message.headers.getall(name, [])
        if values != headers.getall(name, []) and name.lower() not in FRAMING:
            headers.popall(name, None)
            for value in values:
                headers.add(name, value)
    return response


def _broken_off(response: Response) -> Response | None:
    """Return a response that ends in the middle of its body; None where it has no body."""
    if isinstance(response, Breakable):
        response.break_off()
        return response
    if not isinstance(response, web.Response) or not isinstance(response.body, bytes | bytearray):
        return None
    return CutResponse.from_response(response) if len(response.body) > 1 else None


def _no_answer() -> None:
    return None


def _same(response: Response) -> Response:
    return response
