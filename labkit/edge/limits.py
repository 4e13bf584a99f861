"""Limits of a request's head, the answers to malformed heads, and errors of requests that the edge reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from aiohttp import hdrs, web
from aiohttp.http_exceptions import BadHttpMessage, HttpProcessingError, LineTooLong
from multidict import CIMultiDictProxy

from labkit.http.codings import content_codings


class BodyLateError(TimeoutError):
    """Timeout of a request's body. Raised in the reader of the body."""


class WrongHostError(BadHttpMessage):
    """Malformed request that, as far as it can be read, is not for this connection's host either."""


def request_target(head: bytes) -> str:
    """Return the request target: the text between the method and the version."""
    return head.partition(b"\n")[0].decode("latin-1").partition(" ")[2].rpartition(" ")[0]


def fields(head: bytes, name: str) -> list[str]:
    """Return the values of the fields with this name (lower case).

    Only complete lines count, since the head may be cut anywhere.
    """
    lines = head.decode("latin-1").split("\n")[1:-1]
    parts = [line.partition(":") for line in lines]
    return [value.strip(" \t\r") for each, colon, value in parts if colon and each.lower() == name]


LINE = 8190  # bytes of the request line, and of a header field
FIELDS = 128
HEAD = 64 * 1024  # bytes of the request line and all header fields
REASON = 120  # characters of a reason that leave


def plain(status: int, reason: str) -> web.Response:
    """Return an answer with a short reason in plain text; the connection ends after it."""
    response = web.Response(status=status, text=reason)
    if status == 415:
        # RFC 9110 15.5.16; the reason names all that are understood
        response.headers[hdrs.ACCEPT_ENCODING] = "gzip, identity" if "gzip" in reason else "identity"
    response.force_close()
    return response


def explain(error: BaseException | None, head: bytes) -> tuple[int, str]:
    """Return status and reason for a parser error. head: the parsed bytes, if they were a head."""
    if isinstance(error, LineTooLong):
        return line_too_long(head)
    if not isinstance(error, HttpProcessingError):
        return 400, "malformed request"
    if not fields(head, "content-length") and (refusal := unknown_coding(fields(head, "transfer-encoding"))):
        return refusal
    text = error.message.partition("\n")[0].strip().rstrip(":")
    if text.startswith("Too many headers"):
        return 431, f"more than {FIELDS} header fields"
    return 400, f"malformed request: {text}"[:REASON]


def too_large(head: bytes) -> tuple[int, str]:
    """Return status and reason for a head beyond the limit."""
    status, reason = line_too_long(head)
    return (
        (status, reason) if status == 414 else (431, f"the head of the request is larger than {HEAD} bytes")
    )


def line_too_long(head: bytes) -> tuple[int, str]:
    """Return status and reason for a head that has a line beyond the limit."""
    if head and b"\n" not in head[: LINE + 1]:
        return 414, f"the request line is longer than {LINE} bytes"
    return 431, f"a header field is longer than {LINE} bytes"


def refusal(headers: CIMultiDictProxy[str], codings: Collection[str] = ()) -> tuple[int, str] | None:
    """Return status and reason for a body with an unsupported coding. codings: one of these may be its content's."""
    if hdrs.TRANSFER_ENCODING in headers and (
        refusal := unknown_coding(headers.getall(hdrs.TRANSFER_ENCODING))
    ):
        return refusal
    if hdrs.CONTENT_ENCODING in headers:
        given = content_codings(headers.getall(hdrs.CONTENT_ENCODING))
        if given and (len(given) > 1 or given[0] not in codings):
            return 415, f"Content-Encoding: only {' and '.join([*codings, 'identity'])} is understood"
    return None


def unknown_coding(values: Sequence[str]) -> tuple[int, str] | None:
    """Return status and reason for a transfer coding other than chunked (RFC 9112 6.1)."""
    codings = [coding.strip().lower() for value in values for coding in value.split(",")]
    if all(coding in ("", "chunked") for coding in codings):
        return None
    return 501, "Transfer-Encoding: only chunked is understood"
