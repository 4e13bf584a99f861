"""Code mutant of requests, for a fault that no fault row can express."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import patch
from labkit.http.error import HttpError


@patch("SOL-REQ-4", "labkit.solutions.web.request:parse_json")
def no_mark(original: Any, data: bytes) -> Any:
    """JSON with a byte order mark is refused"""
    if data.startswith("\ufeff".encode()):
        raise HttpError(400, "body: not JSON")
    return original(data)
