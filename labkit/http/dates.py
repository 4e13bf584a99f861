"""HTTP-dates of lab time."""

from __future__ import annotations

from wsgiref.handlers import format_date_time


class HttpDate:
    """Formatter of HTTP-dates of lab time, which caches the last one, because most requests of a second share it."""

    def __init__(self) -> None:
        self._second = -1
        self._text = ""

    def format(self, second: int) -> str:
        """Return `second` (Unix) as an HTTP-date in GMT (RFC 9110 5.6.7)."""
        if second != self._second:
            self._second, self._text = second, format_date_time(second)
        return self._text
