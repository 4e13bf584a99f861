"""Handlers that ask routes of their own lab whose service calls take lab time: the clock moves meanwhile."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import FleetDevice
from labkit.lab.solution import Solution

pytestmark = pytest.mark.timeout(50)  # without that, each request would take a real minute


class Reports(Behaviour):
    """Behaviour that writes three times."""

    async def run(self, device: FleetDevice) -> None:
        for _ in range(3):
            await device.sleep(600)
            await device.write(message="x")
        await device.sleep(60)


def asking(lab: Lab) -> tuple[Solution, list[tuple[str, float]]]:
    """Return a solution whose handler asks a route by a handle, and what it gets: answer and lab time."""
    seen: list[tuple[str, float]] = []
    app = lab.solution("acme")
    app.route("GET", "/number", lua='return Keystore.command{key = "n", command = "incr"}.value')

    def handle(services: Any) -> None:
        services.Keystore.get(key="x")
        seen.append((app.get("/number").text, lab.clock.time))

    app.on("device", "datapoint", handle)
    return app, seen


def played(seed: int, *, in_story: bool) -> list[tuple[str, float]]:
    with Lab(seed=seed) as lab:
        product = lab.product("thermostat", resources={"message": "string"})
        lab.solution("acme", products=[product])
        _, seen = asking(lab)
        lab.overlap(calls=(0.001, 0.05), in_step=True)
        fleet = product.fleet(3, Reports)
        if in_story:
            with lab.story():
                fleet.run(minutes=31)
        else:
            fleet.run(minutes=31)
        return seen


def test_a_handler_asks_a_route_by_a_handle() -> None:
    began = time.monotonic()
    first, again, in_story = (played(7, in_story=each) for each in (False, False, True))
    assert first == again == in_story
    assert [text for text, _ in first] == [str(number) for number in range(1, 10)]
    assert len({when for _, when in first}) == 9
    assert time.monotonic() - began < 40


def test_it_does_so_while_the_clock_is_advanced(lab: Lab) -> None:
    _, seen = asking(lab)
    device = lab.product("thermostat").device("t-1").activate()
    start = lab.clock.time
    lab.faults.add("Keystore.command", delay=30)
    device.write(message="x")
    lab.settle()
    assert seen == []
    lab.clock.advance(seconds=30)
    assert seen == [("1", start + 30)]


def test_a_handler_begins_a_request_beside_itself(lab: Lab) -> None:
    """The handler counts as work meanwhile, so that lab time stands still for the request."""
    app, device = lab.solution("acme"), lab.product("thermostat").device("t-1").activate()
    app.route("GET", "/number", lua='return Keystore.command{key = "n", command = "incr"}.value')
    seen: list[object] = []

    def handle() -> None:
        pending = lab.begin(app.get, "/number")
        seen.append((pending.result().text, lab.clock.time - start))

    app.on("device", "datapoint", handle)
    start = lab.clock.time
    device.write(message="x")
    lab.settle()
    assert seen == [("1", 0)]


def test_the_platforms_own_request_to_a_route_waits_for_lab_time(lab: Lab) -> None:
    """Also one whose calls are delayed side by side. Its scripts see no header of the lab's own."""
    platform: Any = lab._runtime.control  # no handle sends a request of the platform's own
    outbound = platform._platform.context.outbound
    app, device = lab.solution("acme"), lab.product("thermostat").device("t-1").activate()
    headers: list[str] = []
    start, seen = lab.clock.time, list[object]()

    async def fetch() -> dict[str, object]:
        status, text = await outbound.request(
            "GET", f"https://{app.domain}:{lab.address.https_port}/slow", {}
        )
        return {"status": status, "text": text}

    async def slow(request: Any, services: Any) -> str:
        headers.extend(request.headers)
        await asyncio.gather(services.Keystore.get(key="a"), services.Keystore.get(key="b"))
        await services.Keystore.get(key="c")
        return "done"

    def handle(services: Any) -> None:
        seen.append((services.Web.fetch(), lab.clock.time - start))

    lab.service("Web", fetch=fetch)
    app.route("GET", "/slow", slow)
    app.on("device", "datapoint", handle)
    lab.faults.add("Keystore.get", delay=100)
    device.write(message="x")
    assert lab.drain().seconds == 200
    assert seen == [({"status": 200, "text": "done"}, 200)]
    assert not [name for name in headers if "labkit" in name]
