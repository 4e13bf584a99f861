"""Cache of a connection's last parsed head, since devices send the same head repeatedly."""

from __future__ import annotations

from aiohttp import hdrs

from labkit.http.head import RequestHead

SHORT = 1024  # bytes of a head that is kept


class RepeatedHead:
    """Last head of a connection after which the parser was again at the beginning of a request.

    The same bytes with a body of the same length need not be parsed again: parsing is half of the cost of reading a
    request.
    """

    __slots__ = ("_bytes", "_head", "_size", "_start")

    def __init__(self) -> None:
        self._bytes = b""
        self._start = 0  # of the body
        self._size = 0  # bytes of both
        self._head: RequestHead | None = None

    def keep(self, data: bytes, body_size: int, head: RequestHead) -> None:
        """Store a head that was parsed together with its whole body.

        data: the head's bytes; body_size: bytes received with it. A head after which the client or the server does
        something else than wait for the next request is not stored.
        """
        message = head.message
        if len(data) <= SHORT and not (
            message.should_close or message.upgrade or hdrs.EXPECT in message.headers
        ):
            self._bytes, self._head = data, head
            self._start, self._size = len(data), len(data) + body_size

    def request(self, data: bytes) -> tuple[RequestHead, bytes] | None:
        """Return head and body if `data` is the stored head and a body of the stored length, else None."""
        if self._head is not None and len(data) == self._size and data.startswith(self._bytes):
            return self._head, data[self._start :]
        return None
