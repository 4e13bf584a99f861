"""Devices send one head again and again over a connection: the last one, as it was parsed."""

from __future__ import annotations

from aiohttp.http_parser import RawRequestMessage

from labkit.http.known import KnownHead

SHORT = 1024  # bytes of a head that is kept


class RepeatedHead:
    """What one head means that left the parser where it was before: at the beginning of a request.

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
        """A head was parsed together with the whole of its body, of `size` bytes."""
        if len(head) <= SHORT and not (message.should_close or message.upgrade):
            self._head, self._size, self._message, self._known = head, size, message, KnownHead()

    def message(self, head: bytes, size: int) -> RawRequestMessage | None:
        """What a head means, where it and all that came with it, `size` bytes, are as the last ones were."""
        return self._message if size == self._size and head == self._head else None

    def known(self, message: RawRequestMessage) -> KnownHead | None:
        """What was made of a head that is kept."""
        return self._known if message is self._message else None
