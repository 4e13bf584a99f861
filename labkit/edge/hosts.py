"""Host names in SNI, in Host headers and in request targets."""

from __future__ import annotations

import re
from collections.abc import Callable

from aiohttp import hdrs

from labkit.edge.limits import fields, request_target
from labkit.http.connection import Connection

# A final dot only says that the name is complete (RFC 1034 3.1); the port does not tell hosts apart.
HOST = re.compile(r"([A-Za-z0-9_.-]*[A-Za-z0-9_-])\.?(?::[0-9]*)?")
LONGEST = 300  # characters: a name has at most 253 (RFC 1035 2.3.4), then come a dot and a port


def host_name(text: str) -> str | None:
    """Return the name in lower case, without port and final dot; None if `text` is no host name."""
    match = HOST.fullmatch(text) if len(text) <= LONGEST else None
    return match[1].lower() if match else None


def described(connection: Connection, host_header: str | None) -> str:
    """Return a description of the host names in a connection and a request, for the reason of a refusal."""
    said = "no Host header" if host_header is None else f"Host {host_header[:LONGEST]!r}"
    return f"{said}, server name (SNI) {connection.host!r}" if connection.tls else said


def target_host(method: str, target: str) -> str | None:
    """Return the host in the request target, None if it has none: absolute-form, authority-form (RFC 9112 3.2)."""
    if target.startswith("/") or target == "*":
        return None
    if method == hdrs.METH_CONNECT:
        return target
    return target.partition("://")[2].partition("/")[0].partition("?")[0].rpartition("@")[2]


def wrong_host(
    connection: Connection, knows: Callable[[str], bool], named: str | None, method: str, target: str
) -> str | None:
    """Return the reason why a request is not for its connection's host; None if it is (document 1, TLS rule).

    named: its Host header, which alone decides over plain HTTP.
    """
    host = host_name(named or "")
    if host is None or (connection.tls and host != connection.host) or not knows(host):
        return described(connection, named)
    aim = target_host(method, target)
    if aim is not None and host_name(aim) != host:
        return f"request target for {aim[:LONGEST]!r}, {described(connection, named)}"
    return None


def wrong_host_in(connection: Connection, knows: Callable[[str], bool], head: bytes) -> str | None:
    """Return the reason why a malformed or incomplete head is not for its connection's host; None if it is.

    Only complete lines count. Of several Host headers, all must have the same name, and the right one.
    """
    named = fields(head, "host")
    if len({host_name(each) for each in named}) != 1:
        return described(connection, ", ".join(named) if named else None)
    target = request_target(head)
    return wrong_host(connection, knows, named[0], "", target if "://" in target else "*")
