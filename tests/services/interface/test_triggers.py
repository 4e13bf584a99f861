"""Events of a publisher: trigger and triggerOne, their modes, and results of subscribers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.cases import cases
from tests.services.interface.environment import Environment, environment, solution, storing_handler

LIGHTS = {
    "operations": [{"name": "echo", "script": "return event"}],
    "events": [
        {"name": "changed", "parameters": {"title": "change", "type": "object", "required": ["level"]}},
        {"name": "plain"},
        {"name": "asked", "default_script": "return 'default of ' .. context.solution_id"},
        {"name": "counted", "response": {"type": "integer"}},
    ],
}
IDS = ("home", "flat", "shed")


@pytest.fixture
async def env() -> AsyncIterator[Environment]:
    async with environment(
        *(solution(id, subscriptions=[{"publisher": "lights"}]) for id in IDS),
        solution("stranger"),
        solution("lights", LIGHTS),
        solution("radio", {"default_script_key": "radio", "events": [{"name": "plain"}], "mode": "sync"}),
    ) as made:
        yield made


def instance(env: Environment, subscriber: str, publisher: str = "lights") -> str:
    found = env.interface.subscriptions.find(publisher, subscriber)
    assert found is not None
    return found.id


async def trigger(env: Environment, event: str, publisher: str = "lights", **arguments: Any) -> Any:
    return await env.call(publisher, "Interface.trigger", event=event, **arguments)


async def trigger_one(env: Environment, target: str, event: str, **arguments: Any) -> Any:
    return await env.call("lights", "Interface.triggerOne", target=target, event=event, **arguments)


async def test_async_acknowledges_and_drops_results(env: Environment) -> None:
    got: list[Any] = []
    gate = asyncio.Event()

    @env.solutions.get("home").on("lights", "plain")
    async def plain(event: Any) -> str:
        await gate.wait()
        got.append(event)
        return "dropped"

    for n in range(3):
        answer = await trigger(env, "plain", data={"n": n})
        assert answer == [{"result": None, "instance_id": instance(env, id), "solution_id": id} for id in IDS]
    assert got == []
    settled = asyncio.create_task(env.settle())
    for _ in range(20):
        await asyncio.sleep(0)
    assert not settled.done()  # deliveries in progress are pending work
    gate.set()
    await settled
    assert got == [{"n": 0}, {"n": 1}, {"n": 2}]  # in order


async def test_a_sent_event_is_a_copy(env: Environment) -> None:
    got: list[Any] = []
    for id in IDS:
        env.solutions.get(id).on("lights", "plain", storing_handler(got))
    data = {"list": [1]}
    await trigger(env, "plain", data=data)
    data["list"].append(2)
    await env.settle()
    got[0]["list"].append(3)
    assert sorted(map(str, got)) == ["{'list': [1, 3]}", "{'list': [1]}", "{'list': [1]}"]


async def test_trigger_one_returns_the_error_of_the_handler(env: Environment) -> None:
    home = env.solutions.get("home")
    home.on("lights", "plain", lua="return {error = 'no lamp', status = 409, type = 'LampError'}")
    assert await trigger_one(env, "home", "plain") == {
        "type": "LampError",
        "error": "no lamp",
        "status": 409,
        "status_code": 409,
    }
    home.on("lights", "plain", lua="error('the fuse')", replace=True)
    answer = await trigger_one(env, "home", "plain")
    assert (answer["status"], answer["type"], "the fuse" in answer["error"]) == (500, "ServerError", True)
    assert await trigger_one(env, "shed", "plain") == {
        "type": "QueryError",
        "error": "shed: plain has no handler",
        "status": 404,
        "status_code": 404,
    }
    entries = await trigger(env, "plain", mode="sync")
    assert [each["status"] for each in entries] == [500, 404, 404]
    assert entries[0]["result"]["status"] == 500


@cases(
    ("arguments", "problem"),
    [
        (
            {"event": "nope"},
            "Parameter event validation failed: expected one of: changed, plain, asked, counted.",
        ),
        ({"event": "a-b"}, "Parameter event validation failed: expected a letter, then letters and digits."),
        ({}, "Parameter event is required."),
        (
            {"event": "plain", "mode": "Sync"},
            "Parameter mode validation failed: expected one of: sync, async.",
        ),
        ({"event": "plain", "mode": 1}, "Parameter mode validation failed: expected one of: sync, async."),
        ({"event": "changed"}, "Parameter data validation failed: expected level, which is required."),
        ({"event": "changed", "data": [1]}, "Parameter data validation failed: expected object, not array."),
    ],
)
async def test_wrong_arguments(env: Environment, arguments: dict[str, Any], problem: str) -> None:
    ran: list[Any] = []
    env.solutions.get("home").on("lights", "plain", storing_handler(ran))
    for operation in ("trigger", "triggerOne"):
        answer = await env.call("lights", f"Interface.{operation}", target="home", **arguments)
        assert (answer["status"], answer["error"]) == (400, problem)
    await env.settle()
    assert ran == []


async def test_the_response_is_validated(env: Environment) -> None:
    env.solutions.get("home").on("lights", "counted", lambda event: "many")
    env.solutions.get("flat").on("lights", "counted", lambda event: 7)
    assert (await trigger_one(env, "home", "counted"))["status"] == 500
    assert [each["status"] for each in await trigger(env, "counted", mode="sync")] == [500, 200, 404]


class TestTriggersMap:
    async def test_it_routes_events_to_other_handlers(self, env: Environment) -> None:
        home = env.solutions.get("home")
        home.on("lights", "plain", lambda event: "same name")
        home.on("lights", "special", lambda event: ["special", event])
        home.on("scripts", "log", lua="return {'log', data, event}")
        subscription = env.interface.subscriptions.find("lights", "home")
        assert subscription is not None
        for entry, expected in (
            ("special", ["special", 1]),
            ({"event": "special"}, ["special", 1]),
            ({"service": "scripts", "event": "log"}, ["log", 1, 1]),
            (
                {"service": "scripts"},
                {
                    "type": "QueryError",
                    "error": "home: plain has no handler",
                    "status": 404,
                    "status_code": 404,
                },
            ),
            (
                "missing",
                {
                    "type": "QueryError",
                    "error": "home: plain has no handler",
                    "status": 404,
                    "status_code": 404,
                },
            ),
            (None, "same name"),
        ):
            subscription = await env.interface.update(subscription, triggers={"plain": entry})
            assert await trigger_one(env, "home", "plain", data=1) == expected

    async def test_two_publishers_may_use_one_handler_with_separate_names(self, env: Environment) -> None:
        await env.add(
            "fan",
            subscriptions=[
                {"publisher": "lights", "triggers": {"changed": {"service": "scripts", "event": "go"}}},
                {"publisher": "radio", "triggers": {"plain": {"service": "scripts", "event": "go"}}},
            ],
        )
        env.solutions.get("fan").on("scripts", "go", lua="return {tostring(change), tostring(event)}")
        for _ in range(2):
            one = await env.call(
                "lights", "Interface.triggerOne", target="fan", event="changed", data={"level": 1}
            )
            two = await env.call("radio", "Interface.triggerOne", target="fan", event="plain", data="x")
            assert (one[0] != "nil", two) == (True, ["nil", "x"])


async def test_a_publisher_with_too_many_pending_events_gets_an_error(env: Environment) -> None:
    gate = asyncio.Event()

    @env.solutions.get("home").on("lights", "plain")
    async def plain(event: Any) -> None:
        await gate.wait()

    answers = [await trigger_one(env, "home", "plain", mode="async") for _ in range(1100)]
    assert answers[:1000] == [None] * 1000
    assert {each["status"] for each in answers[1000:]} == {503}
    gate.set()
    await env.settle()
    assert await trigger_one(env, "home", "plain", mode="async") is None


class TestSubscribers:
    @cases(
        "wrong",
        [
            {"quota": {"calls_daily": -1}},
            {"quota": {"calls_daily": 1.5}},
            {"quota": {"calls_dayly": 1}},
            {"quota": [1]},
            {"quota": {"calls_monthly": 2**53}},
            {"parameters": "x"},
            {"parameters": {"a": "x" * 200_000}},
        ],
    )
    async def test_invalid_values_change_nothing(self, env: Environment, wrong: dict[str, Any]) -> None:
        before = await env.call("lights", "Interface.getSubscriber", subscriber_id="home")
        answer = await env.call("lights", "Interface.setSubscriber", subscriber_id="home", **wrong)
        assert (answer["status"], len(answer["error"]) < 300) == (400, True)
        assert await env.call("lights", "Interface.getSubscriber", subscriber_id="home") == before
