"""State of a client's connection, for all requests that arrive over it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from labkit.core.identifiers import Identifiers


def peer_name(ip: str, port: int) -> str:
    """Return address and port of a client as `10.0.0.7:49152`; empty for port 0, without the network."""
    return "" if not port else f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def unwatched() -> None:
    """Do nothing: the default of Connection's callbacks, for connections that need no such call."""


class Cancellable(Protocol):
    """A function that is to be called later."""

    def cancel(self) -> object:
        """Do not call it."""


class Deliveries(Protocol):
    """Interface of a tracker of answers that the client has received."""

    def confirm(self) -> None:
        """Mark the answers so far as received, when the client sends another request or ends the connection."""


@dataclass(slots=True, eq=False)
class Connection:
    """Connection of a client.

    host: the server name (SNI) in lower case; over plain HTTP the Host of the current request, empty before the
    first. tls: whether all requests have the same host, as over TLS and in memory. certificate: of the client, in DER;
    common_name: its first CommonName. ready: done when the site's `connected` has run, with its success as result;
    None after the first request that found it so; failure: the status and text of the answer if it failed. id: empty
    until a device needs it; peer_port: of the client, 0 without the network.

    watch_input: a handler calls it when it delays a request. Until then a client may close its sending side after the
    request, as some do over plain HTTP, and still gets its answer; afterwards that counts as a disconnection.
    deliveries: None until an answer is tracked. devices: product and identity of those that have authenticated; ended:
    called once the client's side or the server has ended the connection, not at the lab's end. cut_reason: reason for
    which the edge has ended the connection with all others; None before.
    """

    host: str
    peer_ip: str
    certificate: bytes | None = None
    common_name: str | None = None
    tls: bool = True
    ready: asyncio.Future[bool] | None = None
    failure: tuple[int, str] = (500, "internal error")
    id: str = ""
    peer_port: int = 0
    watch_input: Callable[[], None] = field(default=unwatched, repr=False)
    deliveries: Deliveries | None = field(default=None, repr=False)
    cut_reason: str | None = None
    devices: tuple[tuple[str, str], ...] = ()
    ended: Callable[[], None] = field(default=unwatched, repr=False)

    def identify(self, identifiers: Identifiers, device: str) -> None:
        """Give the connection an id unless it has one.

        device: `product/identity`; it selects the random stream of the id, so that the id does not depend on the order
        in which devices connect.
        """
        if not self.id:
            self.id = identifiers.alphanumeric(f"connection/{device}", 20)
