"""Subscriptions declared in settings and folders: how they begin, change with these, and end."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.interface.partners import INTERFACE, OwnSolution, create_own, make, solution_id
from labkit.conformance.probe import Table, same
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch
from labkit.core.errors import SettingsError

PING: Table = {"operations": [{"name": "ping", "script": "return context.caller_id"}]}
WITH_ROOM: Table = {**PING, "parameters": [{"name": "room"}]}


@contextmanager
def folder(files: Mapping[str, str]) -> Iterator[Path]:
    """Make a solution's folder with these files in services/, text by key."""
    with tempfile.TemporaryDirectory() as root:
        services = Path(root, "services")
        services.mkdir()
        for key, text in files.items():
            (services / f"{key}.yaml").write_text(text)
        yield Path(root)


async def replace(target: Target, solution: OwnSolution, **settings: Any) -> None:
    """Replace the settings of a solution."""
    await target.in_lab(partial(make, target, solution.id, replace=True, **settings))


async def waits(target: Target, *subscriptions: Table) -> OwnSolution:
    """Create a solution whose settings subscribe to publishers that do not exist yet."""
    id = solution_id(target)
    return OwnSolution(target, await target.in_lab(partial(make, target, id, subscriptions=subscriptions)))


def publishing(configuration: Table) -> Table:
    """Return the settings of a solution that publishes this configuration."""
    return {"services": {INTERFACE: configuration}}


async def subscriber(publisher: OwnSolution, home: OwnSolution) -> Table:
    """Return the subscription of a solution, {} if it has none."""
    found: Table = await publisher.call(INTERFACE, "getSubscriber", subscriber_id=home.id)
    return {} if "error" in found else found


async def subscribers(publisher: OwnSolution) -> set[str]:
    """Return the ids of all subscribers."""
    found = await publisher.call(INTERFACE, "listSubscribers", limit=1000)
    return {each["solution_id"] for each in found["items"]}


@check(
    "IFC-SET-1",
    "several subscriptions wait for a publisher, one of them with wrong parameters",
    needs={"settings"},
)
async def waiting(target: Target) -> None:
    id, other, key = (solution_id(target) for _ in range(3))
    wrong = await waits(target, {"publisher": id, "parameters": {"room": 5}})
    hall = {"publisher": id, "parameters": {"room": "hall"}, "script_key": "bell"}
    first = await waits(target, {"publisher": other}, hall)
    with folder({key: "room: attic"}) as path:
        second, nobody = await create_own(target, path=path), await create_own(target)
        before = await create_own(target, PING, id=other)
        publisher = await create_own(target, {**WITH_ROOM, "default_script_key": key}, id=id)
    found = {each.id for each in (first, second)}
    expect.equal("subscribers of one", await subscribers(publisher), found)
    expect.equal("subscribers of the other", await subscribers(before), {first.id})
    for each, room in ((first, "hall"), (second, "attic")):
        same("parameters", (await subscriber(publisher, each))["parameters"], {"room": room})
    expect.equal("a call", await first.call("Bell", "ping"), first.id)
    for each, warned in ((wrong, True), (second, False), (nobody, False), (publisher, False)):
        expect.equal("warned of room", any("room" in text for text in await each.warnings()), warned)


@check(
    "IFC-SET-2",
    "parameters from a file and from settings, with another letter case of the key",
    needs={"settings"},
)
async def beside(target: Target) -> None:
    key = solution_id(target)
    publisher = await create_own(target, {**WITH_ROOM, "default_script_key": key})
    named = {"publisher": publisher.id, "parameters": {"room": "hall", "m": 2}}
    wanted = {"room": "hall", "m": 2, "n": 1}
    for file in (key.upper(), publisher.id):
        with folder({file: "room: attic\nn: 1"}) as path:
            home = await create_own(target, path=path, subscriptions=[named])
        same(f"parameters beside {file}.yaml", (await subscriber(publisher, home)).get("parameters"), wanted)
    with folder({"panel": "n: 1"}) as path:
        home = await create_own(target, path=path, subscriptions=[{**named, "script_key": "Panel"}])
    same("parameters, by script_key", (await subscriber(publisher, home)).get("parameters"), wanted)


@check("IFC-SET-3", "changed settings, and settings that stay the same", needs={"settings"})
async def changed(target: Target) -> None:
    publisher, home, other = (
        await create_own(target, WITH_ROOM),
        await create_own(target),
        await create_own(target),
    )
    first: Table = {
        "publisher": publisher.id,
        "script_key": "panel",
        "parameters": {"room": "hall", "n": 1},
        "quota": {"calls_daily": 50},
        "triggers": {"note": "kept"},
    }
    for each in (home, other):
        await replace(target, each, subscriptions=[first])
    await publisher.call(
        INTERFACE,
        "setSubscriber",
        subscriber_id=home.id,
        parameters={"room": "cellar", "its": True},
        quota={"calls_monthly": 900},
    )
    before = await subscriber(publisher, home)
    await replace(target, home, subscriptions=[first], business="labkit")
    same("with the same settings", await subscriber(publisher, home), before)
    now = {"publisher": publisher.id, "script_key": "Board", "parameters": {"m": 2}}
    await replace(target, home, subscriptions=[now])
    found = await subscriber(publisher, home)
    same("parameters", found.get("parameters"), {"m": 2, "its": True})
    same("quota", found.get("quota"), {"calls_monthly": 900})
    same("triggers", found.get("triggers"), {})
    same("id", found.get("id"), before["id"])
    expect.equal("Board.ping", await home.call("Board", "ping"), home.id)
    expect.equal("Panel.ping", await home.status("Panel", "ping"), 404)
    found = await subscriber(publisher, other)
    same("parameters of another", found.get("parameters"), first["parameters"])


@check(
    "IFC-SET-4",
    "subscriptions that settings and folders no longer declare end, others stay",
    needs={"settings"},
)
async def not_named_any_more(target: Target) -> None:
    publisher, cell = await create_own(target, PING), await create_own(target)
    named = await create_own(target, subscriptions=[{"publisher": publisher.id}])
    await cell.subscribe(publisher, script_key="bell")
    with folder({publisher.id: "n: 1"}) as path:
        filed = await create_own(target, path=path)
        everybody = {cell.id, named.id, filed.id}
        expect.equal("at first", await subscribers(publisher), everybody)
        for each in (cell, named):
            await replace(target, each, environment={"A": "1"})
        await replace(target, filed, path=path, environment={"A": "1"})
        expect.equal("once settings name none", await subscribers(publisher), everybody - {named.id})
    await replace(target, filed)
    expect.equal("once the file is not there", await subscribers(publisher), {cell.id})


@check("IFC-SET-4", "subscriptions stay while the publisher publishes nothing", needs={"settings"})
async def away(target: Target) -> None:
    publisher, cell = await create_own(target, PING), await create_own(target)
    naming: Table = {"subscriptions": [{"publisher": publisher.id}]}
    stays, leaves = await create_own(target, **naming), await create_own(target, **naming)
    await cell.subscribe(publisher, script_key="bell")
    with folder({publisher.id: "n: 1"}) as path:
        filed = await create_own(target, path=path)
        before = {each.id: await subscriber(publisher, each) for each in (stays, cell, filed)}
        await replace(target, publisher)
        expect.equal("a call meanwhile", await cell.status("Bell", "ping"), 404)
        await replace(target, leaves)
        await replace(target, stays, **naming, environment={"A": "1"})
        await replace(target, filed, path=path, environment={"A": "1"})
        await replace(target, publisher, **publishing(PING))
    expect.equal("once it is back", await subscribers(publisher), set(before))
    for each in (stays, cell, filed):
        same("subscription", await subscriber(publisher, each), before[each.id])
    expect.equal("a call", await cell.call("Bell", "ping"), cell.id)


@check("IFC-SET-5", "files by key in any letter case, and by id", needs={"settings"})
async def files(target: Target) -> None:
    key = f"Key{solution_id(target)}"
    publisher, other = (
        await create_own(target, {**PING, "default_script_key": key}),
        await create_own(target, PING),
    )
    for name in (key, key.lower(), key.upper(), publisher.id):
        with folder({name: "n: 1"}) as path:
            home = await create_own(target, path=path)
        same(f"by {name}.yaml", (await subscriber(publisher, home)).get("parameters"), {"n": 1})
        expect.equal("a call", await home.call(key, "ping"), home.id)
    expect.equal("subscribers of another", await subscribers(other), set())


@check("IFC-SET-6", "another definition, for all subscribers", needs={"settings"})
async def another_definition(target: Target) -> None:
    publisher = await create_own(
        target, {**PING, "events": [{"name": "rang", "default_script": "return 'old'"}]}
    )
    homes = [await create_own(target) for _ in range(3)]
    for home, key in zip(homes, ("bell", "bell", "gong"), strict=True):
        await home.subscribe(publisher, script_key=key)
        expect.equal("before", await home.call(key.capitalize(), "ping"), home.id)
    now: Table = {
        "operations": [{"name": "pong", "script": "return 'pong'"}],
        "events": [{"name": "rang", "default_script": "return 'new'"}],
    }
    await target.in_lab(partial(publisher.handle.publish, **now))
    for number in range(2):
        for home, service in zip(homes, ("Bell", "Bell", "Gong"), strict=True):
            expect.equal("the new one", await home.call(service, "pong"), "pong")
            expect.equal("the old one", await home.status(service, "ping"), 404)
            result = await publisher.call(INTERFACE, "triggerOne", target=home.id, event="rang")
            expect.equal("its default script", result, "new")
        if not number:  # by settings, too
            await replace(target, publisher, **publishing({**now, "name": "other"}))


@check("IFC-LIFE-12", "a file with wrong parameters in a folder subscribes to nothing", needs={"settings"})
async def wrong_files(target: Target) -> None:
    key = solution_id(target)
    for first in ("publisher", "subscriber"):
        key += "x"
        published = {"default_script_key": key, "parameters": [{"name": "level", "type": "integer"}]}
        with folder({key: "level: high"}) as path:
            lights = await create_own(target, published) if first == "publisher" else None
            of_folder = partial(make, target, f"{key}home", path=path)
            home = OwnSolution(target, await target.in_lab(of_folder))
            lights = lights or await create_own(target, published)
            expect.equal(f"subscribers with the {first} first", await subscribers(lights), set())
            wrong = {"publisher": lights.id, "parameters": {"level": "high"}}
            try:
                await target.in_lab(partial(make, target, f"{key}other", subscriptions=[wrong]))
            except SettingsError as error:
                expect.true("the error names the parameter", "level" in str(error), str(error))
            else:
                raise Mismatch("a subscription that is wrong", "that it is refused", "it was taken")
            await home.subscribe(lights, parameters={"level": 1})
            expect.equal("subscribers", await subscribers(lights), {home.id})
