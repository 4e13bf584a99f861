"""State of a client's connection, for all requests that arrive over it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from labkit.core.identifiers import Identifiers


def unwatched() -> None:
    """Do nothing: for a connection whose end is noticed in any case, or that is not served."""


class Deliveries(Protocol):
    """Answers whose receipt by the client is tracked."""

    def confirm(self) -> None:
        """Mark the answers so far as received: the client has sent a further request or ended the connection."""


@dataclass(slots=True, eq=False)
class Connection:
    """One connection of a client.

    host: the server name (SNI) in lower case; over plain HTTP the Host of the current request, empty before the
    first. tls: whether all requests have the same host, as over TLS and in memory. certificate: the client's, in DER;
    common_name: its first CommonName. ready: done once the site's `connected` has run; its result is whether that
    succeeded; None after the first request that found it so; failure: otherwise, the status and text of the answer.
    id: empty until a device needs it.

    watch_input: called by a handler that keeps a request waiting. Before, a client that closes its sending side
    after the request, as some do over plain HTTP, still gets its answer; from then on it counts as
    disconnected. deliveries: None until the receipt of an answer is tracked.
    """

    host: str
    peer_ip: str
    certificate: bytes | None = None
    common_name: str | None = None
    tls: bool = True
    ready: asyncio.Future[bool] | None = None
    failure: tuple[int, str] = (500, "internal error")
    id: str = ""
    watch_input: Callable[[], None] = field(default=unwatched, repr=False)
    deliveries: Deliveries | None = field(default=None, repr=False)

    def identify(self, identifiers: Identifiers, device: str) -> None:
        """Give the connection an id unless it has one.

        device: `product/identity`; the id is drawn from its stream, so that it does not depend on the order in
        which devices connect.
        """
        if not self.id:
            self.id = identifiers.alphanumeric(f"connection/{device}", 20)
