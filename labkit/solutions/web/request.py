"""HTTP request as a route's handler receives it, and the parsing of queries, headers and bodies."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from multidict import CIMultiDictProxy

from labkit.http.error import HttpError
from labkit.solutions.lua.convert import DEPTH

FORM = "application/x-www-form-urlencoded"
MOST_PAIRS = 10_000  # pairs of a form or a query


@dataclass(slots=True)
class Request:
    """Request to a route.

    uri: the full URL; route: the path template; parameters: of the path and the query, with a list for a repeated name;
    those of the path take precedence; headers: names in lower case; body: see `decode`; server_ip: address of the lab;
    timestamp: lab time in microseconds. long: whether the body is so long that a thread converts it; not visible to
    scripts.
    """

    uri: str
    route: str
    method: str
    parameters: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = field(default_factory=dict)
    ip: str = ""
    server_ip: str = ""
    request_id: str = ""
    timestamp: int = 0
    long: bool = False

    def table(self) -> dict[str, Any]:
        """Return the request as a table for a script."""
        return {name: getattr(self, name) for name in _SHOWN}


_SHOWN = tuple(name for name in Request.__slots__ if name != "long")


def query(text: str) -> dict[str, Any]:
    """Return the parameters of a query. Raises HttpError 400 if they are not percent-encoded UTF-8, or too many."""
    try:
        return grouped(pairs(text))
    except ValueError as error:
        raise HttpError(400, f"query: {error}") from None


def headers(given: CIMultiDictProxy[str]) -> dict[str, str]:
    """Return headers by lower-case name; repeated ones are joined (RFC 9110 5.3; RFC 6265 for cookies)."""
    joined: dict[str, str] = {}
    for name, value in given.items():
        name = name.lower()
        if not value.isascii():  # decoded as UTF-8, else as ISO-8859-1
            raw = value.encode("utf-8", "surrogateescape")
            value = text if isinstance(text := _text(raw), str) else raw.decode("latin-1")
        separator = "; " if name == "cookie" else ", "
        joined[name] = f"{joined[name]}{separator}{value}" if name in joined else value
    return joined


def decode(data: bytes, expected: str, declared: str | None) -> Any:
    """Return the body that a handler receives. expected: the route's content type; declared: the request's.

    A JSON route gets the parsed JSON; a form route gets a table, with a list for a repeated name; every other
    route gets text. A body of another declared type stays text, except that a JSON route accepts an object
    or array in JSON under any declared type (curl's -d declares a form). A missing body is an empty table. Text that is
    not UTF-8 stays bytes. Raises HttpError 400 for a body that violates its declared type.
    """
    if not data:
        return {}
    expected, sent = media_type(expected), media_type(declared or expected)
    if is_json(expected) or (is_json(sent) and expected == FORM):
        if is_json(sent):
            return parse_json(data)
        if data.lstrip()[:1] in (b"{", b"["):
            try:
                return parse_json(data)
            except HttpError:
                return _text(data)
    if expected == sent == FORM:
        try:
            return grouped(pairs(data.decode()))
        except ValueError as error:
            raise HttpError(400, f"body: {error}") from None
    return _text(data)


def pairs(text: str) -> list[tuple[str, str]]:
    """Return the pairs of a form or a query. Raises ValueError if they are not percent-encoded UTF-8, or too many."""
    if text.count("&") >= MOST_PAIRS:
        raise ValueError(f"more than {MOST_PAIRS:,} pairs")
    return parse_qsl(text, keep_blank_values=True, errors="strict")


def parse_json(data: bytes) -> Any:
    """Return the value of JSON text (RFC 8259); null is an empty table.

    Raises HttpError 400 for other text, and for JSON nested DEPTH deep or deeper, which scripts cannot receive.
    """
    try:
        value = json.loads(data.decode("utf-8-sig"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise HttpError(400, f"body: not JSON: {error}") from None
    if data.count(b"[") + data.count(b"{") >= DEPTH and isinstance(value, dict | list) and _too_deep(value):
        raise HttpError(400, f"body: nested {DEPTH} deep or deeper")
    return {} if value is None else value


def _too_deep(value: Any) -> bool:
    """Return whether a list or table is nested in DEPTH - 1 others."""
    level = [value]
    for _ in range(DEPTH - 1):
        level = [
            item
            for each in level
            for item in (each.values() if type(each) is dict else each)
            if type(item) is dict
            or type(item) is list  # the types that json creates; isinstance takes twice as long
        ]
        if not level:
            return False
    return True


def media_type(content_type: str) -> str:
    """Return a content type without parameters, in lower case: `application/json`."""
    return content_type.split(";", 1)[0].strip().lower()


def is_json(media: str) -> bool:
    """Return whether a media type is JSON: `application/json`, or with the suffix +json (RFC 6839)."""
    return media == "application/json" or media.endswith("+json")


def grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return pairs as a table, with a list for a repeated name."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name not in found:
            found[name] = value
        elif isinstance(found[name], list):
            found[name].append(value)
        else:
            found[name] = [found[name], value]
    return found


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
