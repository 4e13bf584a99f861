"""Nested calls: their maximal depth, and no deadlock between inner and outer calls."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from labkit import Lab
from labkit.solutions.workers import THREADS
from tests.cases import cases
from tests.guard import PATIENCE
from tests.services.interface.environment import Environment, environment, solution

NAMES = ("alpha", "beta")

# Each handler calls the other until a counter is 0, and counts the depth.
LUA = """
local given = operation or event
if given.left == 0 then return {depth = 0} end
local result = %s.go{left = given.left - 1}
if result.error then return result end
return {depth = result.depth + 1}
"""


def python(other: str) -> Any:
    def go(event: Any, services: Any) -> Any:
        if event["left"] == 0:
            return {"depth": 0}
        result = getattr(services, other).go(left=event["left"] - 1)
        return result if "error" in result else {"depth": result["depth"] + 1}

    return go


def asynchronous(other: str) -> Any:
    async def go(event: Any, services: Any) -> Any:
        if event["left"] == 0:
            return {"depth": 0}
        result = await getattr(services, other).go(left=event["left"] - 1)
        return result if "error" in result else {"depth": result["depth"] + 1}

    return go


def pair(**settings: Any) -> list[Any]:
    definition = {"operations": [{"name": "go"}], "events": [{"name": "went"}]}
    return [
        solution("alpha", definition, subscriptions=[{"publisher": "beta"}], **settings),
        solution("beta", definition, subscriptions=[{"publisher": "alpha"}], **settings),
    ]


def handle_with(env: Environment, alpha: str, beta: str) -> None:
    for id, other, language in (("alpha", "Beta", alpha), ("beta", "Alpha", beta)):
        made = env.solutions.get(id)
        if language == "lua":
            made.on("interface", "go", lua=LUA % other)
        else:
            made.on("interface", "go", python(other) if language == "sync" else asynchronous(other))


LANGUAGES = ["lua", "sync", "async"]


@cases("alpha", LANGUAGES)
@cases("beta", LANGUAGES)
async def test_ten_calls_nest_and_an_eleventh_is_an_error(alpha: str, beta: str) -> None:
    async with environment(*pair()) as env, asyncio.timeout(PATIENCE):
        handle_with(env, alpha, beta)
        assert await env.call("alpha", "Beta.go", left=9) == {"depth": 9}  # ten calls
        answer = await env.call("alpha", "Beta.go", left=10)
        assert (answer["status"], answer["type"]) == (500, "ServerError")
        assert "calls of solutions may nest at most 10 deep" in answer["error"]
        assert await env.call("beta", "Alpha.go", left=9) == {"depth": 9}  # no state is left


@cases(("alpha", "beta"), [("sync", "sync"), ("sync", "lua"), ("lua", "sync"), ("lua", "lua")])
async def test_many_concurrent_chains_all_end(alpha: str, beta: str) -> None:
    at_once = 3 * THREADS
    async with environment(*pair(), scripts=2) as env, asyncio.timeout(PATIENCE):
        handle_with(env, alpha, beta)
        starts = [(NAMES[n % 2], NAMES[1 - n % 2].capitalize()) for n in range(at_once)]
        answers = await asyncio.gather(
            *(env.call(caller, f"{service}.go", left=5) for caller, service in starts)
        )
        assert answers == [{"depth": 5}] * at_once


async def test_as_many_handlers_as_there_are_threads_may_call_each_other_at_once() -> None:
    async with environment(*pair()) as env, asyncio.timeout(PATIENCE):
        all_in = threading.Barrier(THREADS)

        def first(event: Any, services: Any) -> Any:
            all_in.wait(PATIENCE)  # every thread of this depth is busy
            return services.Alpha.go(left=0)

        env.solutions.get("beta").on("interface", "go", first)
        env.solutions.get("alpha").on("interface", "go", lambda event: "deeper")
        answers = await asyncio.gather(*(env.call("alpha", "Beta.go") for _ in range(THREADS)))
        assert answers == ["deeper"] * THREADS


async def test_a_nested_run_never_waits_for_a_turn_of_lua() -> None:
    """One Lua run has the only turn, and waits for a thread; all threads wait for runs that would need a turn."""
    settings = [
        solution("lua", {"operations": [{"name": "end", "script": "return 'end'"}, {"name": "again"}]}),
        solution("deep", {"operations": [{"name": "go"}]}, subscriptions=[{"publisher": "lua"}]),
        solution(
            "first", {"operations": [{"name": "go"}, {"name": "free"}]}, subscriptions=[{"publisher": "deep"}]
        ),
    ]
    async with environment(*settings, scripts=1) as env, asyncio.timeout(PATIENCE):
        for publisher in ("deep", "first"):
            await env.interface.subscribe("lua", publisher)
        all_in, begun = threading.Barrier(THREADS + 1), threading.Event()

        def deep(event: Any, services: Any) -> Any:
            if event.get("from") != "again":
                all_in.wait(PATIENCE)  # every thread of this depth is busy
                begun.wait(PATIENCE)
            return services.Lua.end()

        async def free(event: Any) -> None:
            begun.set()

        env.solutions.get("deep").on("interface", "go", deep)
        first = env.solutions.get("first")
        first.on("interface", "go", lambda event, services: services.Deep.go())
        first.on("interface", "free", free)
        env.solutions.get("lua").on("interface", "again", lua="First.free{} return Deep.go{from = 'again'}")
        held = [asyncio.create_task(env.call("lua", "First.go")) for _ in range(THREADS)]
        await asyncio.to_thread(all_in.wait, PATIENCE)
        again = asyncio.create_task(env.call("deep", "Lua.again"))
        assert await asyncio.gather(again, *held) == ["end"] * (THREADS + 1)


async def test_sync_triggers_nest_as_well() -> None:
    async with environment(*pair()) as env, asyncio.timeout(PATIENCE):
        for id, other in (("alpha", "beta"), ("beta", "alpha")):
            env.solutions.get(id).on(
                other,
                "went",
                lua="return (Interface.trigger{event = 'went', mode = 'sync'}[1] or {}).status or 'too deep'",
            )
        answer = await env.call("alpha", "Interface.trigger", event="went", mode="sync")
        assert [each["status"] for each in answer] == [200]
        deepest = env.context.journal.select("call")[0].detail or {}
        assert "nest at most 10 deep" in str(deepest["error"])


async def test_a_posted_event_starts_at_depth_zero() -> None:
    """An event handled later is not nested, whatever the depth at which it was sent."""
    async with environment(*pair()) as env, asyncio.timeout(PATIENCE):
        left = [40]

        async def went(services: Any) -> None:
            if left[0]:
                left[0] -= 1
                await services.Interface.trigger(event="went")

        for id, other in (("alpha", "beta"), ("beta", "alpha")):
            env.solutions.get(id).on(other, "went", went)
        await env.call("alpha", "Interface.trigger", event="went")
        await env.settle()
        assert left == [0]


async def test_a_publisher_that_answers_each_update_with_an_update_ends() -> None:
    async with environment(*pair()) as env, asyncio.timeout(PATIENCE):
        env.solutions.get("beta").on(
            "interface",
            "subscriberUpdated",
            lua="local n = (subscription.parameters.n or 0) + 1\n"
            "return Interface.setSubscriber{subscriber_id = 'alpha', parameters = {n = n}}",
        )
        await env.call("beta", "Interface.setSubscriber", subscriber_id="alpha", parameters={"n": 0})
        [subscription] = env.interface.subscriptions.of_publisher("beta")
        assert subscription.parameters["n"] <= 10


async def test_a_nested_run_has_its_own_time_limit() -> None:
    busy = {"name": "busy", "script": "local n = 0 for i = 1, 200000 do n = n + i end return n"}
    settings = [
        solution("beta", {"operations": [busy, {"name": "enough"}]}),
        solution("alpha", subscriptions=[{"publisher": "beta"}]),
    ]
    async with environment(*settings, script_cpu=0.05) as env, asyncio.timeout(PATIENCE):

        def spent(id: str) -> float:
            runs = env.context.journal.select("script", id)
            return sum(float(str((each.detail or {}).get("cpu", 0))) for each in runs)

        alpha = env.solutions.get("alpha")
        env.solutions.get("beta").on("interface", "enough", lambda event: spent("beta") > 0.4)
        alpha.on("scripts", "go", lua="repeat Beta.busy() until Beta.enough() == true return 'done'")
        registration = alpha.find("scripts", "go")
        assert registration is not None
        outcome = await alpha.handle(registration, ("scripts", "go"), None)
        assert outcome.result == "done"  # though its calls took more than the 0.25 s that a run may take
        assert spent("alpha") < 0.25


def test_handlers_may_use_handles_of_the_lab() -> None:
    """A sync handler of a cell that calls by a handle has the same depth as by its services."""
    with Lab(seed=7) as lab:
        alpha, beta = lab.solution("alpha"), lab.solution("beta")
        for each in (alpha, beta):
            each.publish(operations=[{"name": "go"}])
        alpha.subscribe(beta)
        beta.subscribe(alpha)

        def of_alpha(event: Any) -> Any:
            return beta.call("Alpha", "go", {"left": event["left"] - 1}) if event["left"] else "end"

        def of_beta(event: Any) -> Any:
            return alpha.call("Beta", "go", {"left": event["left"] - 1}) if event["left"] else "end"

        alpha.on("interface", "go", of_alpha)
        beta.on("interface", "go", of_beta)
        results: list[Any] = []
        threads = [
            threading.Thread(target=lambda: results.append(alpha.call("Beta", "go", {"left": 6})))
            for _ in range(2 * THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert results == ["end"] * 2 * THREADS
        assert alpha.call("Beta", "go", {"left": 12})["status"] == 500
