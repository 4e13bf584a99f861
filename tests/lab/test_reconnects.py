"""Connections of a program beside the lab take no lab time, and leave the same journal each time."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from typing import Any

import pytest

from labkit import Lab
from labkit.context import Context

HOST = "thermostat.m2.lab.localhost"
NAMES = ("t-1", "t ü=&;")
TIMES = 25


class Client:
    """Program that reconnects each minute, in steps that never wait, and writes once per connection."""

    def __init__(self, lab: Lab, name: str, key: str, *, proxy: bool, polite: bool) -> None:
        self.lab, self.polite = lab, polite
        self.context: Context = lab._runtime.control._platform.context  # type: ignore[attr-defined]
        self.port = lab.address.https_port
        self.proxy = int(lab.proxy.rpartition(":")[2]) if proxy and lab.proxy else None
        self.trust = ssl.create_default_context(cafile=lab.ca_file)
        body = f"temperature={len(name)}"
        self.request = (
            f"POST /onep:v1/stack/alias HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Token {key}\r\n"
            f"Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
            f"\r\n{body}"
        ).encode()
        self.socket: socket.socket | None = None
        self.state = "due"
        self.times: list[float] = []  # of the answers

    def due(self) -> None:
        self.state = "due"

    def begin(self) -> None:
        if self.socket is not None:
            self.socket.close()
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = self.trust.wrap_bio(self.incoming, self.outgoing, server_hostname=HOST)
        self.socket = socket.create_connection(("127.0.0.1", self.proxy or self.port))
        self.socket.setblocking(False)
        self.state = "hello"
        if self.proxy:
            self.socket.sendall(f"CONNECT {HOST}:{self.port} HTTP/1.1\r\n\r\n".encode())
            self.state = "tunnel"

    async def settle(self) -> bool:
        assert not self.context.inputs.unread()
        if self.state == "due":
            self.begin()
            if self.state == "tunnel":
                return False
        elif self.state == "done":
            return True
        assert self.socket is not None
        came = b""
        with suppress(BlockingIOError):
            came = self.socket.recv(65536)
        assert came or self.state == "hello", f"nothing has come in state {self.state}"
        getattr(self, self.state)(came)
        return False

    def tunnel(self, came: bytes) -> None:
        assert came.startswith(b"HTTP/1.1 200 ")
        self.hello(b"")
        self.state = "shake"

    def hello(self, came: bytes) -> None:
        self.state = "shake"
        self.shake(came)

    def shake(self, came: bytes) -> None:
        assert self.socket is not None
        self.incoming.write(came)
        with suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
            self.tls.write(self.request)
            self.state = "answer"
        self.socket.sendall(self.outgoing.read())

    def answer(self, came: bytes) -> None:
        assert self.socket is not None
        self.incoming.write(came)
        text = b""
        with suppress(ssl.SSLWantReadError):
            while data := self.tls.read(65536):
                text += data
        if not text:  # only session tickets
            return
        assert text.startswith(b"HTTP/1.1 204 ")
        self.times.append(self.context.clock.now())
        self.state = "done"
        if self.polite:
            with suppress(ssl.SSLWantReadError):
                self.tls.unwrap()
            self.socket.sendall(self.outgoing.read())
        if len(self.times) % 2:
            self.socket.close()
            self.socket = None
        self.context.clock.call_at(self.context.clock.now() + 60, self.due)


def journal(lab: Lab, *, proxy: bool, polite: bool) -> str:
    """Return the canonical journal of a run with a client for each device."""
    product = lab.product("thermostat", resources={"temperature": "number"})
    clients = []
    for name in NAMES:
        device = product.device(name).activate()
        key = device.credentials.token
        assert key
        clients.append(Client(lab, name, key, proxy=proxy, polite=polite))

    async def join(client: Any) -> None:
        client.context.activity.join(client)

    for client in clients:
        lab._runtime.run(join, client)
    start = clients[0].context.clock.now()
    lab.clock.advance(minutes=TIMES - 1)
    lab.settle()
    for client in clients:
        assert client.times == [start + 60 * number for number in range(TIMES)]
        if client.socket is not None:
            client.socket.close()
    return lab.journal.canonical()


@pytest.mark.parametrize("proxy", [False, True])
@pytest.mark.parametrize("polite", [False, True])
def test_fifty_reconnects_at_an_instant_leave_the_same_journal(proxy: bool, polite: bool) -> None:
    """polite: the client closes TLS before TCP."""
    seen = set()
    for _ in range(2):
        with Lab(seed=7, proxy_port=0 if proxy else None) as lab:
            seen.add(journal(lab, proxy=proxy, polite=polite))
    assert len(seen) == 1
    assert seen.pop().count("204") >= 2 * TIMES
