"""Comparisons that raise a Mismatch with the expected value, the actual value and the exchange."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from labkit.conformance.verdict import Mismatch

if TYPE_CHECKING:
    import httpx

SECRET = re.compile(r"(?i)^(authorization|x-platform-cik|cookie|set-cookie)$")
_NAMES = r"\w*(?:password|token|secret|verifier)"
SECRET_PAIR = re.compile(rf"(?i)\b({_NAMES})=[^&\s]*")
SECRET_FIELD = re.compile(rf"""(?i)(["']{_NAMES}["']: ?)(["']).*?\2""")  # in JSON, and as Python shows it
TOKEN = re.compile(
    r"\b[0-9A-Za-z]{40}\b|\beyJ[\w-]+\.[\w-]+\.[\w-]*"
)  # tokens of devices and OAuth codes; a JWT
LONGEST = 2000
MOST_KEPT = 8  # exchanges of one check
CONDITIONAL = (  # headers that an answer has only under a condition
    "Accept-Ranges Allow Content-Range Last-Modified Location Set-Cookie Transfer-Encoding WWW-Authenticate".split()
)


_compared: ContextVar[deque[Any] | None] = ContextVar("compared", default=None)


@runtime_checkable
class Shown(Protocol):
    """An exchange that can return itself as text."""

    def shown(self) -> str: ...


def equal(what: str, actual: object, expected: object, response: httpx.Response | None = None) -> None:
    """Raise Mismatch unless `actual` equals `expected`. what: the thing compared."""
    _keep(response)
    if actual != expected:
        raise Mismatch(what, hidden(repr(expected)), hidden(repr(actual)), exchange(response))


def true(what: str, holds: object, actual: object, response: httpx.Response | None = None) -> None:
    """Raise Mismatch unless `holds`. what: the statement that should hold; actual: the value seen."""
    _keep(response)
    if not holds:
        raise Mismatch(what, "that it holds", hidden(repr(actual)), exchange(response))


def status(response: httpx.Response, *expected: int) -> httpx.Response:
    """Return the response if it has one of the expected statuses. Raises Mismatch otherwise."""
    _keep(response)
    if response.status_code not in expected:
        raise Mismatch("status", " or ".join(map(str, expected)), response.status_code, exchange(response))
    return response


def header(response: httpx.Response, name: str, expected: str | re.Pattern[str] | None) -> None:
    """Raise Mismatch unless a header has this value, matches this pattern, or is absent (None)."""
    _keep(response)
    actual = response.headers.get(name)
    fits = (
        actual is not None and expected.fullmatch(actual) is not None
        if isinstance(expected, re.Pattern)
        else actual == expected
    )
    if not fits:
        wanted = expected.pattern if isinstance(expected, re.Pattern) else expected
        raise Mismatch(f"header {name}", repr(wanted), repr(actual), exchange(response))


def only_headers(response: httpx.Response, *present: str) -> None:
    """Raise Mismatch unless the response has exactly these of the conditional headers."""
    found = [name for name in CONDITIONAL if name in response.headers]
    equal("headers that come on a condition", found, sorted(present), response)


def body(response: httpx.Response, expected: str | bytes | re.Pattern[str]) -> None:
    """Raise Mismatch unless the body is this text, these bytes, or matches this pattern."""
    _keep(response)
    if isinstance(expected, re.Pattern):
        if not expected.fullmatch(response.text):
            raise Mismatch("body", expected.pattern, hidden(repr(response.text)), exchange(response))
        return
    actual: Any = response.content if isinstance(expected, bytes) else response.text
    equal("body", actual, expected, response)


def refusal(response: httpx.Response, expected: int) -> None:
    """Raise Mismatch unless the response is a refusal with this status, and a short reason in text/plain."""
    status(response, expected)
    true(
        "the reason is text/plain",
        response.headers.get("Content-Type", "").startswith("text/plain"),
        dict(response.headers),
        response,
    )
    true("the reason is short", 0 < len(response.content) <= 200, response.text, response)


@contextmanager
def keeping() -> Iterator[deque[Any]]:
    """Keep the responses that are compared within the block, the last few, each once; for `exchanges` after it."""
    kept: deque[Any] = deque(maxlen=MOST_KEPT)
    token = _compared.set(kept)
    try:
        yield kept
    finally:
        _compared.reset(token)


def exchanges(kept: Iterable[Any]) -> tuple[str, ...]:
    """Return the exchanges of responses as text, without secrets."""
    return tuple(dict.fromkeys(each.shown() if isinstance(each, Shown) else exchange(each) for each in kept))


def _keep(response: Any) -> None:
    kept = _compared.get()
    if kept is not None and response is not None and not (kept and kept[-1] is response):
        kept.append(response)


def exchange(response: httpx.Response | None) -> str:
    """Return a request and its answer as text, without secrets."""
    import httpx

    if response is None:
        return ""
    request = response.request
    try:
        sent = request.content.decode("utf-8", "replace")
    except httpx.RequestNotRead:  # the body of a streamed request is not kept
        sent = ""
    lines = [f"{request.method} {request.url.raw_path.decode('ascii', 'replace')}"]
    lines += fields(request.headers.multi_items())
    lines += ["", sent] if sent else []
    lines += [
        "",
        f"HTTP {response.status_code} {response.reason_phrase}",
        *fields(response.headers.multi_items()),
    ]
    lines += ["", response.text] if response.content else []
    return hidden("\n".join(lines))[:LONGEST]


def fields(headers: Iterable[tuple[str, str]]) -> list[str]:
    """Return header fields as lines, without secrets."""
    return [f"{name}: {'…' if SECRET.match(name) else value}" for name, value in headers]


def hidden(value: object) -> str:
    """Return a value as text, without secrets."""
    text = SECRET_FIELD.sub(r"\1\2…\2", SECRET_PAIR.sub(r"\1=…", str(value)))
    return TOKEN.sub("…", text)
