"""Access control of control over HTTP: the token, the Host header, and no requests of other web pages."""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
import secrets
from collections.abc import Mapping
from functools import lru_cache

from aiohttp import hdrs, web

from labkit.control.over_http.problem import ControlProblem
from labkit.core.errors import SettingsError
from labkit.core.ready_line import TOKEN_VARIABLE

TOKEN_BYTES = 32
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,512}")  # RFC 6750 2.1, and long enough not to be guessed
_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)")
_HOST = re.compile(r"(?:\[(?P<ip6>[0-9A-Fa-f:.]+)\]|(?P<name>[^:\[\]@/?#\s]+))(?::[0-9]{1,5})?")


def new_token(environment: Mapping[str, str] = os.environ) -> str:
    """Return the token in LABKIT_TOKEN, or a new one. Raises SettingsError, without the token, for an unfit one."""
    given = environment.get(TOKEN_VARIABLE)
    if given is None:
        return secrets.token_urlsafe(TOKEN_BYTES)
    if not _TOKEN.fullmatch(given):
        raise SettingsError(f"{TOKEN_VARIABLE}: expected 16 to 512 letters, digits or any of -._~+/=")
    return given


def is_wildcard(host: str) -> bool:
    """Return whether a host is an address that stands for all addresses of the machine: 0.0.0.0 or ::."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


@lru_cache(maxsize=64)  # each request names the same few
def _host_key(host: str) -> str:
    """Return a host in the form in which two of them are compared: an address may be written in several ways."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host.lower()


class Access:
    """Check of the Host, the Origin and the token of each request.

    name: a host that is served beside loopback; an address that stands for all addresses is none.
    """

    def __init__(self, token: str, name: str | None = None) -> None:
        self._token = token.encode()
        self._names = LOOPBACK if name is None or is_wildcard(name) else LOOPBACK | {_host_key(name)}

    def check_sender(self, request: web.BaseRequest) -> None:
        """Raise ControlProblem (403) for a host that is not the lab's own, and for requests of other web pages.

        The host in the target of a request, `POST http://localhost/v1/…`, counts instead of the Host header (RFC 9112
        3.2.2).
        """
        hosts = request.headers.getall(hdrs.HOST, [])
        target = _AUTHORITY.match(request.raw_path)
        host = target[1] if target else hosts[0] if len(hosts) == 1 else ""
        named = _HOST.fullmatch(host) if len(hosts) == 1 else None
        if named is None or _host_key(named["ip6"] or named["name"]) not in self._names:
            raise ControlProblem(403, f"Host: expected one of {', '.join(sorted(self._names))}")
        origins = request.headers.getall(hdrs.ORIGIN, [])
        if origins and origins != [f"{request.scheme}://{host.lower()}"]:
            raise ControlProblem(403, "Origin: no web page but the lab's own may control it")

    def check_token(self, request: web.BaseRequest) -> None:
        """Raise ControlProblem (401) for a request without the token."""
        given = request.headers.getall(hdrs.AUTHORIZATION, [])
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        sent = token.strip().encode("utf-8", "surrogateescape")
        if scheme.lower() != "bearer" or not hmac.compare_digest(sent, self._token):
            challenge = {"WWW-Authenticate": 'Bearer realm="labkit"'}
            raise ControlProblem(
                401,
                "expected Authorization: Bearer with the token that the server printed",
                headers=challenge,
            )
