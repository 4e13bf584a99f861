"""What the edge is handed: functions that know the products, and how long it waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp import web

from labkit.http.connection import Connection


@dataclass(frozen=True, slots=True)
class GuardTimes:
    """How long the edge waits, in seconds of real time.

    handshake: for TLS to be agreed. header: for a request's head to be whole, also for the first one to come.
    body: for its body, from the end of the head. keep_alive: for the next request. shutdown: for the client's
    side of a TLS close. grace: for requests in progress when the edge stops.
    """

    handshake: float = 10.0
    header: float = 10.0
    body: float = 30.0
    keep_alive: float = 75.0
    shutdown: float = 10.0
    grace: float = 0.25


@dataclass(frozen=True, slots=True)
class Face:
    """The functions that the edge calls.

    knows: is this host (lower case, no port) served here? Asked in the handshake and for every request.
    handler: answers a request. connection_id: a new one for each connection.
    refused: told (reason, detail) when a connection is ended without an answer, or the edge alone answers.
    on_error: told of an exception that no other function handled.
    connected: run once for each TLS connection, after the handshake and before its first request is handled,
    also when no request ever comes; it goes on when the client leaves.
    date: the HTTP-date for responses; without it aiohttp puts real time.
    """

    knows: Callable[[str], bool]
    handler: Callable[[Connection, web.BaseRequest], Awaitable[web.StreamResponse]]
    connection_id: Callable[[], str]
    refused: Callable[[str, str], None]
    on_error: Callable[[BaseException], None]
    connected: Callable[[Connection], Awaitable[None]] | None = None
    date: Callable[[], str] | None = None
    guard: GuardTimes = field(default_factory=GuardTimes)
