"""JSON web tokens, taken apart and put together by hand (RFC 7519)."""

from __future__ import annotations

import base64
import json
from typing import Any

from labkit.conformance.verdict import Mismatch


def coded(data: bytes) -> str:
    """Base64url, as the parts of a token are written."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def part(value: object) -> str:
    """A header or a payload; a text stands in it as it is."""
    return coded((value if isinstance(value, str) else json.dumps(value)).encode())


def opened(token: str) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Header, payload and signature of what must be a token. Nothing is verified."""
    try:
        header, payload, signature = (base64.urlsafe_b64decode(each + "==") for each in token.split("."))
        parts = json.loads(header), json.loads(payload)
    except ValueError:
        parts, signature = (None, None), b""
    if not all(isinstance(each, dict) for each in parts):
        raise Mismatch("the token", "three parts in base64url, two of them JSON objects", "another form")
    return *parts, signature
