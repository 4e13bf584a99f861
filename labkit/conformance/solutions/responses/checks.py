"""Responses: the HTTP response and the JSON that a script's result becomes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import JSON, Probe, Table, decoded
from labkit.conformance.target import Target

if TYPE_CHECKING:
    import httpx

TEXT = "text/plain"


@check("SOL-RESP-1", "a table that a route returns is sent as JSON with status 200")
async def tables(target: Target) -> None:
    probe = Probe(target)
    for table in ({"a": 1, "b": {"c": 'é\n"'}}, [1, "two", 3.5], {"list": [{"x": True}]}, {"error": "none"}):
        found = await probe.ask("POST", "/responses", json={"give": table})
        probe.same("the body", found, table)


@check("SOL-RESP-2", "response.code and response.body are the status and the body")
async def code_and_body(target: Target) -> None:
    probe = Probe(target)
    for code, body in ((201, "made"), (404, {"reason": "gone"}), (200, "fine"), (503, [1, 2]), (303, "see")):
        response = await _set(probe, code=code, body=body)
        expect.status(response, code)
        if isinstance(body, str):
            expect.body(response, body)
        else:
            probe.same("the body", decoded(response), body)
    expect.status(await _set(probe, body="alone"), 200)
    expect.status(await _set(probe, code=402), 402)


@check("SOL-RESP-3", "message wins over body, and a returned value over both")
async def which_wins(target: Target) -> None:
    probe = Probe(target)
    expect.body(await _set(probe, message="message"), "message")
    expect.body(await _set(probe, message="message", body="body"), "message")
    probe.same("a message that is false", decoded(await _set(probe, message=False, body="body")), False)
    response = await probe.request(
        "POST", "/responses", json={"set": {"message": "m", "body": "b", "code": 201}, "give": "given"}
    )
    expect.body(expect.status(response, 201), "given")
    response = await probe.request("POST", "/responses", json={"set": {"message": "m"}, "give": False})
    probe.same("a returned false", decoded(expect.status(response, 200)), False)


@check("SOL-RESP-4", "response.headers is an empty table, and what is put into it is sent")
async def headers(target: Target) -> None:
    probe = Probe(target)
    found = await probe.ask("GET", "/responses/headers")
    probe.same("response.headers at the start", found, {"kind": "table"})
    sent = {"X-One": "1", "location": "https://elsewhere.example/?a=b", "Set-Cookie": "sid=abc; Path=/"}
    response = await probe.request(
        "POST", "/responses", json={"headers": sent, "give": "text", "set": {"code": 302}}
    )
    expect.body(expect.status(response, 302), "text")
    for name, value in sent.items():
        expect.header(response, name, value)


@check("SOL-RESP-5", "text is text/plain, the rest application/json, unless the script says otherwise")
async def content_types(target: Target) -> None:
    probe = Probe(target)
    for value, kind in (("text", TEXT), ("{}", TEXT), ({"a": 1}, JSON), ([1], JSON), (5, JSON), (True, JSON)):
        response = await probe.request("POST", "/responses", json={"give": value})
        expect.equal(f"content type of {value!r}", _type(response), kind, response)
    for value in ("<p>text</p>", {"a": 1}):
        for name in ("content-type", "Content-Type"):
            order = {"headers": {name: "text/html"}, "give": value}
            response = await probe.request("POST", "/responses", json=order)
            expect.equal("content types", response.headers.get_list("Content-Type"), ["text/html"], response)


@check("SOL-RESP-6", "a route that returns and sets nothing is answered 200 with OK")
async def nothing(target: Target) -> None:
    response = await Probe(target).request("GET", "/responses/nothing")
    expect.body(expect.status(response, 200), "OK")
    expect.equal("content type", _type(response), TEXT, response)


@check("SOL-RESP-7", "a table that is assigned to response counts")
async def anew(target: Target) -> None:
    probe = Probe(target)
    order: dict[str, Any] = {"code": 202, "message": {"a": 1}, "headers": {"X-Probe": "set"}}
    response = expect.status(await probe.request("POST", "/responses/anew", json=order), 202)
    probe.same("the body", decoded(response), {"a": 1})
    expect.header(response, "X-Probe", "set")
    response = await probe.request("POST", "/responses/anew", json={"message": "text"})
    expect.body(expect.status(response, 200), "text")


@check("SOL-RESP-8", "a response.code that is no status is answered 500")
async def no_status(target: Target) -> None:
    probe = Probe(target)
    codes: tuple[object, ...] = (
        99,
        100,
        199,
        600,
        0,
        -200,
        1000,
        200.5,
        "none",
        True,
        {},
        "2000",
        "199",
        "-200",
        "",
        "²",
        1e9,
    )
    for code in codes:
        expect.status(await _set(probe, code=code, body="body"), 500)
    for code, status in ((599, 599), ("404", 404), (201.0, 201)):
        expect.status(await _set(probe, code=code, body="body"), status)


@check("SOL-RESP-9", "the error object of a service is sent as it is, with the status of response.code")
async def error_objects(target: Target) -> None:
    probe = Probe(target)
    response = expect.status(await probe.request("GET", "/responses/error"), 418)
    found = decoded(response)
    expect.equal("its names", sorted(found), ["error", "status", "status_code", "type"], response)
    order = {name: found[name] for name in ("type", "status")}
    probe.same("type and status", order, {"type": "QueryError", "status": 400})
    given = {"type": "QueryError", "error": "as it is", "status": 404}
    probe.same(
        "an error that is returned", await probe.ask("POST", "/responses", json={"give": given}), given
    )


# ---- JSON


@check("SOL-JSON-1", "which tables are arrays, and which are objects")
async def arrays(target: Target) -> None:
    probe = Probe(target)
    wanted = {
        "items": ["a", "b", "c"],
        "named": {"a": 1},
        "mixed": {"1": "a", "x": "b"},
        "late": {"2": "b"},
        "empty": {},
        "parsed": [],
        "parsed_object": {},
        "served": [],
        "within": [{}, ["a"], {"list": []}],
    }
    found = await probe.ask("GET", "/json/tables")
    for name, table in wanted.items():
        probe.same(name, found.get(name), table)
    given: Table = {"a": [], "b": {}, "c": [[], {}]}
    probe.same("what came as JSON", await probe.ask("POST", "/responses", json={"give": given}), given)


@check("SOL-JSON-2", "from_json and json.parse read, to_json and json.stringify write")
async def readers_and_writers(target: Target) -> None:
    probe = Probe(target)
    for text, value in (
        (
            '{"a": [1, 2.5, -3e2, true, false, "\\u00e9\\n\\ud83d\\ude00"]}',
            {"a": [1, 2.5, -300, True, False, "é\n😀"]},
        ),
        (" [ ] ", []),
        ('"text"', "text"),
        ("12345678901", 12345678901),
    ):
        found = await probe.ask("POST", "/json/read", content=text)
        probe.same(f"what {text} means", found, {"value": value, "other": value})
    for text in ('{"a": ', "nonsense", "[1,]", "{'a': 1}", "1 2"):
        found = await probe.ask("POST", "/json/read", content=text)
        expect.equal(f"what {text} gives", sorted(found), ["other_problem", "problem"], probe.last)
    written: tuple[object, ...] = ({"a": [1, 2.5, 'é"\\\n'], "b": {}, "c": []}, [True, False], "text", 5)
    for each in written:
        found = await probe.ask("POST", "/json/write", json=each)
        probe.same("names of what to_json gives", sorted(found), ["other", "reason", "text"])
        for name in ("text", "other"):
            probe.same(f"what {each} is written as", _meaning(found[name]), each)
        expect.equal("what to_json gives of a function", found["reason"], "string", probe.last)


def _meaning(text: object) -> Any:
    try:
        return json.loads(str(text))
    except ValueError:
        return f"no JSON: {text}"


def _type(response: httpx.Response) -> str:
    kind: str = response.headers.get("Content-Type", "")
    return kind.split(";")[0]


async def _set(probe: Probe, **fields: object) -> httpx.Response:
    return await probe.request("POST", "/responses", json={"set": fields})
