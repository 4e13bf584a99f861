"""Client of the probe: an unexpected answer is the target's fault."""

from __future__ import annotations

from typing import Any, cast

import httpx
import pytest

from labkit.conformance import probe
from labkit.conformance.probe import Keystore, decoded, same
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch

REQUEST = httpx.Request("POST", "https://probe.example/call/Keystore/get")


class Client:
    """HTTP client that always gets the same answer."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self.requests: list[tuple[str, str, Any]] = []

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        self.requests.append((method, path, options.get("json")))
        return self.answer


class Stub:
    """A target whose solutions all answer the same at once. offers: its features beyond HTTPS."""

    offers = frozenset({"journal"})

    def __init__(self, answer: httpx.Response) -> None:
        self.only = Client(answer)
        self.settled = 0

    def client(self, id: str) -> Client:
        return self.only

    shared_client = client

    async def settle(self) -> None:
        self.settled += 1


def answer(json: Any = None, status: int = 200, **more: Any) -> httpx.Response:
    body = {"json": json} if json is not None else {}
    return httpx.Response(status, request=REQUEST, **body, **more)


def target(response: httpx.Response) -> Target:
    return cast("Target", Stub(response))


def store(result: Any, kind: str = "table") -> Keystore:
    return Keystore(target(answer({"kind": kind, "result": result})))


@pytest.mark.parametrize("other", [True, 1.5, "1", None, [1], {"a": 1}, 2])
def test_equal_json_has_equal_types(other: Any) -> None:
    same("it", 1, 1)
    same("it", {"a": [1], "b": None}, {"b": None, "a": [1]})
    with pytest.raises(Mismatch):
        same("it", 1, other)


@pytest.mark.parametrize(
    "response",
    [
        answer(text="{}"),
        answer(content=b"{", headers={"Content-Type": "application/json"}),
        answer(content=b"", headers={"Content-Type": "application/json"}),
    ],
)
def test_an_answer_that_is_no_json_is_a_mismatch(response: httpx.Response) -> None:
    with pytest.raises(Mismatch):
        decoded(response)


async def test_a_call_reaches_the_operation() -> None:
    stub = Stub(answer({"kind": "table", "result": {"value": "v"}}))
    keystore = Keystore(cast("Target", stub))
    assert await keystore.get("k") == "v"
    assert await keystore.command("k", "incrby", 5) == "v"
    assert stub.only.requests == [
        ("POST", "/call/Keystore/get", {"key": "k"}),
        ("POST", "/call/Keystore/command", {"key": "k", "command": "incrby", "args": (5,)}),
    ]


async def test_the_result_of_an_operation() -> None:
    assert await store({}).done("set") == {}
    assert await store({}).get("k") is None
    assert await store({"keys": []}).field("list", "keys") == []
    error = {"type": "QueryError", "error": "no", "status": 400}
    assert await store(error).refused("get", 400) == "no"
    assert await store(error).table("get") == error


@pytest.mark.parametrize(("result", "kind"), [(None, "nil"), ("text", "string"), ([], "table")])
async def test_a_result_that_is_no_table_is_a_mismatch(result: Any, kind: str) -> None:
    with pytest.raises(Mismatch, match="a table"):
        await store(result, kind).done("set")


async def test_an_unexpected_error_is_a_mismatch() -> None:
    for result in ({"status": 400}, {"error": "no"}):
        with pytest.raises(Mismatch, match="no error"):
            await store(result).done("set")
    with pytest.raises(Mismatch, match="a table with keys"):
        await store({}).field("list", "keys")


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"type": "QueryError", "error": "no", "status": 404},
        {"type": "QueryError", "error": "", "status": 400},
        {"type": "QueryError", "status": 400},
        {"error": "no", "status": 400},
    ],
)
async def test_a_missing_error_is_a_mismatch(result: Any) -> None:
    with pytest.raises(Mismatch):
        await store(result).refused("get", 400)


async def test_a_failing_script_is_a_mismatch() -> None:
    with pytest.raises(Mismatch, match="status"):
        await Keystore(target(answer({"error": "no"}, 500))).get("k")


async def test_events_are_awaited() -> None:
    stub = Stub(answer([{"handler": "event", "event": {}}]))
    assert len(await probe.events_of(cast("Target", stub), "d-1", 1)) == 1
    assert stub.settled == 1
    with pytest.raises(Mismatch, match="2 events"):
        await probe.events_of(cast("Target", stub), "d-1", 2)


async def test_without_a_journal_events_are_requested_repeatedly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "GRACE", 0.03)
    stub = Stub(answer([]))
    stub.offers = frozenset()
    with pytest.raises(Mismatch):
        await probe.events_of(cast("Target", stub), "d-1", 1)
    assert stub.settled == 0
    assert len(stub.only.requests) > 1
