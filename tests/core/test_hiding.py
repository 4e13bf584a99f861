"""Replacement of secrets in logs."""

from __future__ import annotations

from labkit.core.redaction import without_issued, without_issued_in_path, without_query_values
from tests.cases import cases

CODE = "Ab1" + "x" * 37


@cases(
    ("text", "shown"),
    [
        (CODE, "***"),
        (f"reset:{CODE}", "reset:***"),
        (f"{CODE}/{CODE}", "***/***"),
        (f"{CODE}1", f"{CODE}1"),
        (CODE[1:], CODE[1:]),
        ("a" * 100_000, "a" * 100_000),
        ("thermostat/t-001", "thermostat/t-001"),
    ],
)
def test_issued_secrets_are_hidden(text: str, shown: str) -> None:
    assert without_issued(text) == shown


@cases(
    ("path", "shown"),
    [
        (f"/api/verify/{CODE}", "/api/verify/***"),
        (f"/api/verify/%41{CODE[1:]}", "/api/verify/***"),
        ("/api/a%20b", "/api/a%20b"),
        ("/%ff", "/%ff"),
    ],
)
def test_paths_may_be_percent_encoded(path: str, shown: str) -> None:
    assert without_issued_in_path(path) == shown


@cases(
    ("url", "shown"),
    [
        ("https://a.example/b", "https://a.example/b"),
        ("https://a.example/b?key=s3cret&x=&y", "https://a.example/b?key=***&x=&***"),
        (
            "https://a.example/?k=1,https://b.example/?l=2#z",
            "https://a.example/?k=***,https://b.example/?l=***#***",
        ),
    ],
)
def test_queries_keep_only_their_names(url: str, shown: str) -> None:
    assert without_query_values(url) == shown
