"""Cross-origin requests: which pages of other origins a browser lets talk to a solution (Fetch standard)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class Cors(BaseModel):
    """Settings of a solution. origin: True for all, or those allowed: http://localhost:*."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    origin: bool | Names = ("http://localhost:*",)
    methods: Names = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    headers: Names = ("Content-Type", "Cookie", "Authorization")
    credentials: bool = True
    expose_headers: Names = ()

    def allows(self, origin: str) -> bool:
        """May pages of this origin read answers?"""
        if isinstance(self.origin, bool):
            return self.origin
        return any(re.fullmatch(_pattern(allowed), origin, re.IGNORECASE) for allowed in self.origin)

    def headers_for(self, request: Mapping[str, str], preflight: bool = False) -> dict[str, str]:
        """The headers to add to the answer of a request with these headers."""
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


def _pattern(allowed: str) -> str:
    """`*` stands for a port, or for any part of a host name."""
    return re.escape(allowed).replace(r":\*", r":\d+").replace(r"\*", "[^/:]*")


def preflight(method: str, headers: Mapping[str, str]) -> bool:
    """Is it a browser's question whether it may send a request?"""
    return method == "OPTIONS" and "Origin" in headers and "Access-Control-Request-Method" in headers
