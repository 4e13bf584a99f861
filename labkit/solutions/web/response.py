"""HTTP response of a route's handler: status, headers and body."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from aiohttp import hdrs, web

from labkit.core.errors import LabkitError

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
DEFAULT_BODY = "OK"  # body of the response if a handler neither returns nor sets one
EMPTY = frozenset({204, 304})  # statuses of responses without a body (RFC 9110)
NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
UNSENDABLE = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
# The server sets the headers of framing, so those of a script are ignored.
FRAMING = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "trailer"})

LUA_TYPES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool,), "boolean"),
    ((int, float), "number"),
    ((str, bytes, bytearray), "string"),
    ((Mapping, list, tuple), "table"),
)


class ReplyError(LabkitError):
    """Error of a handler whose result cannot be sent as a response."""


@dataclass(slots=True)
class Response:
    """Response that a handler fills in: `code`, `message` (or `body`; message wins) and `headers` by name.

    A header's value may be a list, for several headers of one name.
    """

    code: Any = 200
    message: Any = None
    body: Any = None
    headers: dict[str, Any] = field(default_factory=dict)

    def set_fields(self, table: Any) -> list[str]:
        """Set the fields from the `response` table of a script, and return the names that are no fields, sorted.

        Raises ReplyError if it is not a table.
        """
        if table == []:  # an empty table of a script may arrive as a list
            table = {}
        if not isinstance(table, Mapping):
            raise ReplyError(f"response is a {lua_type(table)}, expected a table")
        self.code = table.get("code", 200)
        self.message, self.body = table.get("message"), table.get("body")
        self.headers = table.get("headers") or {}
        return [] if table.keys() <= _KNOWN else sorted(map(str, table.keys() - _KNOWN))


FIELDS = tuple(each.name for each in fields(Response))
_KNOWN = frozenset(FIELDS)


def reply(result: Any, response: Response) -> web.Response:
    """Return the HTTP response for the value that a handler returned and the response that it set.

    The body is the returned value, else `response.message`, else `response.body`, else OK.
    Text is text/plain, everything else JSON, unless a header says otherwise. Raises ReplyError.
    """
    status = response_status(response.code)
    headers = list(response_headers(response.headers))
    value = next(
        (each for each in (result, response.message, response.body) if each is not None), DEFAULT_BODY
    )
    if status in EMPTY:
        body = b""
    elif isinstance(value, bytes):
        body = value
    elif isinstance(value, str):
        body = value.encode("utf-8", "surrogateescape")
    else:
        body = encode(value)
    answer = web.Response(status=status, body=body)
    answer.headers.popall(hdrs.CONTENT_TYPE, None)
    answer.headers.extend(headers)
    if hdrs.CONTENT_TYPE not in answer.headers and status not in EMPTY:
        answer.headers[hdrs.CONTENT_TYPE] = TEXT if isinstance(value, str | bytes) else JSON
    return answer


def failure(status: int, text: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return an error response with the JSON body {error: text}."""
    return web.Response(status=status, body=encode({"error": text}), content_type=JSON, headers=headers)


def encode(value: Any) -> bytes:
    """Return JSON text, with [] for an empty list and {} for an empty table. Raises ReplyError for other values."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise ReplyError(f"the result is not JSON: {error}") from None
    try:
        return text.encode()
    except UnicodeEncodeError:  # a script's text is not UTF-8
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").encode()


def _plain(value: object) -> object:
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "replace")
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def lua_type(value: object) -> str:
    """Return the name of a value's type in Lua, or in Python if Lua has no such type."""
    if value is None:
        return "nil"
    found = next((name for kinds, name in LUA_TYPES if isinstance(value, kinds)), None)
    return found or type(value).__name__


def response_status(code: Any) -> int:
    """Return `response.code` as a status. Raises ReplyError unless it is from 200 to 599.

    1xx is refused since it is not a final response (RFC 9110 15.2).
    """
    status = code
    if isinstance(code, float) and code.is_integer():
        status = int(code)
    elif isinstance(code, str) and code.isdecimal() and code.isascii():
        status = int(code[:4])
    if isinstance(status, bool) or not isinstance(status, int) or not 200 <= status <= 599:
        shown = f"a {lua_type(code)}" if isinstance(code, Mapping | list) else repr(code)
        raise ReplyError(f"response.code is {shown}, expected a status from 200 to 599")
    return status


def response_headers(given: Any) -> Iterator[tuple[str, str]]:
    """Return `response.headers` as pairs of name and value, without framing headers. Raises ReplyError."""
    if not isinstance(given, Mapping):
        kind = "list" if isinstance(given, list) else lua_type(given)
        raise ReplyError(f"response.headers: expected values by name, as Allow: GET, not a {kind}")
    for name, values in given.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ReplyError(f"response.headers: {name!r} is not the name of a header")
        if name.lower() in FRAMING:
            continue
        for value in values if isinstance(values, list | tuple) else [values]:
            text = _header_text(name, value)
            if found := UNSENDABLE.search(text):
                wrong = "is not UTF-8" if found[0] >= "\ud800" else "holds a control character"
                raise ReplyError(f"response.headers: the value of {name} {wrong}")
            yield name, text


def _header_text(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    kind = f"a {lua_type(value)}"
    if isinstance(value, Mapping) and {"error", "status"} <= value.keys():
        kind = f"the error object of a call, status {value['status']}"
    raise ReplyError(f"response.headers: the value of {name} is {kind}, expected a string")
