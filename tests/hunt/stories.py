"""Stories for tests of exact replay; as a script it prints digests of their plays."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from labkit import Lab
from labkit.hunt import Draw, play, story
from tests.hunt.hunted import whole
from tests.lab.story_parts import Listens, Reports, counting, digest, product_of


@story
def counter(lab: Lab, draw: Draw) -> object:
    """Count datapoints by get and set, while each service call takes lab time, and look at the count."""
    product = product_of(lab)
    app = counting(lab, product)
    lab.faults.add("Keystore.*", delay=draw.seconds(0.000001, 1, 30), chance=0.5)
    run = product.fleet(5, Reports).start(minutes=10)
    seen = []
    for _ in range(draw.number(2, 5)):
        lab.wait(seconds=draw.seconds())
        seen.append(app.get("/count").text)
    run.wait()
    return [*seen, app.Keystore.get(key="count")]


@story
def outage(lab: Lab, draw: Draw) -> object:
    """Restart the platform at drawn times while devices report and poll."""
    product = product_of(lab)
    run = product.fleet({Reports: 4, Listens: 4}).start(minutes=15, requests=True)
    for _ in range(draw.number(1, 3)):
        lab.at(draw.number(1, 800), lambda: lab.restart(down=draw.seconds()))
    run.wait()
    return run.devices().to_csv(), run.requests().to_csv()


@story
def household(lab: Lab, draw: Draw) -> object:
    """Two people set the targets of two fleets, by routes, while handlers of both solutions run."""
    products = [product_of(lab, name) for name in ("thermostat", "lamp")]
    fleets = [product.fleet({Listens: 3, Reports: 2}) for product in products]
    seen: list[object] = []
    for product in products:
        app = lab.solution(f"{product.id}-app", products=[product])

        def choose(request: Any, services: Any, product: str = product.id) -> object:
            given = request.body
            services.Keystore.set(key=given["identity"], value="1")
            return services.Device2.setIdentityState(pid=product, **given)

        app.route("POST", "/config", choose)
        app.on("device", "datapoint", lambda services: services.Keystore.command(key="n", command="incr"))
    lab.faults.add("Keystore.set", delay=draw.seconds(1, 7, 30), chance=0.5)
    lab.faults.add("device datapoint", late=draw.seconds(5, 20), chance=0.3)
    runs = [fleet.start(minutes=draw.number(5, 10)) for fleet in fleets]

    def act() -> None:
        for _ in range(draw.number(1, 4)):
            place = draw.number(0, 1)
            identity = fleets[place].identities[draw.number(0, 2)]
            given = {"identity": identity, "config": str(draw.number(15, 25))}
            answer = lab.solution(f"{products[place].id}-app").post("/config", json=given)
            seen.append((answer.status_code, answer.text, lab.clock.time))
            lab.wait(seconds=draw.seconds(10, 60))

    lab.at(20, act)
    act()
    for run in runs:
        run.wait()
        seen.append(run.devices().to_csv())
    return seen


@story
def overlap(lab: Lab, draw: Draw) -> object:
    """Overlap handlers of two solutions in Lua and Python while devices write in step, and look at their counts."""
    product = product_of(lab)
    lua, python = (lab.solution(name, products=[product]) for name in ("lua", "python"))

    async def count(services: Any) -> None:
        found = await services.Keystore.get(key="count")
        await services.Keystore.set(key="count", value=str(int(found.get("value") or 0) + 1))

    lua.on(
        "device",
        "datapoint",
        lua="""
        local count = tonumber(Keystore.get{key = "count"}.value or 0)
        Keystore.set{key = "count", value = count + 1}""",
    )
    python.on("device", "datapoint", count)
    lua.route("GET", "/count", lua='return Keystore.get{key = "count"}')
    lab.overlap(calls=(0.001, draw.seconds(0.002, 0.05, 5)), in_step=True, order="random")
    run = product.fleet({Reports: 4, Listens: 2}).start(minutes=10)
    seen: list[object] = []
    for _ in range(draw.number(1, 3)):
        lab.wait(seconds=draw.seconds(0.01, 60))
        seen.append(lua.get("/count").text)
    lab.overlap()
    run.wait()
    return [*seen, *(each.Keystore.get(key="count") for each in (lua, python))]


@story
def neighbours(lab: Lab, draw: Draw) -> object:
    """Overlap handlers that call another solution and their own routes, with late, doubled and refused work."""
    product = product_of(lab)
    lights = lab.solution("lights")
    halls = [lab.solution(name, products=[product]) for name in ("lua", "async", "thread")]
    level = {"title": "lamp", "type": "object", "properties": {"level": {"type": "integer"}}}
    lights.publish(operations=[{"name": "switch", "parameters": level}], events=[{"name": "changed"}])
    lights.on(
        "interface",
        "switch",
        lua="""
        local sum = tonumber(Keystore.get{key = "sum"}.value or 0)
        Keystore.set{key = "sum", value = sum + lamp.level}
        Interface.trigger{event = "changed", mode = "async", data = {level = lamp.level}}
        return {level = lamp.level}""",
    )

    async def at_once(services: Any) -> None:
        await asyncio.gather(
            services.Lights.switch(level=2), services.Keystore.command(key="n", command="incr")
        )

    def in_thread(services: Any) -> None:
        services.Lights.switch(level=3)
        halls[0].get("/changes")

    for hall in halls:
        hall.subscribe(lights)
        hall.on("lights", "changed", lua='Keystore.command{key = "changes", command = "incr"}')
    halls[0].on("device", "datapoint", lua="Lights.switch{level = 1}")
    halls[0].route("GET", "/changes", lua='return Keystore.get{key = "changes"}')
    halls[1].on("device", "datapoint", at_once)
    halls[2].on("device", "datapoint", in_thread)
    lab.overlap(calls=(0.001, draw.seconds(0.05, 2, 20)), in_step=True, order="random")
    lab.faults.add("device datapoint", late=draw.seconds(5, 20), doubled=True, chance=0.3)
    lab.faults.add("Lights.switch", status=503, chance=0.1)
    run = product.fleet(3, Reports).start(minutes=3)
    lab.wait(seconds=draw.number(1, 100))
    seen = halls[0].get("/changes").text
    run.wait()
    lab.drain()
    return seen, [each.Keystore.get(key="changes") for each in halls], lights.Keystore.get(key="sum")


STORIES = (counter, outage, household, overlap, neighbours)


def digests() -> list[str]:
    return [digest(whole(play(each, seed))) for each in STORIES for seed in (1, 2)]


def main() -> None:
    print(json.dumps(digests()))  # noqa: T201


if __name__ == "__main__":
    main()
