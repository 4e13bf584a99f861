"""Services made of a user's functions: their arguments, results and exceptions."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from unittest.mock import AsyncMock, Mock

import pytest
from pydantic import BaseModel, Field, SecretStr

from labkit.core.errors import LabError, ServiceError
from labkit.services.calls import Services
from labkit.services.custom import FunctionService
from labkit.services.operation import Caller, Service, operation
from tests.cases import cases
from tests.context import make_context
from tests.guard import PATIENCE


class Environment:
    """A service Twilio of some functions, called as scripts do."""

    def __init__(self, values: bool = False, **functions: Any) -> None:
        context = make_context(journal={"values": values})
        context.configuration["acme"] = {"Twilio": {"sender": "+1500"}}
        self.journal = context.journal
        self.service = FunctionService("Twilio", functions)
        self.services = Services(context, [self.service])

    async def call(self, name: str, /, solution: str = "acme", **parameters: Any) -> Any:
        return await self.services.call(Caller(solution), "Twilio", name, parameters)

    @property
    def detail(self) -> Any:
        return list(self.journal)[-1].detail


async def test_a_function_gets_the_arguments_of_the_call_by_name() -> None:
    def post(To: str, Body: str, sender: str = "") -> dict[str, object]:
        """Send an SMS."""
        return {"sid": "SM1", "to": To, "body": Body, "from": sender}

    environment = Environment(postMessage=post)
    assert await environment.call("postMessage", To="+1", Body="hi") == {
        "sid": "SM1",
        "to": "+1",
        "body": "hi",
        "from": "+1500",  # as set in the solution's configuration
    }
    entry = list(environment.journal)[-1]
    assert (entry.kind, entry.summary, entry.actor, entry.status) == (
        "call",
        "Twilio.postMessage",
        "acme",
        200,
    )
    assert environment.detail == {"parameters": {"To": "+1", "Body": "hi", "sender": "+1500"}}
    assert environment.service.operations["postMessage"].doc == "Send an SMS."
    assert (await environment.call("postMessage", To="+1"))["error"] == "Parameter Body is required."
    await environment.call("postMessage", To="+1", Body="hi", body="ho")
    assert environment.detail["unknown"] == {"body": "Body"}


async def test_annotated_arguments_are_validated_and_secrets_stay_out_of_the_journal() -> None:
    def post(count: Annotated[int, Field(le=3)], token: SecretStr, anything=None):  # type: ignore[no-untyped-def]
        return [count, token.get_secret_value(), anything]

    environment = Environment(post=post)
    assert await environment.call("post", count="2", token="t0ken", anything={"a": [1]}) == [
        2,
        "t0ken",
        {"a": [1]},
    ]
    assert environment.detail["parameters"] == {"count": "2", "token": "***", "anything": {"a": [1]}}
    refused = await environment.call("post", count=4, token="t0ken")
    assert (refused["status"], refused["error"]) == (
        400,
        "Parameter count validation failed: Input should be less than or equal to 3.",
    )
    assert "t0ken" not in environment.journal.canonical()


async def test_a_function_may_accept_any_arguments_and_the_caller() -> None:
    def post(by: Caller, **others: object) -> object:
        return [by.solution, others]

    environment = Environment(post=post)
    words = {"self": 1, "caller": 2, "_caller": 3, "two words": [4], "by": 5}
    given = await environment.services.call(Caller("acme"), "Twilio", "post", words)
    assert environment.detail["parameters"] == dict.fromkeys(words, "***")
    del words["by"]  # the caller, which only the platform sets
    assert given == ["acme", words]


async def test_with_values_the_journal_has_answers_and_any_arguments_without_secrets() -> None:
    def sign(**others: object) -> object:
        return {"n": 1, "token": "t0ken", "body": '{"id_token": "t0ken", "n": [2]}', "form": "code=t0ken&n=3"}

    def getToken() -> str:
        return "t0ken"

    environment = Environment(values=True, sign=sign, jwt=lambda: "eyJh.t0ken.x", getToken=getToken)
    await environment.call("sign", door="open", password="t0ken")
    assert environment.detail == {
        "parameters": {"door": "open", "password": "***"},
        "answer": {"n": 1, "token": "***", "body": '{"id_token": "***", "n": [2]}', "form": "code=***&n=3"},
    }
    await environment.call("jwt")
    await environment.call("getToken")
    assert environment.detail["answer"] == "***"
    assert "t0ken" not in environment.journal.canonical()


async def test_sync_functions_run_in_threads_and_async_ones_on_the_loop() -> None:
    loop_thread = threading.get_ident()
    both_there = threading.Barrier(2, timeout=PATIENCE)
    threads: set[threading.Thread] = set()  # threads of other services live as long as these

    def sync() -> bool:
        threads.add(threading.current_thread())
        both_there.wait()  # so both calls have to run concurrently, while the loop runs
        return threading.get_ident() == loop_thread

    async def on_loop() -> bool:
        await asyncio.sleep(0)
        return threading.get_ident() == loop_thread

    environment = Environment(sync=sync, on_loop=on_loop)
    for _ in range(2):  # started anew the second time
        assert [*await asyncio.gather(environment.call("sync"), environment.call("sync"))] == [False, False]
        assert await environment.call("on_loop") is True
        await environment.service.stop()
    assert len(threads) == 4
    assert [each.name for each in threads if not each.name.startswith("labkit-Twilio")] == []
    assert [each for each in threads if not _ends(each)] == []


def _ends(thread: threading.Thread) -> bool:
    thread.join(PATIENCE)
    return not thread.is_alive()


async def test_a_refusal_is_an_error_object_and_any_other_exception_a_500_with_its_place() -> None:
    def refuse(status: int) -> None:
        raise ServiceError(status, "no such number")

    def broken() -> None:
        dict[str, int]()["s3cret"]

    async def broken_too() -> None:
        await asyncio.sleep(0)
        raise ValueError("odd")

    environment = Environment(refuse=refuse, broken=broken, broken_too=broken_too)
    assert await environment.call("refuse", status=404) == {
        "type": "QueryError",
        "error": "no such number",
        "status": 404,
        "status_code": 404,
    }
    assert "trace" not in environment.detail
    assert await environment.call("broken") == {
        "type": "ServerError",
        "error": "Twilio.broken: KeyError: 's3cret'",
        "status": 500,
        "status_code": 500,
    }
    assert environment.detail["trace"][-1].startswith("test_custom.py:")
    assert environment.detail["trace"][-1].endswith(" in broken")
    assert (await environment.call("broken_too"))["error"] == "Twilio.broken_too: ValueError: odd"
    assert (await environment.call("missing"))["status"] == 404


class Sms(BaseModel):
    sid: str
    sent: datetime


@dataclass
class Point:
    x: float


async def test_results_reach_scripts_as_plain_data() -> None:
    results: list[Any] = [
        Sms(sid="SM1", sent=datetime(2026, 1, 1, tzinfo=UTC)),
        {1: (Point(2.5), {"a", "b"} & {"a"})},
        b"\xff\x00",
        "\udcff",
        float("inf"),
        None,
    ]
    plain = [{"sid": "SM1", "sent": "2026-01-01T00:00:00Z"}, {"1": [{"x": 2.5}, ["a"]]}, *results[2:]]
    environment = Environment(next=Mock(side_effect=results))
    assert [await environment.call("next") for _ in results] == plain
    loop: list[Any] = []
    loop.append(loop)
    environment = Environment(endless=lambda: loop, thing=object)
    assert "nested deeper than 100" in (await environment.call("endless"))["error"]
    assert (await environment.call("thing"))["status"] == 500


async def test_mocks_and_callable_objects_are_accepted() -> None:
    class Answering:
        async def __call__(self, to: int) -> object:
            return {"to": to}

    sync, later = Mock(return_value={"sid": 1}), AsyncMock(return_value={"sid": 2})
    environment = Environment(sync=sync, later=later, answering=Answering(), chained=lambda: later(a=1))
    assert await environment.call("sync", to="+1", json={}) == {"sid": 1}
    sync.assert_called_once_with(to="+1", json={})
    assert await environment.call("later", to="+1") == {"sid": 2}
    assert await environment.call("answering", to="5") == {"to": 5}
    assert await environment.call("chained") == {"sid": 2}


@pytest.mark.filterwarnings("error")
async def test_arguments_may_have_any_name() -> None:
    def post(json: str, copy: int, from_: str, model_fields: int = 1, schema: object = None) -> object:
        return [json, copy, from_, model_fields, schema]

    environment = Environment(start=post, stop=post, name=post, operations=post, from_=post)
    for name in ("start", "stop", "name", "operations", "from"):
        assert await environment.call(name, json="j", copy=2, **{"from": "f"}) == ["j", 2, "f", 1, None]


@cases("name", ["", "1a", "a b", "Twilio-2", "é", "x" * 65, "a\n"])
def test_a_name_must_be_valid_in_scripts(name: str) -> None:
    with pytest.raises(LabError, match="cannot name a service"):
        FunctionService(name, {"f": print})


def test_a_function_that_cannot_be_an_operation_is_an_error() -> None:
    def positional(a: int, /) -> None: ...
    def strange(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821
    def hidden(_a: int) -> None: ...
    def typed(a: threading.Lock) -> None: ...

    for function in (positional, strange, hidden, typed, 7, int):
        with pytest.raises(LabError, match=r"^Twilio\.post: "):
            FunctionService("Twilio", {"post": function})  # type: ignore[dict-item]
    with pytest.raises(LabError, match="expected a function for each operation"):
        FunctionService("Twilio", {})


def test_the_operation_of_a_class_is_an_async_method() -> None:
    with pytest.raises(LabError, match=r"Old\.post: expected an async method"):

        class Old(Service):
            name = "Old"

            @operation  # type: ignore[type-var]
            def post(self, caller: Caller) -> None: ...


async def test_a_slow_function_delays_no_other_call() -> None:
    release = threading.Event()
    environment = Environment(slow=lambda: release.wait(PATIENCE), quick=AsyncMock(return_value=1))
    slow = [asyncio.create_task(environment.call("slow")) for _ in range(20)]
    await asyncio.sleep(0.05)
    began = time.perf_counter()
    assert await environment.call("quick") == 1
    assert await asyncio.to_thread(lambda: 2) == 2  # passwords are hashed in other threads
    assert time.perf_counter() - began < 5
    release.set()
    assert set(await asyncio.gather(*slow)) == {True}
    await environment.service.stop()
