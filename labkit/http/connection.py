"""What is known of a connection, whatever comes over it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from labkit.core.identifiers import Identifiers


def unwatched() -> None:
    """For a connection whose end is noticed in any case, or that nobody serves."""


class Deliveries(Protocol):
    """Answers whose receipt matters."""

    def confirm(self) -> None:
        """Called when the client has received the answers so far, as its further request or its end of the connection
        shows.
        """


@dataclass(slots=True)
class Connection:
    """One connection of a client.

    host: the server name (SNI) in lower case; over plain HTTP the Host of the request now handled, empty before the
    first. certificate: the client's, in DER; common_name: its first CommonName. ready: done once the site's
    `connected` has run; its result says whether it went well;
    failure: else, the status and text of the answer. id: empty until a device needs it.
    watch_input: called by who makes a request wait long. Else a client that has sent its request and closes its
    sending side, as some do over plain HTTP, is given its answer; from then on it counts as gone. deliveries: None
    until the receipt of an answer matters.
    """

    host: str
    peer_ip: str
    certificate: bytes | None = None
    common_name: str | None = None
    tls: bool = True
    ready: asyncio.Future[bool] | None = None
    failure: tuple[int, str] = (500, "internal error")
    id: str = ""
    watch_input: Callable[[], None] = field(default=unwatched, compare=False, repr=False)
    deliveries: Deliveries | None = field(default=None, compare=False, repr=False)

    def identify(self, identifiers: Identifiers, device: str) -> None:
        """Give it an id unless it has one. device: `product/identity`, whose stream the id is of, so that it does not
        depend on the order in which devices connect.
        """
        if not self.id:
            self.id = identifiers.alphanumeric(f"connection/{device}", 20)
