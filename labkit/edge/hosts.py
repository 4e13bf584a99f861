"""Host names as they come in SNI, in Host headers and in request targets."""

from __future__ import annotations

import re

from aiohttp import hdrs, web

from labkit.http.connection import Connection

# A final dot only says that the name is complete (RFC 1034 3.1); the port does not tell hosts apart.
HOST = re.compile(r"([A-Za-z0-9_.-]*[A-Za-z0-9_-])\.?(?::[0-9]*)?")


def host_name(text: str) -> str | None:
    """The name in lower case, without port and final dot; None if `text` is no host name."""
    match = HOST.fullmatch(text)
    return match[1].lower() if match else None


def described(connection: Connection, host_header: str | None) -> str:
    """What a connection and a request on it say of the host that is meant."""
    said = "no Host header" if host_header is None else f"Host {host_header!r}"
    return f"{said}, server name (SNI) {connection.host!r}" if connection.tls else said


def target_host(request: web.BaseRequest) -> str | None:
    """The host in the request target, where it holds one: absolute-form, authority-form (RFC 9112 3.2)."""
    target = request.raw_path
    if target.startswith("/") or target == "*":
        return None
    if request.method == hdrs.METH_CONNECT:
        return target
    return target.partition("://")[2].partition("/")[0].partition("?")[0].rpartition("@")[2]
