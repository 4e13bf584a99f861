"""Model game of routes: requests to two solutions with the same routes, and to one without them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from labkit.conformance.connection_pool import Exchange
from labkit.conformance.models.commands import Commands, optional, several
from labkit.conformance.models.game import Game
from labkit.conformance.probe import PROBE, WITNESS
from labkit.conformance.solutions.routes.model import (
    Expected,
    Table,
    expected_body,
    expected_response,
    expected_route,
)
from labkit.fleet.answer import Answer

SOLUTIONS = (PROBE, WITNESS, "metrics")


SEGMENTS = (
    "fixed",
    "fixed",
    "leaf",
    "leaf",
    "x",
    "Fixed",
    "caf%C3%A9",
    "cafe",
    "%66ixed",
    "a%2Fb",
    "a%20b",
    "+",
    "%25",
    "%2566ixed",
    "%252F",
    "a+b",
    "%2B",
    "e%CC%81",
    "{a}",
    "",
)
ENDS = ("", "", "", "/", "//")
QUERIES = (
    "",
    "",
    "",
    "a=1",
    "a=1&b=2",
    "q=x&q=y&q=z",
    "q=",
    "q",
    "A=1&a=2",
    "q=a+b%20c%26",
    "q=%2541%252B&%2571=a",
    "%C3%A9=%F0%9F%98%80",
    "b=1&c=2",
)
METHODS = ("GET", "GET", "POST", "PUT", "PATCH", "DELETE")
TYPES = (
    *(
        None,
        None,
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/problem+json",
        "text/plain",
    ),
    *("application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=utf-8"),
)
BODIES = (
    "",
    "a=1&b=2&a=3",
    "x",
    "é=😀",
    '"text"',
    "5",
    "{",
    "a=%20+%26",
    "a=%2541%252B&%2561=b",
    '{"a": [1, {"b": []}], "é": "😀"}',
    '\ufeff{"a": 1}',
    "[]",
    "[1, 2]",
    "null",
    " [1,",
    ' \n{"a": 1} ',
)
HEADERS = (
    ("X-One", "1"),
    ("x-TWO", "a, b"),
    ("X-Three", 'x;y="z"'),
    ("Cookie", "sid=1; b=2"),
    ("Accept", "*/*"),
)
SET_HEADERS = (
    *HEADERS[:3],
    ("Content-Type", "text/html"),
    ("Set-Cookie", "sid=x; Path=/"),
    ("Location", "/a%20b"),
)
VALUES: tuple[Any, ...] = (
    None,
    None,
    None,
    "text é😀",
    "",
    {"a": 1},
    [1, "b"],
    {"a": {"b": [True]}},
    5,
    2.5,
    False,
)
CODES = (200, 200, 200, 201, 204, 299, 304, 404, 418, 500, 599, 199, 600, 0, 1000)
BY_NAME: dict[str, Any] = {"unique_by": lambda each: each[0].lower()}
FIELDS = optional(code=CODES, message=VALUES[3:], body=VALUES[3:])

command = Commands(
    index=(0, 0, 0, 1, 1, 2),
    method=METHODS,
    end=ENDS,
    query=QUERIES,
    fields=FIELDS,
    headers=several(SET_HEADERS, 2, **BY_NAME),
)


class Requests(Game):
    """One game of routes."""

    default = "SOL-ROUTE-3"

    # ---- commands

    @command(2, segments=several(SEGMENTS, 4))
    @command(segments=several(SEGMENTS[:5], 3), query=[""])
    async def route(self, index: int, method: str, segments: Sequence[str], end: str, query: str) -> None:
        """Send a request for a path below /tree."""
        path = "/".join(["/tree", *segments]) + end
        wanted = expected_route(method, segments, query) if index < 2 else Expected(404, "SOL-ROUTE-2")
        seen = await self._ask(index, method, f"{path}?{query}" if query else path, {}, b"")
        if not self._rules.holds(wanted.rule, "status", seen.answer.status_code, wanted.status, seen):
            return
        if wanted.status == 405:
            allow = {each.strip() for each in seen.answer.headers.get("allow", "").split(",")}
            named = wanted.allowed <= allow and method not in allow
            what = f"Allow names {', '.join(sorted(wanted.allowed))} and not {method}"
            self._rules.holds("SOL-ROUTE-4", what, named, True, seen)
        elif wanted.status == 200:
            self._rules.holds(
                wanted.rule, "what the script gives", parsed_json(seen.answer), wanted.body, seen
            )

    @command(kind=("json", "form", "text"), declared=TYPES, content=BODIES)
    async def body(self, index: int, kind: str, declared: str | None, content: str) -> None:
        """Send a request with a body to a route that accepts JSON, a form or text."""
        wanted = expected_body(kind, declared, content.encode())
        headers = {} if declared is None else {"Content-Type": declared}
        seen = await self._ask(
            index % 2, "POST", f"/requests/{kind}/{self._target.identity()}", headers, content.encode()
        )
        if (
            self._rules.holds(wanted.rule, "status", seen.answer.status_code, wanted.status, seen)
            and wanted.body
        ):
            self._rules.holds(
                wanted.rule, "what the script gets", parsed_json(seen.answer), wanted.body, seen
            )

    @command(given=several(HEADERS, 2, **BY_NAME))
    async def headers(self, index: int, given: Sequence[tuple[str, str]], query: str) -> None:
        """Compare the URI and headers that a script receives."""
        name = self._target.identity()
        path = f"/requests/{name}" + (f"?{query}" if query else "")
        seen = await self._ask(index % 2, "GET", path, dict(given), b"")
        self._rules.holds("SOL-REQ-1", "status", seen.answer.status_code, 200, seen)
        found = parsed_json(seen.answer)
        if not isinstance(found, dict):
            found = {}
        solution = SOLUTIONS[index % 2]
        self._rules.holds(
            "SOL-REQ-1", "request.uri", found.get("uri"), self._target.url(solution, path), seen
        )
        shown = {key: found.get("headers", {}).get(key.lower()) for key, _ in given}
        self._rules.holds("SOL-REQ-3", "request.headers", shown, dict(given), seen)

    @command(give=VALUES)
    @command(give=[None])
    async def respond(
        self, index: int, fields: Table, headers: Sequence[tuple[str, str]], give: object
    ) -> None:
        """Have a script set fields of response and headers and return a value; compare the answer."""
        wanted, text, kind = expected_response(fields, headers, give)
        body = {"set": fields, "headers": dict(headers)} | ({} if give is None else {"give": give})
        json_type = {"Content-Type": "application/json"}
        seen = await self._ask(index % 2, "POST", "/responses", json_type, json.dumps(body).encode())
        answer = seen.answer
        if not self._rules.holds(wanted.rule, "status", answer.status_code, wanted.status, seen):
            return
        if wanted.status == 500 and wanted.rule == "SOL-RESP-8":
            return
        own = {
            name: answer.headers.get(name.lower()) for name, _ in headers if name.lower() != "content-type"
        }
        expected = {name: value for name, value in headers if name.lower() != "content-type"}
        self._rules.holds("SOL-RESP-4", "headers", own, expected, seen)
        if kind is None:
            return
        self._rules.holds(
            "SOL-RESP-5", "content type", answer.headers.get("content-type", "").partition(";")[0], kind, seen
        )
        plain = text if wanted.body is None or isinstance(wanted.body, str) else wanted.body
        same = answer.text if isinstance(plain, str) else parsed_json(answer)
        if wanted.body is not None or fields.get("code", 200) == 200:
            self._rules.holds(wanted.rule, "body", same, plain, seen)

    async def _ask(
        self, index: int, method: str, path: str, headers: dict[str, str], content: bytes
    ) -> Exchange:
        pool = self._target.pool(SOLUTIONS[index])
        return await pool.request(method, path, headers=headers, content=content)


def parsed_json(answer: Answer) -> Any:
    """Return the decoded JSON of an answer, or its text if it is not JSON."""
    try:
        return json.loads(answer.content)
    except ValueError:
        return answer.text
