"""Events that a publisher sends: trigger and triggerOne, their modes, what a subscriber makes of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.cases import cases
from tests.services.interface.environment import Environment, environment, keeps, solution

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


async def test_sync_waits_for_every_subscriber_in_order(env: Environment) -> None:
    env.solutions.get("home").on("lights", "changed", lua="return change.level + 1")
    env.solutions.get("flat").on("Lights", "changed", lambda change: None)
    answer = await trigger(env, "changed", mode="sync", data={"level": 2.5})
    assert answer == [
        {"result": 3.5, "status": 200, "instance_id": instance(env, "home"), "solution_id": "home"},
        {"result": None, "status": 204, "instance_id": instance(env, "flat"), "solution_id": "flat"},
        {"result": None, "status": 404, "instance_id": instance(env, "shed"), "solution_id": "shed"},
    ]


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
    assert not settled.done()  # deliveries under way are activity
    gate.set()
    await settled
    assert got == [{"n": 0}, {"n": 1}, {"n": 2}]  # in order


async def test_what_is_sent_is_as_it_was_when_it_was_sent(env: Environment) -> None:
    got: list[Any] = []
    for id in IDS:
        env.solutions.get(id).on("lights", "plain", keeps(got))
    data = {"list": [1]}
    await trigger(env, "plain", data=data)
    data["list"].append(2)
    await env.settle()
    got[0]["list"].append(3)
    assert sorted(map(str, got)) == ["{'list': [1, 3]}", "{'list': [1]}", "{'list': [1]}"]


@cases("configured", [None, "sync", "async"])
@cases("given", [None, "sync", "async"])
async def test_which_mode_counts(env: Environment, configured: str | None, given: str | None) -> None:
    definition = LIGHTS if configured is None else {**LIGHTS, "mode": configured}
    await env.replace("lights", definition)
    env.solutions.get("home").on("lights", "plain", lambda event: "result")
    named = {} if given is None else {"mode": given}
    everybody = await trigger(env, "plain", **named)
    assert ("status" in everybody[0]) == ((given or configured or "async") == "sync")
    one = await trigger_one(env, "home", "plain", **named)
    assert one == ("result" if (given or configured or "sync") == "sync" else None)


async def test_trigger_one_takes_either_id(env: Environment) -> None:
    env.solutions.get("flat").on("lights", "plain", lua="return {event.a, context.solution_id}")
    for target in ("flat", instance(env, "flat")):
        assert await trigger_one(env, target, "plain", data={"a": 1}) == [1, "flat"]


async def test_trigger_one_gives_the_error_of_the_handler(env: Environment) -> None:
    home = env.solutions.get("home")
    home.on("lights", "plain", lua="return {error = 'no lamp', status = 409, type = 'LampError'}")
    assert await trigger_one(env, "home", "plain") == {
        "type": "LampError",
        "error": "no lamp",
        "status": 409,
    }
    home.on("lights", "plain", lua="error('the fuse')")
    answer = await trigger_one(env, "home", "plain")
    assert (answer["status"], answer["type"], "the fuse" in answer["error"]) == (500, "ServerError", True)
    assert await trigger_one(env, "shed", "plain") == {
        "type": "QueryError",
        "error": "shed: plain has no handler",
        "status": 404,
    }
    entries = await trigger(env, "plain", mode="sync")
    assert [each["status"] for each in entries] == [500, 404, 404]
    assert entries[0]["result"]["status"] == 500


async def test_who_is_not_there(env: Environment) -> None:
    for target in ("stranger", "nobody", "lights", "-", "0" * 36):
        assert await trigger_one(env, target, "plain") == {
            "type": "QueryError",
            "error": "target subscriber not found",
            "status": 404,
        }
    await env.add("fan", subscriptions=[{"publisher": "radio"}])
    assert (await trigger_one(env, instance(env, "fan", "radio"), "plain"))["status"] == 404
    for operation, arguments in (
        ("trigger", {"event": "plain"}),
        ("triggerOne", {"event": "plain", "target": "home"}),
        ("getSubscriber", {"subscriber_id": "home"}),
        ("listSubscribers", {}),
        ("setSubscriber", {"subscriber_id": "home"}),
    ):
        answer = await env.call("stranger", f"Interface.{operation}", **arguments)
        assert (answer["status"], answer["error"]) == (404, "service not found")


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
    env.solutions.get("home").on("lights", "plain", keeps(ran))
    for operation in ("trigger", "triggerOne"):
        answer = await env.call("lights", f"Interface.{operation}", target="home", **arguments)
        assert (answer["status"], answer["error"]) == (400, problem)
    await env.settle()
    assert ran == []


async def test_other_properties_are_accepted(env: Environment) -> None:
    env.solutions.get("home").on("lights", "plain", lambda event: event)
    assert await trigger_one(env, "home", "plain", data=1, whatever=2, caller="x") == 1


@cases("data", [None, False, 0, "", "text", 1.5, [], [None], {"a": {"b": [1, 2]}}])
@cases("language", ["lua", "python"])
async def test_data_may_be_anything(env: Environment, data: Any, language: str) -> None:
    home = env.solutions.get("home")
    if language == "lua":
        home.on("lights", "plain", lua="return event")
    else:
        home.on("lights", "plain", lambda event: event)
    expected = {} if data == [None] and language == "lua" else data
    answer = await trigger_one(env, "home", "plain", data=data)
    assert answer == expected or (language == "lua" and data == [None])


async def test_a_default_script_serves_until_there_is_a_handler(env: Environment) -> None:
    assert await trigger_one(env, "home", "asked") == "default of home"
    home = env.solutions.get("home")
    home.on("lights", "asked", lua="return 'own'")
    assert await trigger_one(env, "home", "asked") == "own"
    assert await trigger_one(env, "flat", "asked") == "default of flat"
    await env.replace("home", subscriptions=[{"publisher": "lights"}])
    assert await trigger_one(env, "home", "asked") == "default of home"


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
                {"type": "QueryError", "error": "home: plain has no handler", "status": 404},
            ),
            ("missing", {"type": "QueryError", "error": "home: plain has no handler", "status": 404}),
            (None, "same name"),
        ):
            subscription = await env.interface.update(subscription, triggers={"plain": entry})
            assert await trigger_one(env, "home", "plain", data=1) == expected

    async def test_other_entries_are_kept_untouched(self, env: Environment) -> None:
        triggers = {"elsewhere": {"deep": [1, {"a": None}]}, "x y": 3}
        await env.replace("home", subscriptions=[{"publisher": "lights", "triggers": triggers}])
        shown = await env.call("lights", "Interface.getSubscriber", subscriber_id="home")
        assert shown["triggers"] == triggers

    async def test_two_publishers_may_use_one_handler_each_with_its_own_name(self, env: Environment) -> None:
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


async def test_a_publisher_that_sends_too_much_is_told(env: Environment) -> None:
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
    async def test_they_are_listed_in_the_order_in_which_they_came(self, env: Environment) -> None:
        answer = await env.call("lights", "Interface.listSubscribers")
        assert ([each["solution_id"] for each in answer["items"]], answer["total"]) == (list(IDS), 3)
        page = await env.call("lights", "Interface.listSubscribers", offset=1, limit="1")
        assert ([each["solution_id"] for each in page["items"]], page["total"]) == (["flat"], 3)
        beyond = await env.call("lights", "Interface.listSubscribers", offset=10**18)
        assert beyond == {"items": [], "total": 3}

    @cases("wrong", [{"limit": 0}, {"limit": 1001}, {"offset": -1}, {"limit": True}, {"limit": "x"}])
    async def test_wrong_pages(self, env: Environment, wrong: dict[str, Any]) -> None:
        answer = await env.call("lights", "Interface.listSubscribers", **wrong)
        assert (answer["status"], next(iter(wrong)) in answer["error"]) == (400, True)

    async def test_the_default_page_holds_twenty(self, env: Environment) -> None:
        for n in range(22):
            await env.add(f"s{n}", subscriptions=[{"publisher": "lights"}])
        answer = await env.call("lights", "Interface.listSubscribers")
        assert (len(answer["items"]), answer["total"]) == (20, 25)
        assert len((await env.call("lights", "Interface.listSubscribers", limit=1000))["items"]) == 25

    @cases(
        ("wanted", "found"),
        [
            ({}, ["home", "flat", "shed"]),
            ({"floor": 1}, ["home"]),
            ({"floor": 1.0}, ["home"]),
            ({"floor": True}, ["flat"]),
            ({"floor": "1"}, ["shed"]),
            ({"floor": 1, "tags": ["a"]}, ["home"]),
            ({"floor": 1, "tags": ["b"]}, []),
            ({"tags": {"a": 1}}, ["flat"]),
            ({"tags": {"a": True}}, []),
            ({"nothing": None}, ["shed"]),
            ({"unknown": None}, []),
        ],
    )
    async def test_filters_compare_as_json_does(
        self, env: Environment, wanted: dict[str, Any], found: list[str]
    ) -> None:
        for id, parameters in (
            ("home", {"floor": 1, "tags": ["a"]}),
            ("flat", {"floor": True, "tags": {"a": 1}}),
            ("shed", {"floor": "1", "nothing": None}),
        ):
            await env.call("lights", "Interface.setSubscriber", subscriber_id=id, parameters=parameters)
        answer = await env.call("lights", "Interface.listSubscribers", parameters=wanted)
        assert [each["solution_id"] for each in answer["items"]] == found
        assert answer["total"] == len(found)

    async def test_set_merges_and_tells_the_publisher(self, env: Environment) -> None:
        heard: list[Any] = []
        env.solutions.get("lights").on("interface", "subscriberUpdated", keeps(heard))
        changes: tuple[dict[str, Any], ...] = (
            {"quota": {"calls_daily": 5}, "parameters": {"a": 1}},
            {"quota": {"calls_monthly": "7"}, "parameters": {"b": [2]}},
            {"quota": {"calls_daily": None}},
            {"quota": {}, "parameters": []},
        )
        for change in changes:
            assert await env.call("lights", "Interface.setSubscriber", subscriber_id="home", **change) is None
        shown = await env.call("lights", "Interface.getSubscriber", subscriber_id="home")
        assert (shown["quota"], shown["parameters"]) == ({"calls_monthly": 7}, {"a": 1, "b": [2]})
        assert [each["parameters"] for each in heard] == [{"a": 1}, {"a": 1, "b": [2]}, {"a": 1, "b": [2]}]

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
    async def test_what_cannot_be_set_changes_nothing(self, env: Environment, wrong: dict[str, Any]) -> None:
        before = await env.call("lights", "Interface.getSubscriber", subscriber_id="home")
        answer = await env.call("lights", "Interface.setSubscriber", subscriber_id="home", **wrong)
        assert (answer["status"], len(answer["error"]) < 300) == (400, True)
        assert await env.call("lights", "Interface.getSubscriber", subscriber_id="home") == before

    @cases(("id", "status"), [("stranger", 404), ("Home", 400), ("a-b", 400), ("", 400), ("1a", 400)])
    async def test_ids(self, env: Environment, id: str, status: int) -> None:
        for operation in ("getSubscriber", "setSubscriber"):
            answer = await env.call("lights", f"Interface.{operation}", subscriber_id=id)
            assert answer["status"] == status
