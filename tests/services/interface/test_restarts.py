"""Publishers and subscribers after a restart, a reset and a reload."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.services.interface.environment import environment, solution
from tests.services.interface.lights import LIGHTS, NOT_FOUND, subscriber


async def test_a_restart_keeps_all_subscriptions(tmp_path: Path) -> None:
    settings = (
        solution("home", subscriptions=[{"publisher": "lights", "parameters": {"count": 1}}]),
        solution("other"),
        solution("lights", LIGHTS),
    )
    async with environment(*settings, data=tmp_path / "lab.db") as env:
        await env.call("home", "Config.setParameters", service="lights", parameters={"count": 2})
        made = await env.interface.subscribe("other", "lights", script_key="lamps", quota={"calls_daily": 3})
        await env.interface.update(made, triggers={"changed": "other"}, parameters={"x": {"y": [1, None]}})
        before = await env.call("lights", "Interface.listSubscribers")
        assert before["total"] == 2
    async with environment(*reversed(settings), data=tmp_path / "lab.db") as env:
        assert await env.call("lights", "Interface.listSubscribers") == before
        assert env.events() == []  # no subscriber is added again
        assert await env.call("other", "Lamps.echo", a=1) == {"a": 1}
        assert await env.call("other", "Interface.trigger", event="changed") == NOT_FOUND
    changed = solution("home", subscriptions=[{"publisher": "lights", "parameters": {"count": 7}}])
    async with environment(changed, *settings[1:], data=tmp_path / "lab.db") as env:
        assert (await subscriber(env))["parameters"]["count"] == 7
    async with environment(solution("home"), *settings[1:], data=tmp_path / "lab.db") as env:
        assert await subscriber(env) is None


@pytest.mark.parametrize("by", ["settings", "folder"])
async def test_a_waiting_subscription_is_the_same_after_a_restart(tmp_path: Path, by: str) -> None:
    (tmp_path / "home" / "services").mkdir(parents=True)
    (tmp_path / "home" / "services" / "Lights.yaml").write_text("count: 1\n")
    named: dict[str, Any] = {"subscriptions": [{"publisher": "lights"}]}
    home = solution("home", **(named if by == "settings" else {"path": [tmp_path / "home"]}))
    async with environment(home, solution("lights", LIGHTS), data=tmp_path / "lab.db") as env:
        await env.call("lights", "Interface.setSubscriber", subscriber_id="home", parameters={"count": 9})
        before = await subscriber(env)
        assert before["parameters"]["count"] == 9
    async with environment(home, data=tmp_path / "lab.db") as env:
        assert (await env.call("home", "Lights.echo"))["status"] == 404
        await env.add("lights", LIGHTS)
        assert await subscriber(env) == before
        assert await env.call("home", "Lights.echo", a=1) == {"a": 1}


async def test_a_reset_keeps_subscriptions_of_settings_and_removes_others() -> None:
    async with environment(
        solution("home", subscriptions=[{"publisher": "lights", "parameters": {"count": 1}}]),
        solution("other"),
        solution("lights", LIGHTS),
    ) as env:
        first = await env.call("lights", "Interface.listSubscribers")
        await env.interface.subscribe("other", "lights")
        await env.call("home", "Config.setParameters", service="lights", parameters={"count": 2})
        for _ in range(3):
            await env.call("home", "Lights.echo")
        await env.clock.advance(days=1)
        await env.reset()
        assert await env.call("lights", "Interface.listSubscribers") == first
        assert (await env.call("other", "Lights.echo"))["status"] == 404
        assert await env.interface.subscriptions.calls(first["items"][0]["id"], env.clock.now()) == (0, 0)


async def test_a_definition_of_a_cell_remains_after_reset_and_reload() -> None:
    async with environment(solution("lights"), solution("home")) as env:
        await env.solutions.configure("lights", "Interface", LIGHTS)
        await env.reset()
        await env.interface.subscribe("home", "lights")
        await env.solutions.replace(env.solutions.get("lights").settings, keep=True)
        assert await env.call("home", "Lights.echo", a=1) == {"a": 1}
        await env.replace("lights")  # only these settings
        assert (await env.call("home", "Lights.echo"))["status"] == 404


async def test_the_init_script_can_call_the_service(tmp_path: Path) -> None:
    (tmp_path / "solution.yaml").write_text(
        "formatversion: 1.0.0\ninfo: {name: home}\ninit_script: init.lua\n"
    )
    (tmp_path / "init.lua").write_text("Keystore.set{key = 'got', value = Lights.echo{a = 1}.a}")
    settings = solution("home", path=[tmp_path], subscriptions=[{"publisher": "lights"}])
    async with environment(settings, solution("lights", LIGHTS)) as env:
        assert (await env.call("home", "Keystore.get", key="got"))["value"] == "1"


async def test_a_restart_keeps_the_count_of_a_quota(tmp_path: Path) -> None:
    home = solution("home", subscriptions=[{"publisher": "lights", "quota": {"calls_daily": 3}}])
    for statuses in ([None, None], [None, 403]):
        async with environment(home, solution("lights", LIGHTS), data=tmp_path / "lab.db") as env:
            answers = [await env.call("home", "Lights.echo") for _ in statuses]
            assert [each.get("status") for each in answers] == statuses
