"""What a request's head may measure, and how a malformed request is answered."""

from __future__ import annotations

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong

LINE = 8190  # bytes of the request line, and of a header field
FIELDS = 128
HEAD = 64 * 1024  # bytes of the request line and all header fields
REASON = 120  # characters of a reason that leave


def plain(status: int, reason: str) -> web.Response:
    """A short reason in plain text; the connection ends after it."""
    response = web.Response(status=status, text=reason)
    response.force_close()
    return response


def explain(error: BaseException | None, *, in_first_line: bool) -> tuple[int, str]:
    """Status and reason for what the parser could not read.

    in_first_line: the head broke off before the end of its first line.
    """
    if isinstance(error, LineTooLong):
        if in_first_line:
            return 414, f"the request line is longer than {LINE} bytes"
        return 431, f"a header field is longer than {LINE} bytes"
    if not isinstance(error, HttpProcessingError):
        return 400, "malformed request"
    text = error.message.partition("\n")[0].strip().rstrip(":")
    if text.startswith("Too many headers"):
        return 431, f"more than {FIELDS} header fields"
    return 400, f"malformed request: {text}"[:REASON]
