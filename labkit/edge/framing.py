"""Detection of the end of a request's body, which separates it from the next request (RFC 9112 6 and 7).

aiohttp's parser, which is fed the same bytes, detects malformed bodies: here these only have no end.
"""

from __future__ import annotations

import re
from typing import Protocol

LINES = 16  # of a chunked body that are read at once
SIZE_DIGITS = 32  # of a chunk's size: more than any parser takes
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,4})\r\n")
# Where one of these stands anywhere in a head, its body may end elsewhere than Content-Length says.
ELSEWHERE = (b"transfer-encoding", b"upgrade", b"connect ")


def holds_whole_body(head: bytes, size: int) -> bool:
    """Return whether the `size` bytes received with a complete head are certainly its whole body and nothing else.

    This holds for most requests with a body; head and body are then parsed in one step, at half the cost. A head with
    two lengths is refused by the parser whatever follows.
    """
    head = head.lower()
    length = CONTENT_LENGTH.search(head)
    return length is not None and int(length[1]) == size and not any(word in head for word in ELSEWHERE)


class Framing(Protocol):
    """Counter of the bytes of one body."""

    done: bool

    def take(self, data: bytes, at: int) -> int:
        """Return the position in `data` up to which it belongs to the body. at: position where the body continues.

        If the body is not done, that may be a position before the end of the data, from which to call this again.
        """


class Length:
    """Body with a Content-Length."""

    __slots__ = ("_left", "done")

    def __init__(self, length: int) -> None:
        self._left = length
        self.done = length == 0

    def take(self, data: bytes, at: int) -> int:
        taken = min(len(data) - at, self._left)
        self._left -= taken
        self.done = self._left == 0
        return at + taken


class Chunked:
    """Body in chunked transfer coding."""

    __slots__ = ("_line", "_skip", "_trailers", "done")

    def __init__(self) -> None:
        self.done = False
        self._skip = 0  # bytes until the next line: a chunk, and the line end behind it
        self._line = b""  # the beginning of a line that is not whole yet
        self._trailers = False  # the last chunk has been seen

    def take(self, data: bytes, at: int) -> int:
        lines = 0
        while at < len(data) and not self.done and lines < LINES:
            if self._skip:
                step = min(self._skip, len(data) - at)
                self._skip -= step
                at += step
                continue
            end = data.find(b"\n", at)
            piece = data[at : min(end if end >= 0 else len(data), at + SIZE_DIGITS)]
            self._line = (self._line + piece)[:SIZE_DIGITS]
            if end < 0:
                return len(data)
            at, lines = end + 1, lines + 1
            self._line_came(self._line.strip())
            self._line = b""
        return at

    def _line_came(self, line: bytes) -> None:
        if self._trailers:
            self.done = not line
            return
        try:
            size = int(line.partition(b";")[0], 16)
        except ValueError:
            size = -1
        if size < 0:
            self._skip = 1 << 62  # the parser refuses it
        elif size == 0:
            self._trailers = True
        else:
            self._skip = size + 2
