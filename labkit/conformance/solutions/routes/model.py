"""Reference model of the probe's routes: route selection, request bodies and responses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

Table = dict[str, Any]

# As in fixtures/solutions/probe/endpoints/tree.lua.
ROUTES = tuple(
    tuple(each.split())
    for each in """
    GET /tree
    PUT /tree
    GET /tree/{a}
    POST /tree/{a}
    GET /tree/fixed
    DELETE /tree/fixed
    GET /tree/caf%C3%A9
    GET /tree/{a}/leaf
    PUT /tree/{a}/leaf
    GET /tree/fixed/{b}
    PATCH /tree/fixed/{b}/
    POST /tree/{a}/{b}
    DELETE /tree/{b}/{a}
    POST /tree/fixed/leaf
    GET /tree/{a}/{b}/{c}
    PUT /tree/{x}/leaf/{y}
    """.strip().splitlines()
)


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected response. allowed: the methods in Allow; body: the decoded JSON."""

    status: int
    rule: str
    body: Any = None
    allowed: frozenset[str] = frozenset()


def expected_route(method: str, segments: Sequence[str], query: str) -> Expected:
    """Return the expected response to a request for /tree/…. segments: percent-encoded, as in the path."""
    path = [unquote(each) for each in ("tree", *segments) if each]
    found = []
    for verb, template in ROUTES:
        parts = template.strip("/").split("/")
        if len(parts) == len(path) and all(
            part.startswith("{") or unquote(part) == own for part, own in zip(parts, path, strict=True)
        ):
            exact = [
                part.startswith("{") for part in parts
            ]  # sorts exact segments before placeholders, from the left
            values = {part[1:-1]: own for part, own in zip(parts, path, strict=True) if part.startswith("{")}
            found.append((exact, verb, template, values))
    if not found:
        return Expected(404, "SOL-ROUTE-4")
    fits = sorted((each for each in found if each[1] == method), key=lambda each: each[0])
    if not fits:
        return Expected(405, "SOL-ROUTE-4", allowed=frozenset(each[1] for each in found))
    _, verb, template, values = fits[0]
    body = {"route": template, "method": verb, "parameters": {**decoded_pairs(query), **values}}
    return Expected(200, "SOL-REQ-2" if query else "SOL-ROUTE-3", body)


def decoded_pairs(pairs: str) -> Table:
    """Return a query or form as a table; a repeated name has a list."""
    found: Table = {}
    for name, value in parse_qsl(pairs, keep_blank_values=True):
        if name not in found:
            found[name] = value
        elif isinstance(found[name], list):
            found[name].append(value)
        else:
            found[name] = [found[name], value]
    return found


def expected_body(kind: str, declared: str | None, content: bytes) -> Expected:
    """Return the expected response that shows the script's view of a request body.

    kind: the route (json, form, text); declared: the Content-Type sent, if any.
    """
    own = {"json": "application/json", "form": "application/x-www-form-urlencoded", "text": "text/plain"}[
        kind
    ]
    sent = (declared or own).partition(";")[0].strip().lower()
    value: Any
    if not content:
        value = {}
    elif kind == "text":
        value = content.decode()
    elif kind == "form" and sent == own:
        value = decoded_pairs(content.decode())
    elif sent == "application/json" or sent.endswith("+json"):
        try:
            value = json.loads(content)
        except ValueError:
            return Expected(400, "SOL-REQ-5")
        value = {} if value is None else value
    elif kind == "json" and content.lstrip()[:1] in (b"{", b"["):  # curl declares a form by default
        try:
            value = json.loads(content)
        except ValueError:
            value = content.decode()
    else:
        value = content.decode()
    name = "table" if isinstance(value, dict | list) else "string" if isinstance(value, str) else "number"
    return Expected(200, "SOL-REQ-4", {"kind": name, "body": value})


def expected_response(
    set_: Mapping[str, Any], headers: Iterable[tuple[str, str]], give: object
) -> tuple[Expected, str, str | None]:
    """Return the expected response of a script, with its text and content type.

    set_: fields of response; give: the value that the script returns.
    """
    code = set_.get("code", 200)
    if not 200 <= code <= 599:
        return Expected(500, "SOL-RESP-8"), "", None
    value = next((each for each in (give, set_.get("message"), set_.get("body")) if each is not None), None)
    rule = (
        "SOL-RESP-1" if isinstance(give, dict | list) else "SOL-RESP-3" if give is not None else "SOL-RESP-2"
    )
    rule = "SOL-RESP-6" if value is None else rule
    kind = "text/plain" if value is None or isinstance(value, str) else "application/json"
    chosen = next((each for name, each in headers if name.lower() == "content-type"), kind)
    if code in (204, 304):
        return Expected(code, rule), "", None
    text = "OK" if value is None else value if isinstance(value, str) else json.dumps(value)
    return Expected(code, rule, value), text, chosen
