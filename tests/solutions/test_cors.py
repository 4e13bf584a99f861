"""CORS: origins whose pages may use a solution."""

from typing import Any

from labkit.solutions.folders.cors import Cors
from tests.cases import cases


@cases(
    ("settings", "origin", "allowed"),
    [
        ({}, "http://localhost:80/evil", False),
        ({}, "http://localhost:3000.evil.example", False),
        ({"origin": False}, "http://localhost:3000", False),
        ({"origin": "https://a.example"}, "https://a.example", True),
        ({"origin": ["https://a.example", "https://*.b.example"]}, "https://x.b.example", True),
        ({"origin": ["https://a.example"]}, "https://aXexample", False),
        ({"origin": ["https://*.a.*.example:*"]}, "https://x.a.a.y.example:8443", True),
        ({"origin": ["https://*.a.*.example:*"]}, "https://x.a.example:8443", False),
        ({"origin": ["https://*.example:*"]}, "https://x.example:", False),
        ({"origin": ["https://*.example"]}, "https://x:y.example", False),
        ({"origin": ["HTTPS://A.example"]}, "https://a.EXAMPLE", True),
    ],
)
def test_origins(settings: dict[str, Any], origin: str, allowed: bool) -> None:
    assert Cors.model_validate(settings).allows(origin) is allowed
    headers = Cors.model_validate(settings).headers_for({"Origin": origin})
    assert headers.get("Access-Control-Allow-Origin") == (origin if allowed else None)
