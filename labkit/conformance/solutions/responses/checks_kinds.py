"""Values of every type in response headers and in JSON."""

from __future__ import annotations

from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import Probe, decoded
from labkit.conformance.target import Target

HEADERS: tuple[
    tuple[object, list[str] | None], ...
] = (  # value set by a script, header lines sent; None: refused
    ("text", ["text"]),
    ("", [""]),
    ('a\tb, c; d="e\\"', ['a\tb, c; d="e\\"']),
    ("é😀", ["é😀"]),
    (5, ["5"]),
    (-2.5, ["-2.5"]),
    (True, ["true"]),
    (False, ["false"]),
    (["a", "b"], ["a", "b"]),
    (["a", 1, False], ["a", "1", "false"]),
    ([], []),
    ({}, None),
    ({"a": "b"}, None),
    ([["a"]], None),
    ("a\nb", None),
    ("a\r\nX-Other: b", None),
    ("a\0", None),
    ("\x7f", None),
    ("\x1f", None),
    ("\x0b", None),
    (["a", "b\n"], None),
)
NAMES = {
    **dict.fromkeys(("X-A", "x_a.b", "!#$%&'*+-.^_`|~09"), True),
    **dict.fromkeys(
        ("", "X A", " X-A", "X-A ", "X:A", "X-A\n", "Ä", "X(A)", "X/A", "X@A", "X[A", "X{A}"), False
    ),
}
FRAMING = {
    "Content-Length": "3",
    "transfer-encoding": "chunked",
    "CONNECTION": "close",
    "Keep-Alive": "timeout=1",
    "Upgrade": "websocket",
    "trailer": "X-A",
}
NUMBERS = {
    "exact": 2**53,
    "huge": 1e300,
    "tiny": 5e-324,
    "third": 1 / 3,
    "sum": 0.1 + 0.2,
    "half": -2.5,
    "minus": 0,
}


@check("SOL-RESP-10", "headers of every kind and name, and those that frame the answer")
async def header_kinds(target: Target) -> None:
    probe = Probe(target)

    async def ask(**order: Any) -> Any:
        return await probe.request("POST", "/responses", json={"give": "text", **order})

    for value, sent in HEADERS:
        response = expect.status(await ask(headers={"X-A": value}), 500 if sent is None else 200)
        found = response.headers.get_list("X-A")
        expect.equal(f"what is sent of {value!r}", found, sent or [], response)
        expect.header(response, "X-Other", None)
    for name, good in NAMES.items():
        response = expect.status(await ask(headers={name: "a"}), 200 if good else 500)
        expect.header(response, name, "a") if good else decoded(response)
    response = expect.status(await ask(headers={**FRAMING, "X-A": "a"}), 200)
    expect.body(response, "text")
    expect.header(response, "Content-Length", "4")
    expect.header(response, "X-A", "a")
    for name in FRAMING.keys() - {"Content-Length"}:
        expect.header(response, name, None)
    for given, status in (
        ("text", 500),
        (5, 500),
        (True, 500),
        (["X-A"], 500),
        (False, 200),
        ([], 200),
        ({}, 200),
    ):
        expect.status(await ask(set={"headers": given}), status)


@check("SOL-RESP-10", "values other than tables assigned to response")
async def no_table(target: Target) -> None:
    probe = Probe(target)
    for given, status in (("text", 500), (5, 500), (True, 500), (["text"], 500), ([], 200), ({}, 200)):
        response = expect.status(await probe.request("POST", "/responses/anew", json=given), status)
        if status == 200:
            expect.body(response, "OK")


@check("SOL-JSON-3", "numbers and texts of every kind, and what JSON cannot say")
async def kinds(target: Target) -> None:
    probe = Probe(target)
    for kind in ("none", "most", "least", "code", "run", "itself", "keys"):
        for query in ("", "?alone=1"):
            response = expect.status(await probe.request("GET", f"/json/kinds/{kind}{query}"), 500)
            expect.equal("names", sorted(decoded(response)), ["error"], response)
    text = "gr�ü���"
    for kind, value in (
        *NUMBERS.items(),
        ("text", text),
        ("zero", "a\0b"),
        ("key", {"�": "a"}),
        ("holes", {"1": 1, "3": 3}),
    ):
        found = await probe.ask("GET", f"/json/kinds/{kind}")
        expect.equal(f"{kind} within a table", found, {"within": [value]}, probe.last)
    for kind, number in NUMBERS.items():
        expect.equal(
            f"{kind} alone", await probe.ask("GET", f"/json/kinds/{kind}?alone=1"), number, probe.last
        )
    for kind, raw in (("text", b"gr\xfc\xc3\xbc\xed\xa0\x80"), ("zero", b"a\0b")):
        response = expect.status(await probe.request("GET", f"/json/kinds/{kind}?alone=1"), 200)
        expect.body(response, raw)
