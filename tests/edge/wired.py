"""Client that never waits: it takes what has arrived, so that a test sees how far the lab has come by itself."""

from __future__ import annotations

import socket
import ssl
import struct
from contextlib import suppress
from types import TracebackType
from typing import Self

from tests.edge.rig import HOST, EdgeRig

RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close by a reset


class Still:
    """Participant that has always settled."""

    async def settle(self) -> bool:
        return True


async def settled(rig: EdgeRig) -> None:
    """Return once the platform has done all that it can without new bytes."""
    rig.context.activity.join(STILL)
    await rig.context.activity.idle()
    assert not rig.context.inputs.unread()


STILL = Still()


class Wired:
    """A TLS or plain connection over TCP. tls: the context, None for plain HTTP."""

    def __init__(self, port: int, tls: ssl.SSLContext | None) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setblocking(False)
        self.socket.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )  # else the system holds small pieces back
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = None if tls is None else tls.wrap_bio(self.incoming, self.outgoing, server_hostname=HOST)
        self.ended = self.agreed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def take(self, most: int = 1 << 30) -> bytes:
        """Return what has arrived, not decrypted."""
        came = b""
        with suppress(BlockingIOError):
            while len(came) < most:
                data = self.socket.recv(min(65536, most - len(came)))
                if not data:
                    self.ended = True
                    break
                came += data
        return came

    def shake(self) -> bytes:
        """Do a step of the handshake with what has arrived, and return what is to be sent."""
        assert self.tls is not None
        self.incoming.write(self.take())
        with suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
            self.agreed = True
        return self.outgoing.read()

    def send(self, data: bytes | str) -> None:
        data = data.encode() if isinstance(data, str) else data
        if self.tls is not None:
            self.tls.write(data)
            data = self.outgoing.read()
        self.socket.sendall(data)

    def read(self) -> bytes:
        """Return the text that has arrived."""
        came = self.take()
        if self.tls is None:
            return came
        self.incoming.write(came)
        text = b""
        with suppress(ssl.SSLWantReadError):
            while data := self.tls.read(65536):
                text += data
        return text

    async def agree(self, rig: EdgeRig) -> None:
        """Agree on TLS, each step as soon as the lab has settled."""
        for _ in range(3):
            self.socket.sendall(self.shake())
            await settled(rig)
            if self.agreed:
                return
        raise AssertionError("each step of the handshake is there once the lab has settled")

    def reset(self) -> None:
        """End the connection by a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.socket.close()


async def wired(rig: EdgeRig, *, plain: bool = False, agree: bool = True) -> Wired:
    """Return a new connection. agree: after its handshake."""
    if rig.edge is None:
        await rig.start(http=plain)
    port = rig.address.http_port if plain else rig.address.https_port
    assert port is not None
    client = Wired(port, None if plain else rig.trusting())
    if agree and not plain:
        await client.agree(rig)
    return client
