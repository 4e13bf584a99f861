"""The address at which a lab listens."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from labkit.http.memory import MemoryTransport


@dataclass(slots=True)
class ServerAddress:
    """The address at which a lab listens, and the CA that its clients trust.

    host: the address of the listener; https_port, http_port, ca_pem (the certificate of the lab's authority):
    set once it listens.

    For clients in this process, None until the lab listens; both raise OSError as a TCP connection does. connect: opens
    a connection to the HTTPS port without the network, and returns the client's socket, on which TLS is to be agreed.
    connect_in_memory: opens a connection to the named host without TLS, and returns the client's end.
    """

    host: str
    https_port: int = 0
    http_port: int | None = None
    ca_pem: str = ""
    connect_in_memory: Callable[[str], Awaitable[MemoryTransport]] | None = field(
        default=None, compare=False, repr=False
    )
    connect: Callable[[], Awaitable[socket.socket]] | None = field(default=None, compare=False, repr=False)

    def url(self, host: str, path: str = "") -> str:
        """Return the URL of a path at a host of the lab: the one function that makes URLs which leave the lab."""
        port = "" if self.https_port == 443 else f":{self.https_port}"
        return f"https://{host}{port}{path}"
