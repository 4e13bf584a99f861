"""Faults of requests: what the script of a route sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from labkit.conformance.mutant import mutant
from labkit.solutions.request import Request, query

TABLE = "labkit.solutions.request:Request.table"

Fields = dict[str, Any]


@mutant("SOL-REQ-2", TABLE)
def query_wins(original: Any) -> Any:
    """where query and placeholder have a name, the query wins"""
    return _seen(
        original, lambda fields: {"parameters": fields["parameters"] | query(urlsplit(fields["uri"]).query)}
    )


@mutant("SOL-REQ-3", "labkit.solutions.request:headers")
def names_with_capitals(original: Any) -> Any:
    """names of headers have capitals"""
    return lambda given: {name.title(): value for name, value in original(given).items()}


def _seen(original: Any, change: Callable[[Fields], Fields]) -> Any:
    """Change fields that scripts see."""

    def broken(self: Request) -> Fields:
        fields: Fields = original(self)
        return {**fields, **change(fields)}

    return broken
