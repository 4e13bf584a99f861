"""Check of the server name (SNI) of a handshake."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass

from labkit.edge.hosts import host_name


class NameRefused(ssl.SSLError):
    """Refusal of a handshake because of its server name. Event loops treat it as any TLS failure."""

    def __init__(self, refusal: str) -> None:
        super().__init__(ssl.SSL_ERROR_SSL, refusal)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class ServerName:
    """Checked server name. host: the name in lower case; refusal: why it is not served here, None if it is."""

    host: str = ""
    refusal: str | None = None


def check_server_name(name: str | None, knows: Callable[[str], bool]) -> ServerName:
    """Return the checked server name of a handshake (document 1, TLS rule)."""
    if name is None:
        return ServerName(refusal="the client named no server (SNI)")
    host = host_name(name)
    if host is None or not knows(host):
        return ServerName(refusal=f"the server name (SNI) {name!r} is not served here")
    return ServerName(host)
