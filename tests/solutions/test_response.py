"""What a handler's outcome becomes on the wire."""

from typing import Any

import pytest

from labkit.solutions.response import ReplyError, Response, encode, failure, reply
from tests.cases import cases

TEXT, JSON = "text/plain; charset=utf-8", "application/json"


def sent(result: Any = None, **parts: Any) -> tuple[int, bytes, str | None]:
    made = reply(result, Response(**parts))
    assert isinstance(made.body, bytes)
    return made.status, made.body, made.headers.get("Content-Type")


@cases(
    ("result", "parts", "expected"),
    [
        # a returned value is the body
        (None, {}, (200, b"OK", TEXT)),
        ("hello", {}, (200, b"hello", TEXT)),
        ("", {}, (200, b"", TEXT)),
        ({}, {}, (200, b"{}", JSON)),
        ([], {}, (200, b"[]", JSON)),
        ({"logs": [], "more": {}}, {}, (200, b'{"logs":[],"more":{}}', JSON)),
        (False, {}, (200, b"false", JSON)),
        (0, {}, (200, b"0", JSON)),
        (1.5, {}, (200, b"1.5", JSON)),
        ("é", {}, (200, b"\xc3\xa9", TEXT)),
        ({"a": "é"}, {}, (200, b'{"a":"\xc3\xa9"}', JSON)),
        (b"\xff", {}, (200, b"\xff", TEXT)),
        ("\udcff", {}, (200, b"\xff", TEXT)),
        ({"a": b"\xff"}, {}, (200, b'{"a":"\xef\xbf\xbd"}', JSON)),
        ({"a": "\udcff"}, {}, (200, b'{"a":"\xef\xbf\xbd"}', JSON)),
        # what is set
        (None, {"message": "m"}, (200, b"m", TEXT)),
        (None, {"body": {"a": 1}}, (200, b'{"a":1}', JSON)),
        (None, {"message": "m", "body": "b"}, (200, b"m", TEXT)),
        ("r", {"message": "m", "body": "b"}, (200, b"r", TEXT)),
        (None, {"message": False, "body": "b"}, (200, b"false", JSON)),
        # an error object is like any table
        ({"error": "x", "status": 404}, {}, (200, b'{"error":"x","status":404}', JSON)),
        # the status
        (None, {"code": 404, "message": "gone"}, (404, b"gone", TEXT)),
        (None, {"code": 404.0}, (404, b"OK", TEXT)),
        (None, {"code": "404"}, (404, b"OK", TEXT)),
        ("x", {"code": 204}, (204, b"", None)),
        ("x", {"code": 304}, (304, b"", None)),
        # the headers
        ({}, {"headers": {"content-type": "text/csv"}}, (200, b"{}", "text/csv")),
        ("<p>", {"headers": {"Content-Type": "text/html"}}, (200, b"<p>", "text/html")),
    ],
)
def test_outcomes(result: Any, parts: dict[str, Any], expected: tuple[int, bytes, str | None]) -> None:
    assert sent(result, **parts) == expected


@cases("code", [0, 99, 100, 101, 199, 600, -1, 1e9, "abc", "", "²", None, True, 200.5, {}, []])
def test_a_code_that_is_no_status_is_an_error(code: Any) -> None:
    with pytest.raises(ReplyError, match=r"response\.code"):
        sent("x", code=code)


@cases("code", [200, 201, 299, 302, 451, 500, 599])
def test_codes_that_are_fine(code: int) -> None:
    assert sent("x", code=code)[0] == code


def test_headers_of_a_handler() -> None:
    made = reply("x", Response(headers={"X-A": 1, "X-B": True, "Set-Cookie": ["a=1", "b=2"], "X-C": 1.5}))
    assert made.headers.getall("Set-Cookie") == ["a=1", "b=2"]
    assert (made.headers["X-A"], made.headers["X-B"], made.headers["X-C"]) == ("1", "true", "1.5")


def test_framing_is_the_servers_own() -> None:
    made = reply(
        "x", Response(headers={"Content-Length": "99", "Transfer-Encoding": "chunked", "Connection": "x"})
    )
    assert not {"Transfer-Encoding", "Connection"} & set(made.headers)
    assert made.content_length == 1


@cases(
    "headers",
    [
        {"X": "a\r\nY: b"},
        {"X": "a\0"},
        {"X Y": "a"},
        {"": "a"},
        {1: "a"},
        {"X": {}},
        {"X": None},
        {"X": "\udcff"},
        "x",
    ],
)
def test_headers_that_cannot_be_sent(headers: Any) -> None:
    with pytest.raises(ReplyError, match=r"response\.headers"):
        reply("x", Response(headers=headers))


@cases("value", [float("nan"), {"a": float("inf")}, {"a": object()}, {(1, 2): 3}])
def test_what_json_cannot_say(value: Any) -> None:
    with pytest.raises(ReplyError, match="not JSON"):
        encode(value)


def test_a_table_that_holds_itself_is_an_error() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ReplyError):
        encode(endless)


@cases(
    ("table", "expected"),
    [
        ({}, Response()),
        ([], Response()),
        ({"code": 404, "message": "m"}, Response(404, "m")),
        ({"body": "b", "headers": {"a": "b"}}, Response(body="b", headers={"a": "b"})),
        ({"headers": []}, Response()),
    ],
)
def test_what_a_script_leaves_in_response(table: Any, expected: Response) -> None:
    response = Response(code=1, message=2, body=3, headers={"x": 4})
    response.take(table)
    assert response == expected


@cases("table", ["text", 5, [1], None])
def test_a_response_that_is_no_table(table: Any) -> None:
    with pytest.raises(ReplyError, match="expected a table"):
        Response().take(table)


def test_failure() -> None:
    made = failure(404, "unknown path", {"X": "y"})
    assert (made.status, made.body, made.content_type) == (404, b'{"error":"unknown path"}', JSON)
    assert made.headers["X"] == "y"
