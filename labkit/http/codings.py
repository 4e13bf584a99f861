"""Content codings of bodies (RFC 9110 8.4): gzip (RFC 1952), which devices of some platforms send and accept."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Mapping

from aiohttp import hdrs, web
from multidict import CIMultiDictProxy

from labkit.http.error import HttpError
from labkit.http.reply import Answer, Reply

SHORT = 256  # bytes: shorter answers are sent as they are
RATIO = 100  # of unpacked bytes to packed ones, beyond SAFE bytes
SAFE = 64 * 1024
MEMBERS = 16  # of a gzip file: many empty ones would take long
NOTHING = re.compile(r"0(\.0*)?")  # a weight
CODED: Mapping[str, str] = {hdrs.CONTENT_ENCODING: "gzip", hdrs.VARY: hdrs.ACCEPT_ENCODING}


def content_codings(values: Iterable[str]) -> list[str]:
    """Return the codings that fields Content-Encoding name, without identity; x-gzip is gzip (RFC 9110 8.4.1.3)."""
    names = [name.strip().lower() for value in values for name in value.split(",")]
    return ["gzip" if name == "x-gzip" else name for name in names if name not in ("", "identity")]


def unpack(body: bytes, limit: int) -> bytes:
    """Return the content of a gzip body of at most `limit` bytes.

    Raises HttpError: 413 beyond the limit, or for more than 100 times the packed bytes beyond 64 KiB; 400 for another
    format, a body that breaks off, and one of more than 16 members.
    """
    most = min(limit, max(SAFE, RATIO * len(body)))
    pieces: list[bytes] = []
    size = 0
    while body and len(pieces) < MEMBERS:
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            pieces.append(member.decompress(body, most - size + 1))
        except zlib.error:
            raise HttpError(400, "the body is not gzip") from None
        size += len(pieces[-1])
        if size > most:
            raise HttpError(413, f"the body unpacks to more than {most} bytes")
        if not member.eof:
            raise HttpError(400, "the body is not gzip, or breaks off")
        body = member.unused_data
    if body:
        raise HttpError(400, f"the body has more than {MEMBERS} members of gzip")
    return b"".join(pieces)


def packed(answer: Answer, headers: CIMultiDictProxy[str]) -> Answer:
    """Return an answer in gzip where the request's headers accept that and it gets shorter; a download stays."""
    body = getattr(answer, "body", None)
    if not isinstance(body, bytes) or len(body) < SHORT or not accepts_gzip(headers):
        return answer
    packed = gzip.compress(body, mtime=0)  # the same bytes at each replay
    if len(packed) >= len(body):
        return answer
    response = answer.response() if isinstance(answer, Reply) else answer
    assert isinstance(response, web.Response)
    response.body = packed
    response.headers.update(CODED)
    return response


def accepts_gzip(headers: CIMultiDictProxy[str]) -> bool:
    """Return whether Accept-Encoding names gzip, or `*` without gzip, with a weight above 0 (RFC 9110 12.5.3)."""
    weights: dict[str, str] = {}
    for entry in ",".join(headers.getall(hdrs.ACCEPT_ENCODING, ())).split(","):
        coding, _, parameter = entry.partition(";")
        name, _, weight = parameter.partition("=")
        weights[coding.strip().lower()] = weight.strip() if name.strip().lower() == "q" else "1"
    weight = weights.get("gzip", weights.get("x-gzip", weights.get("*", "0")))
    return not NOTHING.fullmatch(weight)
