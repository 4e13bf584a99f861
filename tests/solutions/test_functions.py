"""Python functions as handlers: arguments, threads, and ends."""

import asyncio
import inspect
import threading
from typing import Any

import pytest

from labkit.core.errors import LabError
from labkit.solutions.workers import Workers
from tests.solutions.rig import handle, solution_rig


async def test_an_async_function_awaits_services_on_the_loop() -> None:
    async with solution_rig() as lab:

        async def handler(services: Any) -> Any:
            await services.Store.put(key="k", value=[])
            return [await services.Store.get(key="k"), threading.current_thread().name]

        (await lab.add()).route("GET", "/a", handler)
        assert await (await lab.get("/a")).json() == [{"value": []}, threading.current_thread().name]


async def test_a_sync_function_blocks_in_a_thread() -> None:
    async with solution_rig() as lab:

        def handler(services: Any) -> Any:
            services.Store.put({"key": "k"}, value=1)
            return [services.Store.get(key="k"), threading.current_thread().name]

        (await lab.add()).route("GET", "/a", handler)
        result = await (await lab.get("/a")).json()
        assert result[0] == {"value": 1}
        assert result[1].startswith("labkit-handler")


async def test_the_decorator_returns_the_function() -> None:
    async with solution_rig() as lab:
        solution = await lab.add()

        @solution.route("GET", "/a")
        def handler() -> str:
            return "x"

        @solution.on("user", "account")
        async def account(event: Any) -> Any:
            return event

        assert handler() == "x"
        assert await account(5) == 5
        assert await (await lab.get("/a")).text() == "x"
        outcome = await handle(solution, "user", "account", {"id": 1})
        assert outcome is not None
        assert outcome.result == {"id": 1}


@pytest.mark.parametrize("name", ["message", "request2"])
async def test_a_function_with_an_unknown_parameter_is_refused_when_registered(name: str) -> None:
    async with solution_rig() as lab:
        solution = await lab.add()
        scope: dict[str, Any] = {}
        exec(f"def handler(request, {name}): pass", scope)
        with pytest.raises(LabError) as error:
            solution.route("GET", "/a", scope["handler"])
        assert str(error.value) == (
            f"handler: cannot give '{name}'; it may ask for: request, response, services, context, log, now"
        )


async def test_a_parameter_with_a_default_is_not_passed() -> None:
    async with solution_rig() as lab:

        def handler(request: Any, colour: str = "red", *more: Any, **others: Any) -> Any:
            return [request.method, colour, list(more), others]

        (await lab.add()).route("GET", "/a", handler)
        assert await (await lab.get("/a")).json() == ["GET", "red", [], {}]


async def test_errors_of_the_platform_are_results() -> None:
    async with solution_rig() as lab:

        async def handler(services: Any) -> Any:
            return [
                (await services.Store.get(key="none"))["status"],
                (await services.Store.nothing())["error"],
                (await services.Nobody.get())["error"],
            ]

        (await lab.add()).route("GET", "/a", handler)
        expected = [404, "Operation nothing of service Store Not Found", "Service Nobody Not Found"]
        assert await (await lab.get("/a")).json() == expected


async def test_services_complete_and_document_themselves() -> None:
    seen: dict[str, Any] = {}
    async with solution_rig() as lab:

        async def handler(services: Any) -> None:
            seen["services"], seen["operations"] = dir(services), dir(services.Store)
            seen["doc"] = services.Store.get.__doc__
            seen["signatures"] = [
                str(inspect.signature(each)) for each in (services.Store.send, services.Store.put)
            ]
            seen["sent"] = await services.Store.send(to="a", from_="b")
            seen["probed"] = [hasattr(services, "_repr_html_"), hasattr(services.Store, "_repr_html_")]
            seen["repr"] = [repr(services), repr(services.Store)]

        (await lab.add()).route("GET", "/a", handler)
        assert (await lab.get("/a")).status == 200
    assert (seen["services"], seen["operations"]) == (["Store"], ["get", "put", "send", "wait"])
    assert seen["doc"] == "Return the stored value; 404 if there is none."
    assert seen["signatures"] == ["(*, to: str, from_: str = '')", "(*, key: str, value: Any)"]
    assert seen["sent"] == {"to": "a", "from": "b"}
    assert seen["probed"] == [False, False]
    assert seen["repr"] == ["<services Store>", "<service Store: get, put, send, wait>"]


@pytest.mark.parametrize("blocking", [False, True])
async def test_log_and_now(blocking: bool) -> None:
    async with solution_rig() as lab:

        def work(log: Any, now: Any) -> float:
            log.info("hello")
            log.error({"a": 1})
            log.debug("x" * 5000)
            return float(now())

        async def handler(log: Any, now: Any) -> float:
            return work(log, now)

        (await lab.add()).route("GET", "/a", work if blocking else handler)
        assert await (await lab.get("/a")).json() == 1_767_225_600.0
        (script,) = lab.records("script")
        logs = lab.records("log")
        assert [(each.actor, each.cause) for each in logs] == [("acme", script.sequence)] * 3
        assert [each.detail for each in logs] == [{"level": "info"}, {"level": "error"}, {"level": "debug"}]
        assert [each.summary[:8] for each in logs] == ["hello", "{'a': 1}", "xxxxxxxx"]
        assert logs[2].summary == "x" * 4096 + "… 904 more characters"


async def test_blocking_services_refuse_the_loops_own_thread() -> None:
    kept: list[Any] = []
    async with solution_rig() as lab:

        def keep(services: Any) -> None:
            kept.append(services)

        (await lab.add()).route("GET", "/a", keep)
        await lab.get("/a")
        with pytest.raises(LabError, match="these services block"):
            kept[0].Store.get(key="k")


async def test_threads_are_limited_and_end_with_the_lab() -> None:
    begun: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    async with solution_rig() as lab:

        def handler(services: Any) -> None:
            loop.call_soon_threadsafe(begun.put_nowait, threading.current_thread().name)
            services.Store.wait()

        (await lab.add()).route("GET", "/a", handler)
        waiting = [asyncio.create_task(lab.get("/a")) for _ in range(20)]
        names = {await begun.get() for _ in range(8)}
        lab.store.gate.set()
        assert {(await each).status for each in waiting} == {200}
        names |= {begun.get_nowait() for _ in range(12)}
        assert len(names) == 8
    assert not [each for each in threading.enumerate() if each.name.startswith("labkit-handler")]


async def test_a_handler_that_outlives_its_lab_can_call_no_service() -> None:
    loop = asyncio.get_running_loop()
    entered, leave = asyncio.Event(), threading.Event()
    seen: list[str] = []

    def handler(services: Any) -> None:
        loop.call_soon_threadsafe(entered.set)
        leave.wait()
        try:
            services.Store.get(key="k")
        except LabError as error:
            seen.append(str(error))

    async with solution_rig() as lab:
        solution = await lab.add()
        solution.on("user", "account", handler)
        handling = asyncio.create_task(handle(solution, "user", "account", {}))
        await entered.wait()
        closing = asyncio.create_task(lab.solutions.stop())
        await asyncio.sleep(0)
        leave.set()
        await closing
        await handling
        assert seen == ["the lab is closed"]
        outcome = await handle(solution, "user", "account", {})
        assert outcome is not None
        assert (outcome.status, outcome.error) == (500, "the lab is closed")


async def test_an_object_with_an_async_call_counts_as_async() -> None:
    class Handler:
        async def __call__(self, services: Any) -> Any:
            return await services.Store.get(key="none")

    async with solution_rig() as lab:
        (await lab.add()).route("GET", "/a", Handler())
        assert (await (await lab.get("/a")).json())["status"] == 404


async def test_a_function_that_never_ends_does_not_delay_closing() -> None:
    leave = threading.Event()
    loop = asyncio.get_running_loop()
    entered = asyncio.Event()

    def stuck() -> None:
        loop.call_soon_threadsafe(entered.set)
        leave.wait()

    workers = Workers(threads=1, grace=0.02)
    running, queued = (asyncio.create_task(workers.run(stuck)) for _ in range(2))
    await entered.wait()
    assert await workers.close() is False
    leave.set()
    await running
    with pytest.raises(asyncio.CancelledError):
        await queued
    with pytest.raises(LabError, match="the lab is closed"):
        await workers.run(stuck)
