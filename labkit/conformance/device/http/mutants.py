"""Faults of forms, downloads and framing that no row can express."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import web

from labkit.conformance.breaking import always, change_arguments, change_result
from labkit.conformance.mutant import patch
from labkit.device_api.wire import Download
from labkit.settings import Wire

LIMITS = "labkit.edge.limits"
NOTHING = "labkit.device_api.wire:nothing"
PARSE = "labkit.device_api.forms:parse_body"
SEND = "labkit.device_api.wire:Download.send"


class Talkative(web.Response):
    """A response with a body that its head does not allow, which aiohttp would not send."""

    async def write_eof(self, data: bytes = b"") -> None:
        request = self._req
        await super().write_eof(data)
        assert request is not None
        assert request.transport is not None
        request.transport.write(b"done")


def _talkative(which: int, original: Any, wire: Any, status: int = 204, headers: Any = None) -> Any:
    return Talkative(status=which, headers=headers) if status == which else original(wire, status, headers)


latin_1 = patch("DEV-HTTP-1 DEV-HTTP-2", PARSE, "a body is decoded as ISO 8859-1")(
    change_arguments(body=lambda body: body.decode("latin-1").encode())
)
replaced = patch("DEV-HTTP-4", PARSE, "bytes that are not UTF-8 are replaced by a mark")(
    change_arguments(body=lambda body: body.decode(errors="replace").encode())
)
always_400 = patch("DEV-HTTP-14", f"{LIMITS}:explain", "every request that cannot be read is answered 400")(
    always((400, "malformed"))
)
any_coding = patch("DEV-HTTP-14", f"{LIMITS}:refusal", "bodies are accepted in any coding")(always(None))
always_422 = patch(
    "DEV-HTTP-14 DEV-HTTP-21", f"{LIMITS}:explain", "every request that cannot be read is answered 422"
)(always((422, "malformed")))
body_of_nothing = patch("DEV-HTTP-15", NOTHING, "a 204 is followed by a body")(partial(_talkative, 204))
body_of_not_modified = patch("DEV-HTTP-15", NOTHING, "a 304 is followed by a body")(partial(_talkative, 304))
settings_unheeded = patch(
    "DEV-HTTP-16", "labkit.settings.lab:LabSettings.wire_behaviour", "a lab's wire settings are ignored"
)(change_result(lambda wire: Wire()))
length_always = patch("DEV-HTTP-16", NOTHING, "a 204 has Content-Length whatever the lab's settings are")(
    change_arguments(wire=Wire())
)
framed_both_ways = patch(
    "DEV-HTTP-16",
    "labkit.device_api.wire:Download.__init__",
    "a download has a length and chunks whatever the lab's settings are",
)(change_arguments(framing="both"))
tokens_anywhere = patch(
    "DEV-HTTP-16",
    "labkit.settings.lab:LabSettings.wire_behaviour",
    "the usual header of a token is accepted beside those of the lab's settings",
)(
    change_result(
        lambda wire: wire.model_copy(update={"token_headers": (*wire.token_headers, "X-Platform-CIK")})
    )
)


@patch("DEV-HTTP-9", SEND)
def head_without_framing(original: Any, self: Download, request: Any, pieces: Any) -> Any:
    """HEAD of a download does not show how its body would be framed"""
    bare = Download(self.status, "length", self.size, self.headers)
    return original(bare if request.method == "HEAD" else self, request, pieces)


@patch("DEV-HTTP-12", SEND)
async def chunks_for_all(original: Any, self: Download, request: Any, pieces: Any) -> Any:
    """a download of HTTP/1.0 fails"""
    if request.version < (1, 1):
        raise RuntimeError("no chunks in HTTP/1.0")
    return await original(self, request, pieces)


@patch("DEV-HTTP-17", "labkit.edge.hosts:target_host")
def any_target(original: Any, method: str, target: str) -> None:
    """a request target may name another host than the Host header"""


@patch("DEV-HTTP-17", "labkit.device_api.api:ProductSite.exchange")
def as_it_stands(original: Any, self: Any, connection: Any, request: Any) -> Any:
    """a request target is used undecoded: percent-encoded, or with a host before the path"""
    exchange = original(self, connection, request)
    exchange.path = request.raw_path.partition("?")[0]
    return exchange


@patch("DEV-HTTP-20", "labkit.http.request:SiteRequest.content")
def never_asked_for(original: Any, self: Any) -> Any:
    """a body that waits for 100 Continue is never asked for"""
    return self._payload
