"""Model game of routes: requests to two solutions with the same routes, and to one without them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from labkit.conformance.connection_pool import Exchange
from labkit.conformance.models.rules import Rules
from labkit.conformance.probe import PROBE, WITNESS
from labkit.conformance.solutions.routes.model import (
    Expected,
    Table,
    expected_body,
    expected_response,
    expected_route,
)
from labkit.conformance.target import Target
from labkit.fleet.answer import Answer

SOLUTIONS = (PROBE, WITNESS, "metrics")


class RequestGame:
    """A game of requests that leave no state in the target."""

    def __init__(self, target: Target, rules: Rules) -> None:
        self._target = target
        self._rules = rules

    async def begin(self) -> None:
        """Do nothing: the game needs no objects."""

    async def end(self) -> None:
        """Do nothing: the game leaves no state to compare."""

    async def close(self) -> None:
        """Do nothing: no request is pending."""

    async def play(self, command: Any) -> None:
        """Run a command."""
        await command(self)


class Requests(RequestGame):
    """One game of routes."""

    default = "SOL-ROUTE-3"

    # ---- commands

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
