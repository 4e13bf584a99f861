"""Cross-origin requests: headers that let pages of other origins use a solution (Fetch standard, CORS protocol)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

from labkit.core.errors import did_you_mean

ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s,]+|null", re.IGNORECASE)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "*")
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
LONGEST = 300  # characters of an origin: a host name has at most 253


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class Cors(BaseModel):
    """Cross-origin settings of a solution. origin: True allows every origin; or the allowed ones (http://localhost:*)."""

    model_config = ConfigDict(extra="allow", frozen=True)  # unknown keys become warnings

    origin: bool | Names = ("http://localhost:*",)
    methods: Names = METHODS[:-1]
    headers: Names = ("Content-Type", "Cookie", "Authorization")
    credentials: bool = True
    expose_headers: Names = ()

    def allows(self, origin: str) -> bool:
        """Return whether pages of this origin may read responses."""
        if isinstance(self.origin, bool):
            return self.origin
        if len(origin) > LONGEST:
            return False
        return any(_fits(allowed.lower(), origin.lower()) for allowed in self.origin)

    def doubts(self) -> Iterator[tuple[str, str]]:
        """Yield each unknown key, and each value that no browser's request fits: the key, and a sentence about it."""
        for key in self.model_extra or ():
            yield key, f"unknown key, ignored{did_you_mean(key, Cors.model_fields)}"
        for each in () if isinstance(self.origin, bool) else self.origin:
            if not ORIGIN.fullmatch(each):
                hint = (
                    "; did you mean true, for every origin?"
                    if each == "*"
                    else ", such as https://example.com"
                )
                yield "origin", f"{each[:LONGEST]!r} is no origin{hint}"
        for each in _parts(self.methods):
            if each not in METHODS:
                yield "methods", f"{each[:LONGEST]!r} is no method{did_you_mean(each, METHODS)}"
        for key in ("headers", "expose_headers"):
            for each in _parts(getattr(self, key)):
                if not HEADER.fullmatch(each):
                    yield key, f"{each[:LONGEST]!r} is not the name of a header"

    def headers_for(self, request: Mapping[str, str], preflight: bool = False) -> dict[str, str]:
        """Return the headers to add to the response to a request with these headers."""
        origin = request.get("Origin")
        if origin is None:
            return {}
        if not self.allows(origin):
            return {"Vary": "Origin"}
        given = {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}
        if self.credentials:
            given["Access-Control-Allow-Credentials"] = "true"
        if preflight:
            given["Access-Control-Allow-Methods"] = ", ".join(self.methods)
            given["Access-Control-Allow-Headers"] = ", ".join(self.headers)
        elif self.expose_headers:
            given["Access-Control-Expose-Headers"] = ", ".join(self.expose_headers)
        return given


def _parts(texts: Iterable[str]) -> Iterator[str]:
    """Yield the names in texts, each of which may have several with commas."""
    return (part.strip() for text in texts for part in text.split(","))


def _fits(allowed: str, origin: str) -> bool:
    """Return whether an origin matches an allowed one, in which `*` is a port or any part of a host name."""
    ours, theirs = re.split("([/:])", allowed), re.split("([/:])", origin)
    if len(ours) != len(theirs):
        return False
    for index, (pattern, part) in enumerate(zip(ours, theirs, strict=True)):
        if pattern == "*" and index and ours[index - 1] == ":":
            if not (part.isascii() and part.isdecimal()):
                return False
        elif not _matches(pattern.split("*"), part):
            return False
    return True


def _matches(pieces: list[str], text: str) -> bool:
    """Return, in linear time, whether `text` consists of these pieces with any text between them."""
    first, *others = pieces
    if not others:
        return text == first
    *inner, last = others
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in inner:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def preflight(method: str, headers: Mapping[str, str]) -> bool:
    """Return whether a request is a CORS preflight, which asks whether a browser may send another request."""
    return method == "OPTIONS" and "Origin" in headers and "Access-Control-Request-Method" in headers
