"""Waits of a device while other clients send more than the lab can handle, in eight ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from labkit.bench.control import Child
from labkit.bench.handlers import DOMAIN
from labkit.bench.load import ALIAS
from labkit.bench.measures import Result
from labkit.bench.websocket_load import handshake
from labkit.bench.websockets import HOST, PATH, settings

TITLE = "waits of a device for its reads beside eight floods, each from one client and from fifty"
CLIENTS = (1, 50)
ASKS = 300
# A ratio, since a slow or busy machine delays all waits. Until the usual answer the lab beside fifty clients spends 5
# to 12 times the CPU of an idle one, until the slowest up to 40 times; the client's own time adds to both waits.
MOST_TIMES = 50.0

REQUEST = f"GET /timestamp HTTP/1.1\r\nHost: {DOMAIN}\r\n\r\n"
POST = f"POST {ALIAS} HTTP/1.1\r\nHost: {DOMAIN}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
CHUNKS = POST + "Transfer-Encoding: chunked\r\n\r\n"
BODY = POST + "Content-Length: 1000000\r\n\r\n"
FOLLOW = "POST /v1/journal/follow HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"


@dataclass(frozen=True)
class Flood:
    """Bytes of a client. port: name of it; opening: sent first on each connection; then `piece`, again and again.

    answer: the opening is answered before anything follows; apart: each piece is a TCP segment or TLS record of its
    own, else many are sent at once; unread: number of event streams that the client opens and does not read.
    """

    name: str
    port: str
    opening: str
    piece: str
    answer: bool = False
    apart: bool = False
    unread: int = 0


OPEN = handshake(HOST, PATH)
CONNECT = "CONNECT {host}:{https} HTTP/1.1\r\n\r\n"
FLOODS = (
    Flood("pings", "http", OPEN, "\x89\x80\0\0\0\0", answer=True),
    Flood("texts", "http", OPEN, "\x81\x81\0\0\0\0x", answer=True),
    Flood("pipelined", "http", "", REQUEST),
    Flood("chunks", "http", CHUNKS, "1\r\nx\r\n"),
    Flood("bytes", "http", BODY, "x", apart=True),
    Flood("records", "https", OPEN, "\x89\x80\0\0\0\0", answer=True, apart=True),
    Flood("connects", "proxy", CONNECT, "", answer=True),
    Flood("streams", "http", "", REQUEST, unread=5),
)


def measure(progress: Callable[[str], object]) -> Result:
    """Read with one device beside each flood. Value: milliseconds to the 99th percentile beside the worst one.

    The reference is that of the idle lab just before that flood. The details have it of each flood, the ratio, and the
    KiB that it has sent.
    """
    details: dict[str, float] = {}
    worst = (0.0, 0.0, 0.0)  # ratio, and both waits
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        more = {"http_port": 0, "proxy_port": 0, "control": True, "journal": {"records": 1000}}
        more["guard"] = {"keep_alive": 3600.0}  # on a slow machine a flood takes minutes to start
        made = json.dumps(json.loads(settings(folder)) | more)
        server = stack.enter_context(Child("labkit.bench.server", "lab", made, core=0))
        device = stack.enter_context(Child("labkit.bench.load", core=1))
        device.ask("connect", **server.ready, connections=1, activate=True)
        ports = server.ask("ports")

        def p99() -> float:
            asked: dict[str, Any] = {"method": "GET", "body": "", "query": "text", "expected": 204}
            return float(device.ask("series", **asked, count=ASKS, pause=0.002)["p99"]) * 1e3

        p99()
        for clients in CLIENTS:
            for flood in FLOODS:
                progress(f"floods: {flood.name}, {clients} of them")
                idle = p99()  # each time: the machine's other work comes and goes
                with Child("labkit.bench.flood_load", core=1) as load:
                    load.ask("start", clients=clients, ports=ports, flood=asdict(flood))
                    name = f"{flood.name}_{clients}"
                    waited = details[f"{name}_p99_ms"] = p99()
                    times = details[f"{name}_times"] = waited / idle
                    details[f"{name}_kib"] = load.ask("stop")["sent"] / 1024
                worst = max(worst, (times, waited, idle))
    unit = "ms to the 99th percentile beside the worst flood"
    return Result.judge("floods", TITLE, unit, *worst[1:], 1 / MOST_TIMES, details)
