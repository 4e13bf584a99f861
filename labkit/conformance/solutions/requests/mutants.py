"""Faults of requests: what the script of a route sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from labkit.conformance.mutant import mutant
from labkit.http.error import HttpError
from labkit.solutions.request import Request, query

TABLE = "labkit.solutions.request:Request.table"
DECODE = "labkit.solutions.request:decode"

Fields = dict[str, Any]


@mutant("SOL-REQ-1", TABLE)
def lower_case_method(original: Any) -> Any:
    """the method is in lower case"""
    return _seen(original, lambda fields: {"method": fields["method"].lower()})


@mutant("SOL-REQ-1", TABLE)
def path_alone(original: Any) -> Any:
    """the uri has no host"""
    return _seen(original, lambda fields: {"uri": urlsplit(fields["uri"]).path})


@mutant("SOL-REQ-1", TABLE)
def path_for_route(original: Any) -> Any:
    """the route is the path that was asked for"""
    return _seen(original, lambda fields: {"route": urlsplit(fields["uri"]).path})


@mutant("SOL-REQ-1", TABLE)
def seconds(original: Any) -> Any:
    """the timestamp is in seconds"""
    return _seen(original, lambda fields: {"timestamp": fields["timestamp"] // 1_000_000})


@mutant("SOL-REQ-1", TABLE)
def one_request(original: Any) -> Any:
    """every request has the same id"""
    return _seen(original, lambda fields: {"request_id": "the same"})


@mutant("SOL-REQ-2", TABLE)
def query_wins(original: Any) -> Any:
    """where query and placeholder have a name, the query wins"""
    return _seen(
        original, lambda fields: {"parameters": fields["parameters"] | query(urlsplit(fields["uri"]).query)}
    )


@mutant("SOL-REQ-2", "labkit.solutions.request:query")
def no_query(original: Any) -> Any:
    """the query is not among the parameters"""
    return lambda text: {}


@mutant("SOL-REQ-3", "labkit.solutions.request:headers")
def names_with_capitals(original: Any) -> Any:
    """names of headers have capitals"""
    return lambda given: {name.title(): value for name, value in original(given).items()}


@mutant("SOL-REQ-4", DECODE)
def never_decoded(original: Any) -> Any:
    """the body is always the text"""
    return lambda data, expected, declared: data.decode("utf-8", "replace") if data else {}


@mutant("SOL-REQ-4", DECODE)
def empty_text(original: Any) -> Any:
    """without a body, body is an empty text"""
    return lambda data, expected, declared: original(data, expected, declared) if data else ""


@mutant("SOL-REQ-5", "labkit.solutions.request:parse_json")
def no_json_is_nothing(original: Any) -> Any:
    """a body that is no JSON is an empty table"""

    def broken(data: bytes) -> Any:
        try:
            return original(data)
        except HttpError:
            return {}

    return broken


def _seen(original: Any, change: Callable[[Fields], Fields]) -> Any:
    """Change fields that scripts see."""

    def broken(self: Request) -> Fields:
        fields: Fields = original(self)
        return {**fields, **change(fields)}

    return broken
