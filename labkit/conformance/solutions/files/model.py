"""Reference model of static files, their methods, and CORS."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

HOST, PORT = "[^/:]*", "[0-9]+"  # matched by *
LONGEST = 300  # characters of an origin
WITHOUT_BODY = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Pages:
    """The files, routes and CORS settings of a solution.

    routes: methods by path; assets: content and type by path; origins: allowed origins, with * as a wildcard; None for
    all; exposed: response headers that pages may read.
    """

    routes: Mapping[str, frozenset[str]]
    assets: Mapping[str, tuple[bytes, str]] = field(default_factory=dict)
    origins: tuple[str, ...] | None = ("http://localhost:*",)
    methods: tuple[str, ...] = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    headers: tuple[str, ...] = ("Content-Type", "Cookie", "Authorization")
    credentials: bool = True
    exposed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected response. allowed: the methods in Allow; asset: the content and type of the file."""

    status: int
    rule: str
    allowed: frozenset[str] = frozenset()
    asset: tuple[bytes, str] | None = None


def expected_response(pages: Pages, method: str, path: str) -> Expected:
    """Return the expected response to a request.

    path: as sent; // equals /, and a route also matches with a trailing slash.
    """
    plain = unquote(re.sub("/+", "/", path))
    routed = pages.routes.get(plain.rstrip("/") or "/", frozenset())
    routed |= {"HEAD"} if "GET" in routed else frozenset()
    asset = pages.assets.get(plain)
    if method in routed:
        return Expected(200, "SOL-ASSET-4" if asset else "SOL-ROUTE-3")
    if asset is not None and method in WITHOUT_BODY:
        rule = "SOL-ASSET-4" if method == "HEAD" else "SOL-ASSET-3" if plain == "/" else "SOL-ASSET-1"
        return Expected(200, rule, asset=asset)
    if not routed and asset is None:
        return Expected(404, "SOL-ROUTE-4")
    allowed = routed | {"OPTIONS"} | (frozenset(WITHOUT_BODY) if asset else frozenset())
    rule = "SOL-ASSET-4" if asset else "SOL-ROUTE-4"
    return Expected(204 if method == "OPTIONS" else 405, rule, allowed)


def is_allowed(pages: Pages, origin: str) -> bool:
    """Return whether pages of this origin may read responses."""
    if pages.origins is None:
        return True
    return len(origin) <= LONGEST and any(
        re.fullmatch(origin_pattern(each), origin, re.IGNORECASE | re.ASCII) for each in pages.origins
    )


def origin_pattern(origin: str) -> str:
    """Return the regex of an allowed origin; a final :* matches a port, any other * part of a host name."""
    ported = re.sub(r":\\\*$", f":{PORT}", re.escape(origin))
    return ported.replace(r"\*", HOST)


def cors_headers(
    pages: Pages, method: str, origin: str | None, preflight: bool
) -> tuple[str, dict[str, str]]:
    """Return the requirement and the expected CORS headers, with names in lower case.

    preflight: the request has Access-Control-Request-Method.
    """
    if origin is None:
        return "SOL-CORS-2", {}
    if not is_allowed(pages, origin):
        return "SOL-CORS-1", {"vary": "Origin"}
    given = {"access-control-allow-origin": origin, "vary": "Origin"}
    if pages.credentials:
        given["access-control-allow-credentials"] = "true"
    if method == "OPTIONS" and preflight:
        given["access-control-allow-methods"] = ", ".join(pages.methods)
        given["access-control-allow-headers"] = ", ".join(pages.headers)
        return "SOL-CORS-3", given
    if pages.exposed:
        given["access-control-expose-headers"] = ", ".join(pages.exposed)
    return "SOL-CORS-3" if method == "OPTIONS" else "SOL-CORS-2", given
