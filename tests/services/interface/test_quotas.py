"""Quotas: remaining operation calls of a subscriber, by UTC days and months of lab time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

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


async def admitted(env: Environment, count: int, solution: str = "home") -> int:
    """Return how many of `count` calls are admitted."""
    answers = [await env.call(solution, "Lights.echo") for _ in range(count)]
    assert all(each == 1 or each["status"] == 403 for each in answers)
    return answers.count(1)


async def test_concurrent_calls_use_exactly_the_remaining_quota() -> None:
    async with environment(*settings(calls_daily=37, calls_monthly=1000)) as env:
        answers = await asyncio.gather(*(env.call("home", "Lights.echo") for _ in range(100)))
        assert answers.count(1) == 37
        [subscription] = env.interface.subscriptions.of_subscriber("home")
        assert await env.interface.subscriptions.calls(subscription.id, env.clock.now()) == (37, 37)


async def test_a_restart_keeps_the_count(tmp_path: Path) -> None:
    data = tmp_path / "lab.db"
    async with environment(*settings(calls_daily=3), data=data) as env:
        assert await admitted(env, 2) == 2
    async with environment(*settings(calls_daily=3), data=data) as env:
        assert await admitted(env, 2) == 1
