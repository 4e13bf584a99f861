"""Selection of a route by method and path."""

from collections.abc import Mapping
from typing import Any

import pytest

from labkit.core.errors import SettingsError
from labkit.solutions.handlers import HandlerRun
from labkit.solutions.web.routes import Route, Routes
from tests.cases import cases


class Nothing:
    async def __call__(self, arguments: Mapping[str, Any], run: HandlerRun) -> object:
        return None

    def close(self) -> None: ...


def route(line: str, where: str) -> Route:
    method, path = line.split(" ", 1)
    return Route(method, path, Nothing(), where=where)


def routes(*lines: str) -> Routes:
    table = Routes()
    for line in lines:
        table.add(route(line, where=line))
    return table


TABLE = routes(
    "GET /",
    "GET /user/{email}/x",
    "GET /user/me/x",
    "POST /user/{id}/x",
    "GET /user/me",
    "DELETE /user/{id}",
    "GET /a/{b}/{c}",
    "GET /a/{b}/end",
    "PUT /only",
    "HEAD /own",
    "GET /own",
    "GET /café au lait",
)


@cases(
    ("method", "path", "where", "parameters"),
    [
        ("GET", "", "GET /", {}),
        ("GET", "//", "GET /", {}),
        ("GET", "/user//%2F/x", "GET /user/{email}/x", {"email": "/"}),
        ("POST", "/user/me/x", "POST /user/{id}/x", {"id": "me"}),
        ("DELETE", "/user/me", "DELETE /user/{id}", {"id": "me"}),
        ("GET", "/a/1/end", "GET /a/{b}/end", {"b": "1"}),
        ("GET", "/a/1/2", "GET /a/{b}/{c}", {"b": "1", "c": "2"}),
        ("HEAD", "/user/me", "GET /user/me", {}),
        ("HEAD", "/own", "HEAD /own", {}),
        ("GET", "/caf%C3%A9%20au%20lait", "GET /café au lait", {}),
    ],
)
def test_matching(method: str, path: str, where: str, parameters: dict[str, str]) -> None:
    match = TABLE.match(method, path)
    assert match.route is not None
    assert (match.route.where, match.parameters) == (where, parameters)


@cases(
    ("method", "path", "allowed"),
    [
        ("PUT", "/user/me", ["DELETE", "GET", "HEAD"]),
        ("GET", "/only", ["PUT"]),
        ("HEAD", "/only", ["PUT"]),
        ("GET", "/user", []),
        ("GET", "/user//x", ["DELETE"]),
        ("GET", "/user%2Fme", []),
        ("get", "/user/me", ["DELETE", "GET", "HEAD"]),
    ],
)
def test_paths_and_methods_without_a_route(method: str, path: str, allowed: list[str]) -> None:
    match = TABLE.match(method, path)
    assert match.route is None
    assert match.allowed == allowed


@cases("second", ["GET /a/{b}", "GET /a/{other}", "GET /a/{b}/"])
def test_an_equal_route_is_an_error_with_both_places(second: str) -> None:
    table = routes("GET /a/{b}")
    with pytest.raises(SettingsError) as error:
        table.add(route(second, where="endpoints/b.lua:3"))
    assert "endpoints/b.lua:3: GET /a/{" in str(error.value)
    assert str(error.value).endswith("is in GET /a/{b} too")


def test_a_route_can_be_replaced() -> None:
    table = routes("GET /a")
    replaced = table.replace(route("GET /a", where="new"))
    assert replaced is not None
    assert replaced.where == "GET /a"
    assert [route.where for route in table] == ["new"]


@cases(
    ("method", "path", "words"),
    [
        ("FETCH", "/a", "'FETCH' is no method"),
        ("GET", "/a/x{b}", "whole segment"),
        ("GET", "/a/{b", "whole segment"),
        ("GET", "/a/{}", "whole segment"),
        ("GET", "/{a}/{a}", "named twice"),
    ],
)
def test_wrong_routes(method: str, path: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Routes().add(Route(method, path, Nothing()))


def test_iterating_returns_every_route() -> None:
    assert len(list(TABLE)) == 12
