"""Encoder and decoder of JSON web tokens that signs and verifies nothing (RFC 7519)."""

from __future__ import annotations

import base64
import json
from typing import Any

from labkit.conformance.verdict import Mismatch


def base64url(data: bytes) -> str:
    """Return bytes as base64url without padding, the form of a token's parts."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def encode(value: object) -> str:
    """Return an encoded header or payload; a text is encoded unchanged, other values as JSON."""
    return base64url((value if isinstance(value, str) else json.dumps(value)).encode())


def decode(token: str) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Return header, payload and signature of a token, without verification. Raises Mismatch for another form."""
    try:
        header, payload, signature = (base64.urlsafe_b64decode(each + "==") for each in token.split("."))
        parts = json.loads(header), json.loads(payload)
    except ValueError:
        parts, signature = (None, None), b""
    if not all(isinstance(each, dict) for each in parts):
        raise Mismatch("the token", "three parts in base64url, two of them JSON objects", "another form")
    return *parts, signature
