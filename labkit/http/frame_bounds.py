"""Bounds of a client's websocket frames, which aiohttp's reader does not show."""

from __future__ import annotations

import sys

from aiohttp.http import WSMsgType

CLOSE = 8  # opcode of a close frame; from it on control frames
MASK_BYTES = 4


class UnmaskedError(Exception):
    """A client's frame is not masked (RFC 6455 5.1)."""


class FrameBounds:
    """Follows the frames of a client in what arrives.

    is_within: whether the last frame or message is incomplete. closes: whether a close frame began.
    """

    __slots__ = ("_head", "_left", "_open", "closes")

    def __init__(self) -> None:
        self._head = b""  # of a frame whose head is incomplete
        self._left = 0  # bytes of the frame, its mask included, that have not arrived
        self._open = False  # the message has further frames
        self.closes = False

    @property
    def is_within(self) -> bool:
        return bool(self._left or self._head or self._open)

    def follow(self, data: bytes, at: int = 0, frames: int = sys.maxsize) -> int:
        """Follow more bytes, from `at` on, and return how far: to their end, or to the head of so many frames.

        Raises UnmaskedError for a frame without a mask.
        """
        if self._head:
            head, self._head = self._head, b""
            return self.follow(head + data[at:], 0, frames) + at - len(head)
        end = len(data)
        for _ in range(frames):
            if self._left > end - at:
                self._left -= end - at
                return end
            at += self._left
            self._left = 0
            if at == end:
                return end
            size = self._head_size(data, at)
            if size is None:
                self._head = data[at:]
                return end
            first, length = data[at], data[at + 1] & 127
            if size > 2:
                length = int.from_bytes(data[at + 2 : at + size], "big")
            if first & 15 < CLOSE:
                self._open = not first & 128
            elif first & 15 == CLOSE:
                self.closes = True
            self._left = length + MASK_BYTES
            at += size
        return at

    def _head_size(self, data: bytes, at: int) -> int | None:
        """Return the bytes of a frame's head before its mask, None if they have not all arrived."""
        if len(data) < at + 2:
            return None
        if not data[at + 1] & 128:
            raise UnmaskedError("a client has to mask its frames")
        length = data[at + 1] & 127
        size = 2 + (8 if length == 127 else 2 if length == 126 else 0)
        return size if len(data) >= at + size else None


def first_half(message: str | bytes) -> bytes:
    """Return the first half of the frame of a message."""
    kind = WSMsgType.TEXT if isinstance(message, str) else WSMsgType.BINARY
    data = message.encode() if isinstance(message, str) else message
    size = len(data)
    if size < 126:
        head = bytes([0x80 | kind, size])
    elif size < 2**16:
        head = bytes([0x80 | kind, 126]) + size.to_bytes(2, "big")
    else:
        head = bytes([0x80 | kind, 127]) + size.to_bytes(8, "big")
    return (head + data)[: (len(head) + size) // 2]
