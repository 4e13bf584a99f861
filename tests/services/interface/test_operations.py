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
    "parameters": [{"name": "key", "default": "k0"}, {"name": "region", "default": "north"}],
    "operations": [
        {"name": "light", "parameters": LAMP},
        {"name": "echo", "script": "return event"},
        {"name": "who", "script": "return context"},
        {"name": "whole", "script": "return operation", "response": {"type": "integer"}},
        {"name": "batch", "parameters": {"type": "array"}, "script": "return event"},
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


async def test_a_handler_gets_the_arguments_under_the_schemas_title_and_the_usual_names(
    env: Environment,
) -> None:
    lights = env.solutions.get("lights")
    lights.on("interface", "light", lua="return {lamp, event, operation}")
    expected = {"level": 5, "key": "k0"}
    assert await env.call("home", "Lights.light", level=5) == [expected] * 3


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


async def test_it_runs_in_the_context_of_the_publisher(env: Environment) -> None:
    context = await env.call("home", "Lights.who")
    assert (context["solution_id"], context["caller_id"]) == ("lights", "home")
    assert (context["service"], context["event"]) == ("interface", "who")
    assert (await env.call("other", "MyLamps.who"))["caller_id"] == "other"
    lights = env.solutions.get("lights")
    lights.on("interface", "light", lua="Keystore.set{key = 'last', value = context.caller_id}")
    assert await env.call("home", "Lights.light") is None
    assert (await env.call("lights", "Keystore.get", key="last"))["value"] == "home"
    assert "value" not in await env.call("home", "Keystore.get", key="last")


async def test_a_subscriber_may_use_several_names(env: Environment) -> None:
    for name in ("Lights", "lights"):
        assert await env.call("home", f"{name}.echo", a=1) == {"a": 1}
    for name in ("MyLamps", "myLamps", "lights", "Lights"):  # the publisher's id is a name, too
        assert await env.call("other", f"{name}.echo", a=1) == {"a": 1}
    known = env.services.operations(Caller("other"))
    assert list(known) == ["Keystore", "Config", "Scripts", "Interface", "MyLamps"]
    assert refusal(await env.call("home", "MyLamps.echo")) == (404, "Service MyLamps Not Found")
    assert refusal(await env.call("lights", "Lights.echo")) == (404, "Service Lights Not Found")


async def test_unknown_services_operations_and_handlers(env: Environment) -> None:
    assert refusal(await env.call("home", "Lights.nope")) == (
        404,
        "Operation nope of service Lights Not Found",
    )
    assert refusal(await env.call("home", "Lights.nobody")) == (
        404,
        "Lights.nobody has no handler at its publisher lights",
    )


async def test_a_fallback_handles_operations_without_a_handler(env: Environment) -> None:
    lights = env.solutions.get("lights")
    lights.on("config", "fallback", lua="return {context.service, context.event, context.caller_id}")
    assert await env.call("home", "Lights.nobody") == ["interface", "nobody", "home"]


@cases(
    ("returned", "expected"),
    [
        ({"error": "no such lamp", "status": 404, "type": "LampError"}, (404, "no such lamp", "LampError")),
        ({"error": "busy", "status": 503}, (503, "busy", "ServerError")),
        ({"error": {"code": 7}, "status": 400.0, "more": 1}, (400, {"code": 7}, "QueryError")),
    ],
)
async def test_a_returned_error_is_the_error_of_the_call(
    env: Environment, returned: Any, expected: tuple[int, object, str]
) -> None:
    env.solutions.get("lights").on("interface", "light", lambda lamp: returned)
    answer = await env.call("home", "Lights.light")
    assert answer == dict(zip(("status", "error", "type"), expected, strict=True), status_code=expected[0])
    assert env.context.journal.select("call")[-1].status == expected[0]


@cases(
    "returned",
    [
        {"error": "a field"},
        {"status": 404},
        {"error": "x", "status": 200},
        {"error": "x", "status": True},
        [1],
    ],
)
async def test_a_value_that_is_no_error_object_is_a_result(env: Environment, returned: Any) -> None:
    env.solutions.get("lights").on("interface", "light", lambda lamp: returned)
    assert await env.call("home", "Lights.light") == returned


async def test_an_exception_is_a_500_with_the_operations_name(env: Environment) -> None:
    lights = env.solutions.get("lights")
    lights.on("interface", "light", lua="error('the fuse')")
    status, error = refusal(await env.call("home", "Lights.light"))
    assert status == 500
    assert error.startswith("Lights.light failed: ")
    assert "the fuse" in error

    def broken(lamp: Any) -> None:
        raise KeyError("fuse")

    lights.on("interface", "light", broken, replace=True)
    assert refusal(await env.call("home", "Lights.light"))[0] == 500


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


async def test_the_response_is_validated(env: Environment) -> None:
    assert refusal(await env.call("home", "Lights.whole")) == (
        500,
        "Lights.whole failed: its response is not as its schema says: expected integer, not object",
    )


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


async def test_a_result_that_is_no_plain_data_is_a_500(env: Environment) -> None:
    env.solutions.get("lights").on("interface", "light", lambda lamp: object())
    assert refusal(await env.call("home", "Lights.light"))[0] == 500


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
        assert dir(services.Lights) == ["batch", "echo", "light", "nobody", "who", "whole"]
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
