"""Calls of operations: arguments for the publisher's handler, and results for the subscriber."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from labkit.services.operation import Caller
from tests.cases import cases
from tests.services.interface.environment import Environment, environment, solution

LAMP = {
    "title": "lamp",
    "type": "object",
    "properties": {"level": {"type": "integer", "maximum": 9, "default": 3}, "key": {"type": "string"}},
}
LIGHTS = {
    "parameters": [{"name": "key", "default": "k0"}],
    "operations": [
        {"name": "light", "parameters": LAMP},
        {"name": "echo", "script": "return event"},
        {"name": "nobody"},
    ],
}


@pytest.fixture
async def env() -> AsyncIterator[Environment]:
    async with environment(
        solution("home", subscriptions=[{"publisher": "lights"}]),
        solution("other", business="else", subscriptions=[{"publisher": "lights", "script_key": "myLamps"}]),
        solution("lights", LIGHTS),
    ) as made:
        yield made


def refusal(answer: Any) -> tuple[int, str]:
    assert set(answer) == {"type", "error", "status", "status_code"}
    assert answer["status_code"] == answer["status"]
    assert answer["type"] == ("QueryError" if answer["status"] < 500 else "ServerError")
    return answer["status"], answer["error"]


@cases("name", ["lamp", "event", "operation", "anything"])
async def test_the_argument_of_a_function_may_have_any_name(env: Environment, name: str) -> None:
    made: dict[str, Any] = {}
    exec(f"def light({name}, context): return [{name}, context['caller_id']]", made)
    env.solutions.get("lights").on("interface", "light", made["light"])
    assert await env.call("home", "Lights.light") == [{"level": 3, "key": "k0"}, "home"]


async def test_a_function_with_two_unknown_arguments_is_refused(env: Environment) -> None:
    with pytest.raises(Exception, match="cannot give 'second'"):
        env.solutions.get("lights").on("interface", "light", lambda first, second: None)


async def test_a_handler_added_before_the_definition_gets_its_title_too() -> None:
    async with environment() as env:
        lights = await env.add("lights")
        lights.on("interface", "light", lua="return lamp.level")
        await env.solutions.configure("lights", "Interface", LIGHTS)
        await env.add("home", subscriptions=[{"publisher": "lights"}])
        assert await env.call("home", "Lights.light", level=8) == 8


async def test_a_subscriber_may_use_several_names(env: Environment) -> None:
    for name in ("Lights", "lights"):
        assert await env.call("home", f"{name}.echo", a=1) == {"a": 1}
    for name in ("MyLamps", "myLamps", "lights", "Lights"):  # the publisher's id is a name, too
        assert await env.call("other", f"{name}.echo", a=1) == {"a": 1}
    known = env.services.operations(Caller("other"))
    assert list(known) == ["Keystore", "Config", "Scripts", "Interface", "MyLamps"]
    assert refusal(await env.call("home", "MyLamps.echo")) == (404, "Service MyLamps Not Found")
    assert refusal(await env.call("lights", "Lights.echo")) == (404, "Service Lights Not Found")


async def test_a_fallback_handles_operations_without_a_handler(env: Environment) -> None:
    lights = env.solutions.get("lights")
    lights.on("config", "fallback", lua="return {context.service, context.event, context.caller_id}")
    assert await env.call("home", "Lights.nobody") == ["interface", "nobody", "home"]


async def test_a_script_beyond_its_time_limit_is_a_504_and_uses_its_own_limit() -> None:
    async with environment(
        solution("home", subscriptions=[{"publisher": "lights"}]),
        solution("lights", {"operations": [{"name": "spin", "script": "while true do end"}]}),
        script_cpu=0.1,
    ) as env:
        home = env.solutions.get("home")
        home.on("scripts", "go", lua="local r = {} for i = 1, 3 do r[i] = Lights.spin().status end return r")
        registration = home.find("scripts", "go")
        assert registration is not None
        outcome = await home.handle(registration, ("scripts", "go"), None)
        assert outcome.result == [504, 504, 504]  # the limits of the caller are unaffected
        runs = {each.actor: each.detail or {} for each in env.context.journal.select("script")}
        assert float(str(runs["home"]["cpu"])) < 0.1


async def test_caller_and_handler_share_no_objects(env: Environment) -> None:
    kept: dict[str, Any] = {"list": []}

    @env.solutions.get("lights").on("interface", "light")
    async def light(lamp: Any) -> Any:
        lamp["level"] = 99
        return kept

    given = {"nested": {"a": 1}}
    answer = await env.call("home", "Lights.light", **given)
    answer["list"].append("mine")
    assert (kept, given) == ({"list": []}, {"nested": {"a": 1}})


async def test_the_journal_has_caller_and_publisher_and_no_secrets(env: Environment) -> None:
    env.solutions.get("lights").on("interface", "light", lua="print('in') return 1")
    await env.call("home", "Lights.light", apiKey="s3cret", level=2)
    journal = env.context.journal
    [event] = journal.select("event", "home")[-1:]
    [script] = journal.select("script", "lights")
    assert (event.summary, script.cause) == ("light", event.sequence)
    assert "s3cret" not in journal.canonical()
    [call] = [each for each in journal.select("call") if each.summary == "Lights.light"]
    assert (call.detail or {})["parameters"] == {"apiKey": "***", "level": 2}


async def test_lua_and_python_handlers_call_it_like_any_service(env: Environment) -> None:
    home = env.solutions.get("home")

    def sync(services: Any) -> Any:
        assert "Lights" in dir(services)
        assert dir(services.Lights) == ["echo", "light", "nobody"]
        return services.Lights.echo(a=[1, 2])

    async def on_loop(services: Any) -> Any:
        return await services.Lights.echo(a=[1, 2])

    home.on("scripts", "lua", lua="return Lights.echo{a = {1, 2}}")
    home.on("scripts", "sync", sync)
    home.on("scripts", "async", on_loop)
    for name in ("lua", "sync", "async"):
        registration = home.find("scripts", name)
        assert registration is not None
        outcome = await home.handle(registration, ("scripts", name), None)
        assert outcome.result == {"a": [1, 2]}


async def test_an_invalid_definition_changes_nothing(env: Environment) -> None:
    wrong = {"operations": [{"name": "echo", "script": "return ("}]}
    with pytest.raises(Exception, match=r"lights: services.Interface: operations\[0\].script"):
        await env.replace("lights", wrong)
    assert await env.call("home", "Lights.echo", a=1) == {"a": 1}
    answer = await env.call("lights", "Config.setParameters", service="interface", parameters={"tags": [""]})
    assert refusal(answer)[0] == 400
    assert await env.call("home", "Lights.echo", a=1) == {"a": 1}


async def test_a_script_of_the_publisher_may_change_its_definition(env: Environment) -> None:
    added = [{"name": "later", "script": "return 'now'"}]
    parameters = {"operations": added}
    await env.call("lights", "Config.setParameters", service="Interface", parameters=parameters)
    assert await env.call("home", "Lights.later") == "now"
    await env.reset()
    assert refusal(await env.call("home", "Lights.later"))[0] == 404
    assert await env.call("home", "Lights.echo", a=1) == {"a": 1}


async def test_many_concurrent_calls_are_independent(env: Environment) -> None:
    answers = await asyncio.gather(
        *(env.call(who, f"{service}.echo", n=n) for n in range(50) for who, service in WHO)
    )
    assert answers == [{"n": n} for n in range(50) for _ in WHO]


WHO = (("home", "Lights"), ("other", "MyLamps"))
