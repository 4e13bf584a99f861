"""What is known of a connection, whatever comes over it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field


def unwatched() -> None:
    """For a connection whose end is noticed in any case, or that nobody serves."""


@dataclass(slots=True)
class Connection:
    """One connection of a client.

    id: made by whoever runs the edge. host: the server name (SNI) in lower case; over plain HTTP the Host of
    the request now handled, empty before the first. certificate: the client's, in DER; common_name: its first
    CommonName. ready: done once the site's `connected` has run; its result says whether it went well.
    watch_input: called by who makes a request wait long. Else a client that has sent its request and closes its
    sending side, as some do over plain HTTP, is given its answer; from then on it counts as gone.
    """

    id: str
    host: str
    peer_ip: str
    certificate: bytes | None = None
    common_name: str | None = None
    tls: bool = True
    ready: asyncio.Future[bool] | None = None
    watch_input: Callable[[], None] = field(default=unwatched, compare=False, repr=False)
