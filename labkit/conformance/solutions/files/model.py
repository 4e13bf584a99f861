"""A reference model of what pages get: static files, their methods, and what other origins may do with them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

HOST, PORT = "[^/:]*", "[0-9]+"  # what * stands for
LONGEST = 300  # characters of an origin
WITHOUT_BODY = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Pages:
    """What a solution has for pages. routes: methods by path; assets: content and type by path.

    origins: those that it names, with *; None for all; exposed: the headers that pages may read.
    """

    routes: Mapping[str, frozenset[str]]
    assets: Mapping[str, tuple[bytes, str]] = field(default_factory=dict)
    origins: tuple[str, ...] | None = ("http://localhost:*",)
    methods: tuple[str, ...] = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    headers: tuple[str, ...] = ("Content-Type", "Cookie", "Authorization")
    credentials: bool = True
    exposed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request is to be answered. allowed: what Allow names; asset: the file that is sent, or its headers are."""

    status: int
    rule: str
    allowed: frozenset[str] = frozenset()
    asset: tuple[bytes, str] | None = None


def answered(pages: Pages, method: str, path: str) -> Wanted:
    """What a request gets. path: as it is sent. Nothing tells // from /, and a route does not tell a / at its end."""
    plain = unquote(re.sub("/+", "/", path))
    routed = pages.routes.get(plain.rstrip("/") or "/", frozenset())
    routed |= {"HEAD"} if "GET" in routed else frozenset()
    asset = pages.assets.get(plain)
    if method in routed:
        return Wanted(200, "SOL-ASSET-4" if asset else "SOL-ROUTE-3")
    if asset is not None and method in WITHOUT_BODY:
        rule = "SOL-ASSET-4" if method == "HEAD" else "SOL-ASSET-3" if plain == "/" else "SOL-ASSET-1"
        return Wanted(200, rule, asset=asset)
    if not routed and asset is None:
        return Wanted(404, "SOL-ROUTE-4")
    allowed = routed | {"OPTIONS"} | (frozenset(WITHOUT_BODY) if asset else frozenset())
    rule = "SOL-ASSET-4" if asset else "SOL-ROUTE-4"
    return Wanted(204 if method == "OPTIONS" else 405, rule, allowed)


def allowed(pages: Pages, origin: str) -> bool:
    """May pages of this origin read answers?"""
    if pages.origins is None:
        return True
    return len(origin) <= LONGEST and any(
        re.fullmatch(pattern(each), origin, re.IGNORECASE | re.ASCII) for each in pages.origins
    )


def pattern(origin: str) -> str:
    """A regular expression of an origin with *: after a colon some digits, elsewhere any part of a host name."""
    ported = re.sub(r":\\\*$", f":{PORT}", re.escape(origin))
    return ported.replace(r"\*", HOST)


def told(pages: Pages, method: str, origin: str | None, asks: bool) -> tuple[str, dict[str, str]]:
    """The headers for pages of other origins, by name in lower case, and whose rule they are.

    asks: does the request ask whether it may be sent (Access-Control-Request-Method)?
    """
    if origin is None:
        return "SOL-CORS-2", {}
    if not allowed(pages, origin):
        return "SOL-CORS-1", {"vary": "Origin"}
    given = {"access-control-allow-origin": origin, "vary": "Origin"}
    if pages.credentials:
        given["access-control-allow-credentials"] = "true"
    if method == "OPTIONS" and asks:
        given["access-control-allow-methods"] = ", ".join(pages.methods)
        given["access-control-allow-headers"] = ", ".join(pages.headers)
        return "SOL-CORS-3", given
    if pages.exposed:
        given["access-control-expose-headers"] = ", ".join(pages.exposed)
    return "SOL-CORS-3" if method == "OPTIONS" else "SOL-CORS-2", given
