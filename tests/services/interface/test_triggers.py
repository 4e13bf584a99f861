"""Events of a publisher: their order, copies of them, and the limit on pending ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.services.interface.environment import Environment, environment, solution, storing_handler

IDS = ("home", "flat", "shed")


@pytest.fixture
async def env() -> AsyncIterator[Environment]:
    async with environment(
        *(solution(id, subscriptions=[{"publisher": "lights"}]) for id in IDS),
        solution("lights", {"events": [{"name": "plain"}]}),
    ) as made:
        yield made


def instance(env: Environment, subscriber: str) -> str:
    found = env.interface.subscriptions.find("lights", subscriber)
    assert found is not None
    return found.id


async def trigger(env: Environment, data: Any) -> Any:
    return await env.call("lights", "Interface.trigger", event="plain", data=data)


async def trigger_one(env: Environment) -> Any:
    return await env.call("lights", "Interface.triggerOne", target="home", event="plain", mode="async")


async def test_async_acknowledges_and_drops_results(env: Environment) -> None:
    got: list[Any] = []
    gate = asyncio.Event()

    @env.solutions.get("home").on("lights", "plain")
    async def plain(event: Any) -> str:
        await gate.wait()
        got.append(event)
        return "dropped"

    for n in range(3):
        answer = await trigger(env, {"n": n})
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
    await trigger(env, data)
    data["list"].append(2)
    await env.settle()
    got[0]["list"].append(3)
    assert sorted(map(str, got)) == ["{'list': [1, 3]}", "{'list': [1]}", "{'list': [1]}"]


async def test_a_publisher_with_too_many_pending_events_gets_an_error(env: Environment) -> None:
    gate = asyncio.Event()

    @env.solutions.get("home").on("lights", "plain")
    async def plain(event: Any) -> None:
        await gate.wait()

    answers = [await trigger_one(env) for _ in range(1100)]
    assert answers[:1000] == [None] * 1000
    assert {each["status"] for each in answers[1000:]} == {503}
    gate.set()
    await env.settle()
    assert await trigger_one(env) is None
