"""Which pages of other origins may talk to a solution."""

from typing import Any

from labkit.solutions.cors import Cors, preflight
from tests.cases import cases


@cases(
    ("settings", "origin", "allowed"),
    [
        ({}, "http://localhost:3000", True),
        ({}, "http://localhost:80/evil", False),
        ({}, "https://evil.example", False),
        ({}, "http://localhost:3000.evil.example", False),
        ({"origin": True}, "https://any.example", True),
        ({"origin": False}, "http://localhost:3000", False),
        ({"origin": "https://a.example"}, "https://a.example", True),
        ({"origin": ["https://a.example", "https://*.b.example"]}, "https://x.b.example", True),
        ({"origin": ["https://*.b.example"]}, "https://xb.example", False),
        ({"origin": ["https://a.example"]}, "https://aXexample", False),
        ({"origin": ["https://*.a.*.example:*"]}, "https://x.a.a.y.example:8443", True),
        ({"origin": ["https://*.a.*.example:*"]}, "https://x.a.example:8443", False),
        ({"origin": ["https://*.example:*"]}, "https://x.example:", False),
        ({"origin": ["https://*.example"]}, "https://x/y.example", False),
        ({"origin": ["https://*.example"]}, "https://x:y.example", False),
        ({"origin": ["https://*"]}, "https://" + "x" * 300, False),
        ({"origin": ["HTTPS://A.example"]}, "https://a.EXAMPLE", True),
    ],
)
def test_origins(settings: dict[str, Any], origin: str, allowed: bool) -> None:
    assert Cors.model_validate(settings).allows(origin) is allowed
    headers = Cors.model_validate(settings).headers_for({"Origin": origin})
    assert headers.get("Access-Control-Allow-Origin") == (origin if allowed else None)


def test_without_an_origin_nothing_is_added() -> None:
    assert Cors().headers_for({}) == {}


def test_a_preflight_is_told_methods_and_headers() -> None:
    cors = Cors.model_validate(
        {"origin": True, "methods": ["GET"], "headers": ["X-A"], "expose_headers": ["X-B"]}
    )
    preflight_headers = cors.headers_for({"Origin": "http://x"}, preflight=True)
    assert preflight_headers["Access-Control-Allow-Methods"] == "GET"
    assert preflight_headers["Access-Control-Allow-Headers"] == "X-A"
    assert preflight_headers["Access-Control-Allow-Credentials"] == "true"
    assert "Access-Control-Expose-Headers" not in preflight_headers
    plain = cors.headers_for({"Origin": "http://x"})
    assert plain["Access-Control-Expose-Headers"] == "X-B"
    assert "Access-Control-Allow-Methods" not in plain


@cases(
    ("method", "headers", "expected"),
    [
        ("OPTIONS", {"Origin": "x", "Access-Control-Request-Method": "GET"}, True),
        ("OPTIONS", {"Origin": "x"}, False),
        ("GET", {"Origin": "x", "Access-Control-Request-Method": "GET"}, False),
    ],
)
def test_preflight(method: str, headers: dict[str, str], expected: bool) -> None:
    assert preflight(method, headers) is expected
