"""Subscribing, changing subscriptions, and unsubscribing."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.interface.partners import (
    GARDEN,
    HALL,
    INTERFACE,
    KIOSK,
    LIGHTS,
    METERS,
    OwnSolution,
    Partner,
    create_own,
    refused,
    solution_id,
)
from labkit.conformance.probe import Probe, Table, same
from labkit.conformance.target import LAB_YAML, Target
from labkit.conformance.verdict import Mismatch
from labkit.core.errors import SettingsError

PUBLISHER = LAB_YAML.parent / "fixtures" / "solutions" / "publisher"
ADDED, UPDATED, REMOVED = "subscriberAdded", "subscriberUpdated", "subscriberRemoved"


async def registered(target: Target, publisher: OwnSolution, home: OwnSolution) -> list[tuple[str, Any]]:
    """Return the events of a subscriber that the publisher received, in order: event and subscription."""
    await target.settle()
    response = await target.in_lab(publisher.handle.get, f"/registered/{home.id}")
    return [(each["event"], each["subscription"]) for each in expect.status(response, 200).json()]


async def parameters_of(publisher: OwnSolution, home: OwnSolution) -> Any:
    """Return the parameters of a subscriber."""
    found = await publisher.call(INTERFACE, "getSubscriber", subscriber_id=home.id)
    return found.get("parameters")


@check(
    "IFC-LIFE-1", "the publisher receives an event for each subscriber, with id, parameters and solution_id"
)
async def added_at_the_start(target: Target) -> None:
    for publisher, names in ((LIGHTS, (HALL, GARDEN, KIOSK)), (METERS, (GARDEN, KIOSK))):
        partner = Partner(target, publisher)
        for name in names:
            heard = await partner.ask("GET", f"/registered/{name}")
            subscriber = await partner.subscriber(name)
            expect.true("it heard", heard and heard[0]["event"] == ADDED, heard, partner.last)
            subscription = heard[0]["subscription"]
            for field in ("id", "solution_id"):
                partner.same(field, subscription.get(field), subscriber[field])
            given = subscription.get("parameters")
            expect.true("parameters is a table", isinstance(given, dict), given, partner.last)
        heard = await partner.ask("GET", "/registered/nobody")
        partner.same("of nobody", heard, [])


@check(
    "IFC-LIFE-1 IFC-LIFE-2 IFC-LIFE-3",
    "the publisher receives one event for each change, in order",
    needs={"settings"},
)
async def heard(target: Target) -> None:
    publisher, home, other = (
        await create_own(target, path=PUBLISHER),
        await create_own(target),
        await create_own(target),
    )
    subscription = await home.subscribe(publisher, script_key="panel", parameters={"room": "a"})
    await other.subscribe(publisher, script_key="panel")
    await target.in_lab(subscription.update, parameters={"room": "b", "é": 1})
    id = (await publisher.call(INTERFACE, "getSubscriber", subscriber_id=home.id))["id"]
    await target.in_lab(subscription.remove)
    events = await registered(target, publisher, home)
    expect.equal("events", [event for event, _ in events], [ADDED, UPDATED, REMOVED])
    for event, argument in events:
        expect.equal(f"id of {event}", (argument.get("id"), argument.get("solution_id")), (id, home.id))
    defaults = {"color": "white", "zone": "indoors"}
    wanted = [{**defaults, "room": "a"}, *[{**defaults, "room": "b", "é": 1}] * 2]
    same("parameters", [argument.get("parameters") for _, argument in events], wanted)
    expect.equal("of the other", [event for event, _ in await registered(target, publisher, other)], [ADDED])


@check("IFC-LIFE-3", "setSubscriber and Config.setParameters are updates too", needs={"settings"})
async def updated(target: Target) -> None:
    publisher, home = await create_own(target, path=PUBLISHER), await create_own(target)
    await home.subscribe(publisher, script_key="panel")
    await publisher.call(INTERFACE, "setSubscriber", subscriber_id=home.id, parameters={"room": "by it"})
    await home.call("Config", "setParameters", service="panel", parameters={"room": "by me"})
    events = await registered(target, publisher, home)
    found = [(event, argument["parameters"].get("room")) for event, argument in events]
    expect.equal("events", found, [(ADDED, None), (UPDATED, "by it"), (UPDATED, "by me")])


@check("IFC-LIFE-14", "an update leaves the fields that it does not name", needs={"settings"})
async def merged(target: Target) -> None:
    publisher, home = await create_own(target, path=PUBLISHER), await create_own(target)
    given: Table = {
        "parameters": {"room": "a", "n": [1]},
        "quota": {"calls_daily": 5},
        "triggers": {"note": "kept", "quiet": "loud"},
    }
    subscription = await home.subscribe(publisher, script_key="panel", **given)
    for name, change in (
        ("parameters", {"room": "b", "m": {}}),
        ("quota", {"calls_monthly": 50}),
        ("triggers", {"quiet": "low", "more": 1}),
    ):
        await target.in_lab(partial(subscription.update, **{name: change}))
        given[name] = given[name] | change
        found = await publisher.call(INTERFACE, "getSubscriber", subscriber_id=home.id)
        defaults = {"color": "white", "zone": "indoors"}
        wanted = given | {"parameters": defaults | given["parameters"]}
        same(f"after an update of {name}", {each: found.get(each) for each in given}, wanted)


@check("IFC-LIFE-14", "an update that changes nothing raises no event", needs={"settings", "clock"})
async def unchanged(target: Target) -> None:
    publisher, home = await create_own(target, path=PUBLISHER), await create_own(target)
    given: Table = {"parameters": {"room": "a"}, "quota": {"calls_daily": 5}, "triggers": {"quiet": "loud"}}
    subscription = await home.subscribe(publisher, script_key="panel", **given)
    before = await publisher.call(INTERFACE, "getSubscriber", subscriber_id=home.id)
    await target.advance(10)
    for each in ({}, given, *({name: value} for name, value in given.items())):
        await target.in_lab(partial(subscription.update, **each))
        set = {name: value for name, value in each.items() if name != "triggers"}
        await publisher.call(INTERFACE, "setSubscriber", subscriber_id=home.id, **set)
    await home.call("Config", "setParameters", service="panel", parameters=given["parameters"])
    same("the subscriber", await publisher.call(INTERFACE, "getSubscriber", subscriber_id=home.id), before)
    expect.equal("events", [event for event, _ in await registered(target, publisher, home)], [ADDED])


@check("IFC-LIFE-4", "only businesses of the whitelist can subscribe", needs={"settings"})
async def whitelist(target: Target) -> None:
    publisher = await create_own(target, {"whitelist": ["one", "two"], "operations": [{"name": "ping"}]})
    await publisher.on("interface", "ping", 'return "pong"')
    for business in ("one", "two"):
        home = await create_own(target, business=business)
        await home.subscribe(publisher, script_key="bell")
        expect.equal(f"what {business} gets", await home.call("Bell", "ping"), "pong")
    for business in ("three", "One", "on", "one two", "labkit"):
        home = await create_own(target, business=business)
        await home.refused(publisher, script_key="bell")
        expect.equal(f"total after {business}",
                     (await publisher.call(INTERFACE, "listSubscribers"))["total"], 2)  # fmt: skip


@check(
    "IFC-LIFE-15",
    "a narrowed whitelist suspends subscriptions, and a widened one restores them unchanged",
    needs={"settings"},
)
async def narrowed(target: Target) -> None:
    offered: dict[str, Any] = {
        "operations": [{"name": "ping"}],
        "events": [{"name": "rang", "default_script": "return 2"}],
    }
    publisher = await create_own(target, {"whitelist": ["one", "two"], **offered})
    await publisher.on("interface", "ping", 'return "pong"')
    homes = [await create_own(target, business=business) for business in ("one", "two")]
    for home in homes:
        await home.subscribe(publisher, script_key="bell", parameters={"n": 1}, quota={"calls_daily": 9})
    before = await publisher.call(INTERFACE, "getSubscriber", subscriber_id=homes[1].id)
    for whitelist, allowed in (
        (["one"], homes[:1]),
        (["one", "two"], homes),
        (["one", "Two"], homes[:1]),
        ([], homes),
    ):
        await target.in_lab(partial(publisher.handle.publish, whitelist=whitelist, **offered))
        for home in homes:
            status = None if home in allowed else 404
            expect.equal(f"status of ping with {whitelist}", await home.status("Bell", "ping"), status)
            found = await publisher.status(INTERFACE, "getSubscriber", subscriber_id=home.id)
            expect.equal(f"status of getSubscriber with {whitelist}", found, status)
            found = await publisher.status(INTERFACE, "triggerOne", target=home.id, event="rang")
            expect.equal(f"status of triggerOne with {whitelist}", found, status)
        ids = sorted(home.id for home in allowed)
        for operation, given in (("listSubscribers", {}), ("trigger", {"event": "rang", "mode": "sync"})):
            found = await publisher.call(INTERFACE, operation, **given)
            items = found["items"] if isinstance(found, dict) else found
            names = sorted(each["solution_id"] for each in items)
            expect.equal(f"subscribers of {operation} with {whitelist}", names, ids)
    same("the one that was suspended", await publisher.call(INTERFACE, "getSubscriber", subscriber_id=homes[1].id),
         before)  # fmt: skip


@check("IFC-LIFE-5", "a service is called by the key that a subscriber chose, with a capital letter")
async def by_key(target: Target) -> None:
    for name, service in ((HALL, "Lights"), (KIOSK, "Lamps"), (KIOSK, "Meters"), (LIGHTS, "Partner")):
        partner = Partner(target, name)
        partner.same(f"{service}.mirror", await partner.value(service, "mirror", {"a": 1}), {"a": 1})


@check("IFC-LIFE-5", "without a chosen key a service is called by the publisher's key", needs={"settings"})
async def by_default_key(target: Target) -> None:
    for configuration, service in (
        ({"default_script_key": "bell2"}, "Bell2"),
        ({"name": "door bells, all"}, "Doorbellsall"),
        ({"default_script_key": "bELL", "name": "other"}, "BELL"),
    ):
        publisher, home = (
            await create_own(target, {**configuration, "operations": [{"name": "ping"}]}),
            await create_own(target),
        )
        await publisher.on("interface", "ping", 'return "pong"')
        await home.subscribe(publisher)
        expect.equal(f"{service}.ping", await home.call(service, "ping"), "pong")


@check("IFC-LIFE-6", "without a whitelist every business can subscribe")
async def open_to_all(target: Target) -> None:
    lights = Partner(target, LIGHTS)
    who = {each["solution_id"] for each in await lights.subscribers()}
    expect.true("two businesses are in it", {HALL, KIOSK} <= who, who, lights.last)


@check("IFC-LIFE-7", "parameters that a handler returns are written back", needs={"settings"})
async def written_back(target: Target) -> None:
    publisher, home = await create_own(target, path=PUBLISHER), await create_own(target)
    subscription = await home.subscribe(publisher, script_key="panel", parameters={"room": "greet me"})
    await target.settle()
    wanted: Table = {"room": "greet me", "greeting": ADDED}
    found = await parameters_of(publisher, home)
    same("once it was added", {name: found.get(name) for name in wanted}, wanted)
    await target.in_lab(subscription.update, parameters={"n": 1})
    await target.settle()
    wanted = {"room": "greet me", "greeting": UPDATED, "n": 1}
    found = await parameters_of(publisher, home)
    same("once it was updated", {name: found.get(name) for name in wanted}, wanted)
    events = [event for event, _ in await registered(target, publisher, home)]
    expect.equal("what is written back raises no event", events, [ADDED, UPDATED])


@check("IFC-LIFE-8", "Config sets and returns the parameters of the service", needs={"settings"})
async def by_config(target: Target) -> None:
    publisher, home = await create_own(target, path=PUBLISHER), await create_own(target)
    await home.subscribe(publisher, script_key="panel", parameters={"room": "a", "n": 1})
    for service, given in (("panel", {"room": "b"}), ("Panel", {"m": [1]})):
        await home.call("Config", "setParameters", service=service, parameters=given)
    wanted = {"room": "b", "n": 1, "m": [1]}
    found = await parameters_of(publisher, home)
    same("at the publisher", {name: found.get(name) for name in wanted}, wanted)
    found = (await home.call("Config", "getParameters", service="panel")).get("parameters", {})
    same("at the subscriber", {name: found.get(name) for name in wanted}, wanted)
    wrong = {"steps": ["no number"]}
    status = await home.status("Config", "setParameters", service="panel", parameters=wrong)
    expect.equal("status of what does not match", status, 400)


@check("IFC-LIFE-9", "a key that the subscriber already uses is refused", needs={"settings"})
async def taken(target: Target) -> None:
    one, two, home = await create_own(target, {}), await create_own(target, {}), await create_own(target)
    for key in ("keystore", "user", "Interface", "email", "device"):
        await home.refused(one, script_key=key)
    made = await home.subscribe(one, script_key="bEll")
    for key in ("bEll", "bell", "Bell"):
        await home.refused(two, script_key=key)
    for key in ("b", "1bell", "be-ll", "b" * 64, ""):
        await home.refused(two, script_key=key)
    await home.subscribe(two, script_key="bells")
    await target.in_lab(made.remove)
    await home.subscribe(one, script_key="bell")


@check("IFC-LIFE-9", "settings with one key twice are refused", needs={"settings"})
async def taken_twice(target: Target) -> None:
    one, two = await create_own(target, {}), await create_own(target, {})
    for keys in (("bell", "bell"), ("bEll", "BELL")):
        named = [
            {"publisher": each.id, "script_key": key} for each, key in zip((one, two), keys, strict=True)
        ]
        try:
            made = await create_own(target, subscriptions=named)
        except SettingsError as error:
            text = str(error)
        else:
            raise Mismatch("settings", f"that the keys {keys} are refused", made.id)
        expect.true("it names the second", "subscriptions[1]" in text and "script_key" in text, text)
    for each in (one, two):
        total = (await each.call(INTERFACE, "listSubscribers"))["total"]
        expect.equal("subscribers", total, 0)


@check("IFC-LIFE-10", "after a subscription's end neither calls nor events get through", needs={"settings"})
async def removed(target: Target) -> None:
    publisher, home = (
        await create_own(target, {"operations": [{"name": "ping"}], "events": [{"name": "rang"}]}),
        await create_own(target),
    )
    await publisher.on("interface", "ping", 'return "pong"')
    await home.on("bell", "rang", 'return "heard"')
    subscription = await home.subscribe(publisher, script_key="bell")
    expect.equal("before", await home.call("Bell", "ping"), "pong")
    listed = await home.call("Config", "listServices", type="application")
    expect.equal("services that it lists", [each["script_key"] for each in listed], ["bell"])
    await target.in_lab(subscription.remove)
    expect.equal("a call", await home.status("Bell", "ping"), 404)
    expect.equal("services that it lists", await home.call("Config", "listServices", type="application"), [])
    expect.equal("its parameters", await home.status("Config", "getParameters", service="bell"), 404)
    other = await create_own(target, {"operations": [{"name": "pong"}]})
    await other.on("interface", "pong", 'return "ping"')
    others = await home.subscribe(other, script_key="bell")
    calls = [await home.call("Bell", "pong"), await home.status("Bell", "ping")]
    expect.equal("of another by this key", calls, ["ping", 404])
    await target.in_lab(others.remove)
    expect.equal("an event to all", await publisher.call(INTERFACE, "trigger", event="rang", mode="sync"), [])
    expect.equal(
        "an event to it", await publisher.status(INTERFACE, "triggerOne", target=home.id, event="rang"), 404
    )
    again = await home.subscribe(publisher, script_key="bell")
    expect.equal("once more", await home.call("Bell", "ping"), "pong")
    await target.in_lab(again.remove)


@check("IFC-LIFE-11", "wrong parameters are refused, defaults are filled in", needs={"settings"})
async def parameters(target: Target) -> None:
    publisher = await create_own(target, path=PUBLISHER)
    for wrong, named in (
        ({"room": 5}, "room"),
        ({"steps": "none"}, "steps"),
        ({"steps": [1, "two"]}, "steps[1]"),
        ({"color": None}, "color"),
    ):
        text = await (await create_own(target)).refused(publisher, script_key="panel", parameters=wrong)
        expect.true(f"it names {named}", named in text, text)
    expect.equal("total", (await publisher.call(INTERFACE, "listSubscribers"))["total"], 0)
    home = await create_own(target)
    await home.subscribe(publisher, script_key="panel", parameters={"other": True})
    events = await registered(target, publisher, home)
    same("parameters", events[0][1]["parameters"], {"other": True, "color": "white", "zone": "indoors"})


@check("IFC-LIFE-11", "the subscribers of lab.yaml have their parameters or the defaults")
async def defaults_of_the_fixed(target: Target) -> None:
    lights = Probe(target, LIGHTS)
    for name, color in ((HALL, "red"), (GARDEN, "white")):
        events = await lights.ask("GET", f"/registered/{name}")
        lights.same(f"color of {name}", events[0]["subscription"]["parameters"].get("color"), color)


@check("IFC-LIFE-12", "folders publish and subscribe, in either order", needs={"settings"})
async def by_folder(target: Target) -> None:
    key = solution_id(target)
    with tempfile.TemporaryDirectory() as folder:
        for first in ("publisher", "subscriber"):
            key += "x"
            home, files = Path(folder, first, "home"), ("interface.yaml", "interface/interface.yaml")
            lights = Path(folder, first, "lights")
            _write(home / "services" / f"{key}.yaml", "room: attic\n")
            published = f"default_script_key: {key}\noperations: [{{name: ping, script: 'return 1'}}]\n"
            _write(lights / "services" / files[first == "subscriber"], published)
            made: dict[str, OwnSolution] = {}
            for path in (lights, home) if first == "publisher" else (home, lights):
                made[path.name] = await create_own(target, path=path)
            found = await made["home"].call(key[0].upper() + key[1:], "ping")
            expect.equal(f"what comes with the {first} first", found, 1)
            same("parameters", await parameters_of(made["lights"], made["home"]), {"room": "attic"})


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text)


@check("IFC-LIFE-13", "ids of another form, and a second subscription, are refused", needs={"settings"})
async def ids(target: Target) -> None:
    publisher, home = await create_own(target, {}), await create_own(target)
    for id in (f"with-{solution_id(target)}", f"1{solution_id(target)}"):
        stranger = OwnSolution(target, await target.in_lab(target.lab.solution, id))
        await stranger.refused(publisher, script_key="bell")
        text = await refused(target, {}, id=f"{id}2")
        expect.true("the error names the id", f"{id}2" in text, text)
    await publisher.refused(publisher, script_key="bell")
    await home.subscribe(publisher, script_key="bell")
    await home.refused(publisher, script_key="other")
    total = (await publisher.call(INTERFACE, "listSubscribers"))["total"]
    expect.equal("total", total, 1)
