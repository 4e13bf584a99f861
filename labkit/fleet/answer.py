"""Parser of HTTP/1.1 answers (RFC 9112), independent of the connection.

Made for fleets: the usual answer, a head and a body of known length in one packet, costs little. Every part of an
answer has a size limit, checked before it is stored.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Literal

from labkit.core.words import counted

HEAD = 64 * 1024  # bytes of a head, and of trailers
BODY = 64 * 1024 * 1024  # bytes of a body
SIZE_LINE = 4096  # bytes of the line before a chunk
SHORT = 1024  # bytes of an answer that RepeatedAnswer stores, at most
INTERIM = 10  # 1xx answers before the final one, at most

HEAD_END = re.compile(rb"\n\r?\n")
STATUS = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: ([^\x00\r\n]*))?")
FIELD = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\x00\r\n]*")
SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}[ \t]*(?:;[^\x00\r\n]*)?")
LENGTH = re.compile(rb"[0-9]{1,20}")

State = Literal["head", "length", "size", "chunk", "chunk end", "trailers", "to the end"]


class MalformedError(ValueError):
    """The received bytes are no HTTP answer, or exceed a size limit."""


class Answer:
    """An HTTP answer, with the names of httpx's Response.

    version: 0 or 1, of HTTP/1.x; keep: whether the connection can be reused; reason: text after the status.
    """

    __slots__ = ("__dict__", "content", "keep", "lines", "reason", "status_code", "version")

    def __init__(
        self, status_code: int, version: int, reason: bytes, lines: bytes, content: bytes, keep: bool
    ) -> None:
        self.status_code = status_code
        self.version = version
        self.reason = reason
        self.lines = lines  # the head without its first line
        self.content = content
        self.keep = keep

    @cached_property
    def headers(self) -> dict[str, str]:
        """Header values by name in lower case; repeated fields joined with a comma, malformed lines left out."""
        found: dict[str, str] = {}
        for name, value in fields(self.lines, strict=False):
            found[name] = f"{found[name]}, {value}" if name in found else value
        return found

    @property
    def text(self) -> str:
        """The content decoded as UTF-8."""
        return self.content.decode("utf-8", "replace")

    def __repr__(self) -> str:
        return f"<answer {self.status_code}, {counted(len(self.content), 'byte')}>"


def fields(lines: bytes, *, strict: bool = True) -> list[tuple[str, str]]:
    """Return header fields as names (lower case) and values. strict: raise MalformedError for a malformed line."""
    return [
        (name.decode("latin-1").lower(), value.decode("latin-1"))
        for name, value in raw_fields(lines, strict=strict)
    ]


def raw_fields(lines: bytes, *, strict: bool = True) -> list[tuple[bytes, bytes]]:
    """Return header fields as received. strict: raise MalformedError for a malformed line, else skip it."""
    found: list[tuple[bytes, bytes]] = []
    for line in lines.replace(b"\r\n", b"\n").split(b"\n"):
        if not line:
            continue
        if line[:1] in b" \t" and found:  # folded, RFC 9112 5.2
            name, value = found[-1]
            found[-1] = (name, (value + b" " + line.strip()).strip())
            continue
        if FIELD.fullmatch(line) is None:
            if not strict:
                continue
            raise MalformedError(f"no header field: {line[:80]!r}")
        name, _, value = line.partition(b":")
        found.append((name, value.strip(b" \t")))
    return found


class RepeatedAnswer:
    """Cache of the last short answer that arrived in one piece: the devices of a fleet often get the same bytes."""

    __slots__ = ("answer", "data")

    def __init__(self) -> None:
        self.data = b""
        self.answer: Answer | None = None


class AnswerReader:
    """Incremental parser of consecutive answers: call `feed` with received bytes until it returns an answer.

    no_body: set it before each answer: True if the answer has no body, as to HEAD (RFC 9110 9.3.2). most: largest body
    in bytes; repeated: cache, shared by readers that are likely to read the same answers.
    """

    __slots__ = (
        "_body",
        "_buffer",
        "_head",
        "_interim",
        "_left",
        "_most",
        "_repeated",
        "_state",
        "_trailers",
        "no_body",
    )

    def __init__(self, most: int = BODY, repeated: RepeatedAnswer | None = None) -> None:
        self._most = most
        self._repeated = RepeatedAnswer() if repeated is None else repeated
        self._buffer = b""
        self._state: State = "head"
        self.no_body = False
        self._body = bytearray()
        self._left = 0  # bytes of the body or the chunk
        self._interim = 0
        self._trailers = 0
        self._head: tuple[int, int, bytes, bytes, bool]

    @property
    def begun(self) -> bool:
        """Whether an answer has arrived in part."""
        return bool(self._buffer) or self._state != "head" or self._interim > 0

    def feed(self, data: bytes) -> Answer | None:
        """Parse received bytes, and return the answer once it is complete. Raises MalformedError.

        Bytes after the answer belong to the next one.
        """
        if self._buffer or self._state != "head" or self._interim or self.no_body:
            return self._advance(data)
        if data == self._repeated.data:
            return self._repeated.answer
        answer = self._parse_whole(data) or self._advance(data)
        if answer is not None and answer.keep and not self.begun and len(data) <= SHORT:
            self._repeated.data, self._repeated.answer = data, answer
        return answer

    def _advance(self, data: bytes) -> Answer | None:
        self._buffer = self._buffer + data if self._buffer else data
        while True:
            state = self._state
            answer = self._step()
            if answer is not None:
                return answer
            if self._state == state:
                return None

    def end(self) -> Answer | None:
        """Return the answer whose body the end of the connection completes, None if it has another framing."""
        if self._state != "to the end":
            return None
        return self._answer(keep=False)

    def _parse_whole(self, data: bytes) -> Answer | None:
        """Parse an answer with Content-Length that is complete in `data`; return None for any other. Not for HEAD."""
        end = data.find(b"\r\n\r\n")
        if end < 0 or end > HEAD or not data.startswith(b"HTTP/1.1 ") or data.find(b"\n\n", 0, end) >= 0:
            return None
        at = data.find(b"\r\n")
        status, lines = data[9:12], data[at + 2 : end]
        low = lines.lower()
        start = low.find(b"content-length: ")
        if (
            start < 0
            or (start and low[start - 1] != 10)
            or low.find(b"content-length", start + 1) >= 0
            or b"transfer-encoding" in low
            or b"connection" in low
            or STATUS.fullmatch(data, 0, at) is None
            or status[0] == 49  # 1xx
        ):
            return None
        stop = low.find(b"\r\n", start)
        text = low[start + 16 : stop if stop >= 0 else len(low)]
        if not text.isdigit() or len(text) > 15:
            return None
        length, body = int(text), end + 4
        if status in (b"204", b"304"):
            length = 0
        if length > self._most or len(data) < body + length:
            return None
        self._buffer = data[body + length :]
        return Answer(int(status), 1, data[13:at], lines, data[body : body + length], True)

    def _step(self) -> Answer | None:
        if self._state == "head":
            return self._read_head()
        if self._state in ("length", "to the end", "chunk"):
            return self._read_body()
        if self._state == "chunk end":
            if self._buffer[:1] == b"\n":
                self._buffer, self._state = self._buffer[1:], "size"
            elif len(self._buffer) >= 2:
                if self._buffer[:2] != b"\r\n":
                    raise MalformedError("a chunk does not end where it should")
                self._buffer, self._state = self._buffer[2:], "size"
            return None
        if self._state == "size":
            return self._read_size()
        return self._read_trailers()

    def _read_head(self) -> Answer | None:
        found = HEAD_END.search(self._buffer, 0, HEAD + 4)
        if found is None:
            if len(self._buffer) > HEAD:
                raise MalformedError(f"a head of more than {HEAD} bytes")
            return None
        head, self._buffer = self._buffer[: found.start()].removesuffix(b"\r"), self._buffer[found.end() :]
        first, _, lines = head.partition(b"\n")
        status = STATUS.fullmatch(first.removesuffix(b"\r"))
        if status is None:
            raise MalformedError(f"no status line: {first[:80]!r}")
        version, code = int(status[1]), int(status[2])
        named = fields(lines)
        if code < 200:
            if code == 101:
                raise MalformedError("101, which nobody asked for")
            self._interim += 1
            if self._interim > INTERIM:
                raise MalformedError(f"more than {INTERIM} interim answers")
            return self._read_head()
        self._head = (code, version, status[3] or b"", lines, _keeps(named, version))
        self._state, self._left = _framing(named, self._most)
        if self.no_body or code in (204, 304) or (self._state == "length" and not self._left):
            return self._answer(keep=self._head[4])
        return None

    def _read_body(self) -> Answer | None:
        take = len(self._buffer) if self._state == "to the end" else min(self._left, len(self._buffer))
        if len(self._body) + take > self._most:
            raise MalformedError(f"a body of more than {self._most} bytes")
        self._body += self._buffer[:take]
        self._buffer = self._buffer[take:]
        if self._state == "to the end":
            return None
        self._left -= take
        if self._left:
            return None
        if self._state == "chunk":
            self._state = "chunk end"
            return None
        return self._answer(keep=self._head[4])

    def _read_size(self) -> Answer | None:
        line = self._line(SIZE_LINE)
        if line is None:
            return None
        if SIZE.fullmatch(line) is None:
            raise MalformedError(f"no size of a chunk: {line[:80]!r}")
        self._left = int(line.partition(b";")[0], 16)
        self._state = "chunk" if self._left else "trailers"
        return None

    def _read_trailers(self) -> Answer | None:
        while (line := self._line(HEAD)) is not None:
            if not line:
                return self._answer(keep=self._head[4])
            self._trailers += len(line)
            if self._trailers > HEAD:
                raise MalformedError(f"trailers of more than {HEAD} bytes")
            if FIELD.fullmatch(line) is None and line[:1] not in b" \t":
                raise MalformedError(f"no header field: {line[:80]!r}")
        return None

    def _line(self, most: int) -> bytes | None:
        end = self._buffer.find(b"\n", 0, most + 2)
        if end < 0:
            if len(self._buffer) > most:
                raise MalformedError(f"a line of more than {most} bytes")
            return None
        line, self._buffer = self._buffer[:end], self._buffer[end + 1 :]
        return line.removesuffix(b"\r")

    def _answer(self, keep: bool) -> Answer:
        code, version, reason, lines, _ = self._head
        answer = Answer(code, version, reason, lines, bytes(self._body), keep)
        self._body = bytearray()
        self._state, self._left, self._interim, self._trailers = "head", 0, 0, 0
        return answer


def _keeps(named: list[tuple[str, str]], version: int) -> bool:
    return version == 1 and "close" not in _listed(named, "connection")


def _listed(named: list[tuple[str, str]], wanted: str) -> list[str]:
    """Return the elements of a list header, in lower case."""
    return [each.strip().lower() for name, value in named if name == wanted for each in value.split(",")]


def _framing(named: list[tuple[str, str]], most: int) -> tuple[State, int]:
    """Return the framing of the body (RFC 9112 6.3) and its length in bytes.

    Chunked coding has precedence over Content-Length, since the platform sends both.
    """
    codings = _listed(named, "transfer-encoding")
    if codings:
        if codings != ["chunked"]:
            raise MalformedError(
                f"Transfer-Encoding: only chunked is understood, not {', '.join(codings)[:80]}"
            )
        return "size", 0
    lengths = set(_listed(named, "content-length"))
    if not lengths:
        return "to the end", 0
    [length, *others] = lengths
    if others or LENGTH.fullmatch(length.encode("latin-1")) is None:
        raise MalformedError(f"Content-Length: {', '.join(sorted(lengths))[:80]!r}")
    if int(length) > most:
        raise MalformedError(f"a body of more than {most} bytes")
    return "length", int(length)
