"""Quotas: how many operation calls a subscriber has left, by UTC days and months of lab time."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.cases import cases
from tests.services.interface.environment import Environment, environment, solution

LIGHTS = {
    "operations": [
        {"name": "echo", "script": "return 1"},
        {"name": "strict", "script": "return 1", "parameters": {"required": ["level"]}},
        {"name": "fails", "script": "error('no')"},
        {"name": "nobody"},
    ]
}


def settings(**quota: int) -> list[Any]:
    return [
        solution("home", subscriptions=[{"publisher": "lights", "quota": quota}]),
        solution("other", subscriptions=[{"publisher": "lights"}]),
        solution("lights", LIGHTS),
    ]


async def taken(env: Environment, count: int, solution: str = "home") -> int:
    """How many of so many calls are let through."""
    answers = [await env.call(solution, "Lights.echo") for _ in range(count)]
    assert all(each == 1 or each["status"] == 403 for each in answers)
    return answers.count(1)


async def go(env: Environment, when: str) -> None:
    await env.clock.advance_to(datetime.fromisoformat(when).replace(tzinfo=UTC).timestamp())


async def test_the_refusal_names_quota_and_count() -> None:
    async with environment(*settings(calls_daily=2)) as env:
        assert await taken(env, 2) == 2
        assert await env.call("home", "Lights.echo") == {
            "type": "QueryError",
            "error": "The daily quota of Lights is used up: calls_daily is 2.",
            "status": 403,
        }
        assert await taken(env, 50, "other") == 50  # there is no default


async def test_days_begin_at_midnight_utc() -> None:
    async with environment(*settings(calls_daily=2)) as env:
        assert await taken(env, 3) == 2
        await go(env, "2026-01-01T23:59:59.999999")
        assert await taken(env, 1) == 0
        await go(env, "2026-01-02T00:00:00")
        assert await taken(env, 3) == 2
        await go(env, "2026-01-05T12:00:00.5")
        assert await taken(env, 1) == 1
        await go(env, "2026-01-05T23:59:59.9")
        assert await taken(env, 2) == 1


@cases(
    ("last", "first"),
    [
        ("2026-01-31T23:59:59.999", "2026-02-01T00:00:00"),
        ("2026-02-28T23:59:59.999", "2026-03-01T00:00:00"),
        ("2028-02-29T23:59:59.999", "2028-03-01T00:00:00"),
        ("2026-12-31T23:59:59.999", "2027-01-01T00:00:00"),
        ("2026-05-01T00:00:00", "2027-05-01T00:00:00"),
    ],
)
async def test_months_begin_on_their_first(last: str, first: str) -> None:
    async with environment(*settings(calls_monthly=3, calls_daily=2)) as env:
        await go(env, last)
        assert await taken(env, 3) == 2
        await go(env, first)
        assert await taken(env, 3) == 2
        await env.clock.advance(days=1)
        assert await taken(env, 3) == 1
        assert "monthly quota of Lights is used up: calls_monthly is 3" in str(
            await env.call("home", "Lights.echo")
        )
        await env.clock.advance(days=1)
        assert await taken(env, 1) == 0


async def test_only_what_is_dispatched_counts() -> None:
    async with environment(*settings(calls_daily=3)) as env:
        for operation in ("strict", "nobody", "nope"):
            assert (await env.call("home", f"Lights.{operation}"))["status"] in (400, 404)
        assert (await env.call("home", "Lights.fails"))["status"] == 500  # it ran
        assert (await env.call("home", "Lights.strict", level=1)) == 1
        assert await taken(env, 3) == 1
        await env.call("lights", "Interface.setSubscriber", subscriber_id="home", quota={"calls_daily": 4})
        assert await taken(env, 3) == 1  # refused calls did not count


async def test_events_count_nothing() -> None:
    async with environment(*settings(calls_daily=1)) as env:
        await env.replace("lights", {**LIGHTS, "events": [{"name": "plain"}]})
        env.solutions.get("home").on("lights", "plain", lua="return 1")
        for _ in range(3):
            await env.call("lights", "Interface.triggerOne", target="home", event="plain")
        assert await taken(env, 2) == 1


async def test_calls_before_there_is_a_quota_count() -> None:
    async with environment(*settings()) as env:
        assert await taken(env, 5) == 5
        await env.call("lights", "Interface.setSubscriber", subscriber_id="home", quota={"calls_daily": 6})
        assert await taken(env, 3) == 1
        await env.call("lights", "Interface.setSubscriber", subscriber_id="home", quota={"calls_daily": 2})
        assert await taken(env, 1) == 0
        await env.call("lights", "Interface.setSubscriber", subscriber_id="home", quota={"calls_daily": None})
        assert await taken(env, 3) == 3


async def test_no_call_is_left_with_a_quota_of_0() -> None:
    async with environment(*settings(calls_monthly=0)) as env:
        assert await taken(env, 1) == 0


async def test_calls_at_once_get_what_is_left_and_no_more() -> None:
    async with environment(*settings(calls_daily=37, calls_monthly=1000)) as env:
        answers = await asyncio.gather(*(env.call("home", "Lights.echo") for _ in range(100)))
        assert answers.count(1) == 37
        [subscription] = env.interface.subscriptions.of_subscriber("home")
        assert await env.interface.subscriptions.calls(subscription.id, env.clock.now()) == (37, 37)


async def test_a_restart_keeps_the_count(tmp_path: Path) -> None:
    data = tmp_path / "lab.db"
    async with environment(*settings(calls_daily=3), data=data) as env:
        assert await taken(env, 2) == 2
    async with environment(*settings(calls_daily=3), data=data) as env:
        assert await taken(env, 2) == 1


async def test_a_new_subscription_has_a_count_of_its_own() -> None:
    async with environment(*settings(calls_daily=1)) as env:
        assert await taken(env, 2) == 1
        [subscription] = env.interface.subscriptions.of_subscriber("home")
        await env.interface.unsubscribe(subscription)
        await env.interface.subscribe("home", "lights", quota={"calls_daily": 1})
        assert await taken(env, 2) == 1
