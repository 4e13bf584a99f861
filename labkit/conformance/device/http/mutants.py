"""Faults of forms, downloads and framing that no row can say."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from labkit.conformance.mutant import mutant
from labkit.device_api.wire import Download

NOTHING = "labkit.device_api.wire:nothing"
PARSE = "labkit.device_api.forms:parse_body"
SEND = "labkit.device_api.wire:Download.send"


@mutant("DEV-HTTP-1 DEV-HTTP-2", PARSE)
def latin_1(original: Any) -> Any:
    """the bytes of a body are taken as ISO 8859-1"""
    return lambda body: original(body.decode("latin-1").encode())


@mutant("DEV-HTTP-4", PARSE)
def replaced(original: Any) -> Any:
    """bytes that are not UTF-8 are replaced by a mark"""
    return lambda body: original(body.decode(errors="replace").encode())


@mutant("DEV-HTTP-9", SEND)
def head_without_framing(original: Any) -> Any:
    """HEAD of a download does not show how its body would be framed"""
    return lambda self, request, pieces: original(
        Download(self.status, "length", self.size, self.headers) if request.method == "HEAD" else self,
        request,
        pieces,
    )


@mutant("DEV-HTTP-12", SEND)
def chunks_for_all(original: Any) -> Any:
    """a download of HTTP/1.0 fails"""

    async def broken(response: Any, request: Any, pieces: Any) -> Any:
        if request.version < (1, 1):
            raise RuntimeError("no chunks in HTTP/1.0")
        return await original(response, request, pieces)

    return broken


@mutant("DEV-HTTP-14", "labkit.edge.limits:explain")
def always_400(original: Any) -> Any:
    """whatever cannot be read is answered 400"""
    return lambda error, head: (400, "malformed request")


@mutant("DEV-HTTP-14", "labkit.edge.limits:refusal")
def any_coding(original: Any) -> Any:
    """bodies are taken in whatever coding"""
    return lambda headers: None


@mutant("DEV-HTTP-15", NOTHING)
def body_of_nothing(original: Any) -> Any:
    """a 204 is followed by a body"""
    return _talkative(original, 204)


@mutant("DEV-HTTP-15", NOTHING)
def body_of_not_modified(original: Any) -> Any:
    """a 304 is followed by a body"""
    return _talkative(original, 304)


def _talkative(original: Any, which: int) -> Any:
    return lambda wire, status=204, headers=None: (
        Talkative(status=status, headers=headers) if status == which else original(wire, status, headers)
    )


class Talkative(web.Response):
    """Says more than its head allows, which aiohttp would not let through."""

    async def write_eof(self, data: bytes = b"") -> None:
        request = self._req
        await super().write_eof(data)
        assert request is not None
        assert request.transport is not None
        request.transport.write(b"done")
