"""Runs: operations that go on without their client."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from labkit.control.over_http.listener import control_listener
from labkit.control.over_http.runs import ACTIVE, KEPT
from labkit.platform import Platform
from labkit.settings import ControlSettings
from tests.control.over_http.caller import Caller

PREFER = {"Prefer": "respond-async"}


async def started(caller: Caller, key: str, **arguments: Any) -> str:
    """Start a run, and return its path."""
    path = f"/v1/{key.replace('.', '/')}"
    answer = await caller.client.post(path, json=arguments, headers=PREFER)
    assert answer.status_code == 202, answer.text
    assert answer.headers["Preference-Applied"] == "respond-async"
    assert answer.json()["operation"] == key
    return answer.headers["Location"]


async def ended(caller: Caller, path: str) -> dict[str, Any]:
    """Wait for the end of a run, and return it."""
    run: dict[str, Any] = (await caller.client.get(path, headers={"Prefer": "wait=30"})).json()
    assert run["state"] != "running"
    return run


async def test_a_run_has_the_result_of_its_operation(caller: Caller) -> None:
    path = await started(caller, "clock.advance", days=1)
    run = await ended(caller, path)
    assert run["state"] == "done"
    assert run["result"] == await caller.result("clock.state")
    assert [each["state"] for each in (await caller.client.get("/v1/runs")).json()] == ["done"]


async def test_a_run_outlives_its_client_until_it_is_ended(caller: Caller, platform: Platform) -> None:
    await caller.result("products.ensure", settings={"id": "thermostat", "resources": {"a": "string"}})
    path = await started(caller, "polls.wait_for_count", product="thermostat", identity="t-1", alias="a")
    await caller.client.aclose()
    other = Caller(type(caller.client)(base_url=caller.client.base_url, headers=caller.client.headers))
    assert (await other.client.get(path, headers={"Prefer": "wait=0"})).json()["state"] == "running"
    assert len(platform.devices.polls._held) == 1
    assert (await other.client.delete(path)).json()["state"] == "ended"
    assert not platform.devices.polls._held
    await other.client.aclose()


async def test_a_failed_run_has_the_problem(caller: Caller) -> None:
    run = await ended(caller, await started(caller, "products.get", id="x"))
    assert run["state"] == "failed"
    assert run["problem"]["status"] == 404
    assert run["problem"]["detail"].startswith("no product 'x'")


async def test_wrong_arguments_are_refused_at_once(caller: Caller) -> None:
    assert (await caller.client.post("/v1/products/get", json={}, headers=PREFER)).status_code == 422
    assert (await caller.client.get("/v1/runs/x")).status_code == 404
    assert (await caller.client.post("/v1/runs")).status_code == 405


async def test_runs_are_limited_and_old_ones_are_forgotten(caller: Caller) -> None:
    await caller.result("products.ensure", settings={"id": "thermostat", "resources": {"a": "string"}})
    wait = {"product": "thermostat", "identity": "t-1", "alias": "a"}
    waiting = [await started(caller, "polls.wait_for_count", **wait) for _ in range(ACTIVE)]
    refused = await caller.client.post("/v1/polls/wait_for_count", json=wait, headers=PREFER)
    assert refused.status_code == 429
    for path in waiting:
        await caller.client.delete(path)
    paths = [await started(caller, "clock.state") for _ in range(KEPT + 5)]
    assert (await ended(caller, paths[-1]))["state"] == "done"
    assert (await caller.client.get(waiting[0])).status_code == 404
    assert len((await caller.client.get("/v1/runs")).json()) <= KEPT + 2


async def test_runs_end_with_the_listener(platform: Platform) -> None:
    before = asyncio.all_tasks()
    async with (
        control_listener(platform, ControlSettings()) as address,
        httpx.AsyncClient(
            base_url=address.url, headers={"Authorization": f"Bearer {address.token}"}
        ) as client,
    ):
        path = await started(Caller(client), "faults.wait_for_delay")
        assert (await client.get(path)).json()["state"] == "running"
    assert asyncio.all_tasks() == before
