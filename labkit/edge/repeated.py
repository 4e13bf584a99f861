"""Cache of a connection's last parsed head, since devices send the same head repeatedly."""

from __future__ import annotations

from aiohttp.http_parser import RawRequestMessage

from labkit.http.known import KnownHead

SHORT = 1024  # bytes of a head that is kept


class RepeatedHead:
    """Parsed message of the last head after which the parser was again at the beginning of a request.

    The same bytes with a body of the same length mean the same then, and need not be parsed, at half of the cost of
    reading a request.
    """

    __slots__ = ("_head", "_known", "_message", "_size")

    def __init__(self) -> None:
        self._head = b""
        self._size = 0
        self._message: RawRequestMessage | None = None
        self._known: KnownHead | None = None

    def keep(self, head: bytes, size: int, message: RawRequestMessage) -> None:
        """Store a head that was parsed together with its whole body; `size`: bytes received with the head."""
        if len(head) <= SHORT and not (message.should_close or message.upgrade):
            self._head, self._size, self._message, self._known = head, size, message, KnownHead()

    def message(self, head: bytes, size: int) -> RawRequestMessage | None:
        """Return the stored message if the head and `size` equal the stored ones, else None."""
        return self._message if size == self._size and head == self._head else None

    def known(self, message: RawRequestMessage) -> KnownHead | None:
        """Return the data derived from the stored head if `message` is its message, else None."""
        return self._known if message is self._message else None
