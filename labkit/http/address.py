"""Address at which a lab listens."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from labkit.http.memory import MemoryTransport

LOOPBACK = "127.0.0.1"


@dataclass(slots=True)
class ServerAddress:
    """Address at which a lab listens, and the certificate of the CA that its clients trust.

    host: IP address of the listener; https_port, http_port, ca_pem (PEM): set when the lab starts to listen; http_port
    is None without plain HTTP. proxy: URL of the lab's CONNECT proxy, if any. down_until: lab time up to which the
    platform has no power, after a restart.

    For clients in this process, None until the lab listens; both raise OSError as a TCP connection does. connect: opens
    a connection to the HTTPS port without the network, and returns the client's socket, for its TLS handshake.
    connect_in_memory: opens a connection to the named host without TLS, and returns the client's end. The client calls
    the function that each returns too when it closes the connection: the lab is not idle until it has seen that.
    """

    host: str
    https_port: int = 0
    http_port: int | None = None
    proxy: str | None = None
    ca_pem: str = ""
    down_until: float = 0.0
    connect_in_memory: Callable[[str], Awaitable[tuple[MemoryTransport, Callable[[], None]]]] | None = field(
        default=None, compare=False, repr=False
    )
    connect: Callable[[], Awaitable[tuple[socket.socket, Callable[[], None]]]] | None = field(
        default=None, compare=False, repr=False
    )

    def url(self, host: str, path: str = "") -> str:
        """Return the URL of a path at a host of the lab. All URLs that the lab sends to clients are created here."""
        port = "" if self.https_port == 443 else f":{self.https_port}"
        return f"https://{host}{port}{path}"


def loopback(number: int) -> str:
    """Return an IP address of the loopback interface other than LOOPBACK, another one for each number below 2**23."""
    return f"127.{1 + (number >> 16) % 128}.{number >> 8 & 255}.{number & 255}"


def can_bind(host: str, port: int) -> bool:
    """Return whether this process can listen at an IP address and port. Linux has all of 127.0.0.0/8, others do not."""
    with socket.socket() as probe:
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
