"""Events that a publisher sends to all of its subscribers, or to one."""

from __future__ import annotations

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
    Partner,
    create_own,
    seen,
)
from labkit.conformance.target import Target

KEYS = {HALL: "lights", GARDEN: "lights", KIOSK: "lamps"}  # each subscriber's key for lights
ANY = ({"a": [1, {"b": "é"}]}, "text", 5, 2.5, True, False, [1, "two"])


@check("IFC-TRIG-1", "trigger reaches every subscriber of the publisher with its data")
async def to_all(target: Target) -> None:
    lights, tag = Partner(target, LIGHTS), target.identity()
    data = {"tag": tag, "text": 'é "quoted"', "list": [1, 2]}
    await lights.entries("plain", data, mode="sync")
    for name, key in KEYS.items():
        found = await seen(target, name, tag, 1)
        lights.same(f"what {name} got", found, [{"handler": f"{key} plain", "data": data, "solution": name}])


@check("IFC-TRIG-1", "data of any type arrives unchanged")
async def of_any_type(target: Target) -> None:
    lights = Partner(target, LIGHTS)
    for data in ANY:
        entry = (await lights.entries("plain", data, mode="sync")).get(HALL, {})
        lights.same(f"what came of {data!r}", entry.get("result", {}).get("data"), data)


@check("IFC-TRIG-2", "in mode sync the list has the result of each subscriber's handler")
async def in_sync(target: Target) -> None:
    lights, tag = Partner(target, LIGHTS), target.identity()
    ids = {each.get("solution_id"): each.get("id") for each in await lights.subscribers()}
    entries = await lights.entries("plain", {"tag": tag}, mode="sync")
    expect.equal("who is in it", set(entries), set(ids), lights.last)
    for name, key in KEYS.items():
        result = {"handler": f"{key} plain", "data": {"tag": tag}, "solution": name}
        lights.same(f"result of {name}", entries[name].get("result"), result)
        lights.same(f"instance_id of {name}", entries[name].get("instance_id"), ids[name])
        status = entries[name].get("status")
        expect.true("status is a number", isinstance(status, int), status, lights.last)


@check("IFC-TRIG-3", "in mode async the list names each subscriber, and their handlers run")
async def in_async(target: Target) -> None:
    lights, tag = Partner(target, LIGHTS), target.identity()
    ids = {each.get("solution_id"): each.get("id") for each in await lights.subscribers()}
    entries = await lights.entries("plain", {"tag": tag}, mode="async")
    expect.equal("who is in it", set(entries), set(ids), lights.last)
    for name, entry in entries.items():
        lights.same("entry", entry, {"instance_id": ids[name], "solution_id": name})
    for name, key in KEYS.items():
        found = await seen(target, name, tag, 1)
        lights.same(f"what {name} got", [each["handler"] for each in found], [f"{key} plain"])


@check("IFC-TRIG-4", "trigger is async and triggerOne sync by default")
async def without_mode(target: Target) -> None:
    lights, tag = Partner(target, LIGHTS), target.identity()
    entries = await lights.entries("plain", {"tag": tag})
    expect.true("no status, no result", not any({*each} & {"status", "result"} for each in entries.values()),
                entries, lights.last)  # fmt: skip
    await seen(target, HALL, tag, 1)
    result = await lights.one(HALL, "plain", {"tag": tag})
    lights.same("what triggerOne gives", result.get("handler") if isinstance(result, dict) else result,
                "lights plain")  # fmt: skip


@check(
    "IFC-TRIG-5", "the configuration's mode is the default of both; the call's own counts", needs={"settings"}
)
async def configured_mode(target: Target) -> None:
    for mode in ("sync", "async"):
        publisher = await create_own(target, {"mode": mode, "events": [{"name": "rang"}]})
        home = await create_own(target)
        await home.subscribe(publisher, script_key="bell")
        await home.on("bell", "rang", 'return "heard"')
        heard = {"sync": "heard", "async": None}
        for call, given in ((mode, {}), ("sync", {"mode": "sync"}), ("async", {"mode": "async"})):
            entries = await publisher.call(INTERFACE, "trigger", event="rang", data=1, **given)
            result = [each.get("result") for each in entries] if isinstance(entries, list) else entries
            expect.equal(f"trigger {call} of {mode}", result, [heard[call]])
            result = await publisher.call(
                INTERFACE, "triggerOne", target=home.id, event="rang", data=1, **given
            )
            expect.equal(f"triggerOne {call} of {mode}", result, heard[call])


@check("IFC-TRIG-6", "triggerOne reaches the one subscriber, by its solution's id and by its subscription's")
async def to_one(target: Target) -> None:
    lights = Partner(target, LIGHTS)
    for by in ("solution_id", "id"):
        for name, key in KEYS.items():
            tag = target.identity()
            subscriber = await lights.subscriber(name)
            await lights.one(subscriber[by], "plain", {"tag": tag})
            for other in KEYS:
                found = await seen(target, other, tag, 0)
                wanted = [f"{key} plain"] if other == name else []
                lights.same(f"what {other} got", [each["handler"] for each in found], wanted)


@check("IFC-TRIG-7", "triggerOne returns the handler's result, or nil at once")
async def result_of_one(target: Target) -> None:
    lights = Partner(target, LIGHTS)
    for data in ANY:
        result = await lights.one(GARDEN, "plain", data, mode="sync")
        wanted = {"handler": "lights plain", "data": data, "solution": GARDEN}
        lights.same("what triggerOne gives", result, wanted)
    tag = target.identity()
    parameters = {"target": GARDEN, "event": "plain", "data": {"tag": tag}, "mode": "async"}
    await lights.nothing(INTERFACE, "triggerOne", parameters)
    await seen(target, GARDEN, tag, 1)


@check("IFC-TRIG-8", "the payload is named by the title of the schema, or event")
async def payload_name(target: Target) -> None:
    lights, tag = Partner(target, LIGHTS), target.identity()
    for name, key in KEYS.items():
        titled = await lights.one(name, "changed", {"level": 7, "tag": tag})
        lights.same("by its title", titled, {"handler": f"{key} changed", "data": {"level": 7, "tag": tag},
                                             "solution": name})  # fmt: skip
        plain = await lights.one(name, "plain", {"tag": tag})
        lights.same("as event", plain, {"handler": f"{key} plain", "data": {"tag": tag}, "solution": name})


@check("IFC-TRIG-9", "the default script serves subscribers without a handler, in their own solution")
async def default_script(target: Target) -> None:
    lights = Partner(target, LIGHTS)
    for name in KEYS:
        result = await lights.one(name, "scripted", {"a": 1})
        wanted = {"by": "the default script", "got": {"a": 1}, "solution": name}
        lights.same(f"what the script gives in {name}", result, wanted)


@check("IFC-TRIG-9", "a handler of the subscriber's own comes before the default script", needs={"settings"})
async def own_handler_first(target: Target) -> None:
    publisher = await create_own(target, {"events": [{"name": "rang", "default_script": 'return "default"'}]})
    home = await create_own(target)
    await home.subscribe(publisher, script_key="bell")
    parameters: dict[str, Any] = {"target": home.id, "event": "rang"}
    expect.equal("before", await publisher.call(INTERFACE, "triggerOne", **parameters), "default")
    await home.on("bell", "rang", 'return "own"')
    expect.equal("after", await publisher.call(INTERFACE, "triggerOne", **parameters), "own")
    other = await create_own(target)
    await other.on("bell", "rang", 'return "before"')
    await other.subscribe(publisher, script_key="bell")
    parameters["target"] = other.id
    expect.equal("from before", await publisher.call(INTERFACE, "triggerOne", **parameters), "before")


@check("IFC-TRIG-10", "triggers route an event to another script of the subscriber")
async def led_elsewhere(target: Target) -> None:
    lights, tag = Partner(target, LIGHTS), target.identity()
    await lights.entries("quiet", {"tag": tag}, mode="sync")
    for name, handler in ((HALL, "lights quiet"), (GARDEN, "lights loud"), (KIOSK, "meters loud")):
        found = await seen(target, name, tag, 1)
        lights.same(f"what {name} ran", [each["handler"] for each in found], [handler])


@check("IFC-TRIG-11", "trigger fails in a solution that publishes nothing", needs=())
async def no_service(target: Target) -> None:
    hall = Partner(target, HALL)
    found = await hall.error(INTERFACE, "trigger", {"event": "plain", "data": {}})
    expect.true("the error", "service not found" in str(found["error"]).lower(), found, hall.last)


@check("IFC-TRIG-12", "triggerOne fails for a target that is no subscriber")
async def no_target(target: Target) -> None:
    lights = Partner(target, LIGHTS)
    for nobody in ("nobody", "00000000-0000-0000-0000-000000000000", LIGHTS):
        parameters = {"target": nobody, "event": "plain", "data": {}}
        found = await lights.error(INTERFACE, "triggerOne", parameters)
        expect.true(
            "the error", "target subscriber not found" in str(found["error"]).lower(), found, lights.last
        )


@check("IFC-TRIG-13", "unknown properties of a call do not prevent an event")
async def other_properties(target: Target) -> None:
    lights, tag = Partner(target, LIGHTS), target.identity()
    others = {"priority": "high", "é": [1], "source": {"a": 1}}
    entries = await lights.entries("plain", {"tag": tag}, mode="sync", **others)
    lights.same("what trigger brings", entries[HALL].get("result", {}).get("data"), {"tag": tag})
    result = await lights.one(HALL, "plain", {"tag": tag}, **others)
    lights.same("what triggerOne brings", result.get("data"), {"tag": tag})


@check("IFC-TRIG-14", "the statuses of invalid modes, events and targets")
async def refused(target: Target) -> None:
    lights, hall = Partner(target, LIGHTS), Partner(target, HALL)
    for operation, given in (("trigger", {}), ("triggerOne", {"target": HALL})):
        for mode in ("both", "SYNC", "", 1):
            text = await lights.refused(INTERFACE, operation, {"event": "plain", "mode": mode, **given}, 400)
            if isinstance(mode, str):
                expect.true("the error", "expected one of: sync, async." in text, text, lights.last)
        for event in ("unheardOf", "Plain", "a b", "", "light", "subscriberAdded"):
            await lights.refused(INTERFACE, operation, {"event": event, **given}, 400)
        await lights.refused(INTERFACE, operation, given, 400)
        await hall.refused(INTERFACE, operation, {"event": "plain", **given}, 404)
    await lights.refused(INTERFACE, "triggerOne", {"target": "nobody", "event": "plain"}, 404)
    await lights.refused(INTERFACE, "triggerOne", {"event": "plain"}, 400)


@check("IFC-TRIG-15", "a missing or failing handler of one subscriber does not affect the others")
async def some_fail(target: Target) -> None:
    lights, tag = Partner(target, LIGHTS), target.identity()
    entries = await lights.entries("plain", {"tag": tag}, mode="sync")
    statuses = {name: each.get("status") for name, each in entries.items()}
    lights.same("statuses", statuses, {HALL: 200, GARDEN: 200, KIOSK: 200, METERS: 404})
    expect.true("no result", "result" not in entries[METERS], entries[METERS], lights.last)
    entries = await lights.entries("failing", {"tag": tag}, mode="sync")
    statuses = {name: each.get("status") for name, each in entries.items()}
    lights.same("statuses", statuses, {HALL: 500, GARDEN: 500, KIOSK: 500, METERS: 404})
    for name in KEYS:
        found = await seen(target, name, tag, 2)
        expect.true(f"{name} ran both", len(found) == 2, found)
    entries = await lights.entries("silent", {"tag": tag}, mode="sync")
    statuses = {name: each.get("status") for name, each in entries.items()}
    lights.same("statuses without a result", statuses, {HALL: 204, GARDEN: 204, KIOSK: 204, METERS: 404})
    entries = await lights.entries("unheard", {}, mode="sync")
    lights.same("statuses", {each.get("status") for each in entries.values()} == {404}, True)
    await lights.refused(INTERFACE, "triggerOne", {"target": HALL, "event": "unheard"}, 404)
    await lights.refused(INTERFACE, "triggerOne", {"target": HALL, "event": "failing"}, 500)


@check("IFC-TRIG-16", "data is validated, and filled in, before any handler gets it")
async def validated(target: Target) -> None:
    lights, tag = Partner(target, LIGHTS), target.identity()
    for wrong in ({"level": 101}, {"level": "7"}, {"level": 7.5}):
        for mode in ("sync", "async"):
            given = {"event": "changed", "mode": mode, "data": {"tag": tag, **wrong}}
            text = await lights.refused(INTERFACE, "trigger", given, 400)
            expect.true("the error names level", "level" in text, text, lights.last)
            await lights.refused(INTERFACE, "triggerOne", {"target": HALL, **given}, 400)
    for data in ("text", 5, [1]):
        await lights.refused(INTERFACE, "trigger", {"event": "changed", "data": data}, 400)
    for name in KEYS:
        expect.equal(f"what {name} got", await seen(target, name, tag, 0), [])
    result = await lights.one(HALL, "changed", {"tag": tag})
    lights.same("the data, filled in", result.get("data"), {"tag": tag, "level": 5})


@check("IFC-TRIG-17", "subscribers of another publisher receive nothing, whatever the target's id")
async def strangers(target: Target) -> None:
    lights, meters, tag = Partner(target, LIGHTS), Partner(target, METERS), target.identity()
    entries = await meters.entries("plain", {"tag": tag}, mode="sync")
    expect.equal("who is in it", set(entries), {GARDEN, KIOSK, LIGHTS}, meters.last)
    expect.equal("what hall got", await seen(target, HALL, tag, 0), [])
    for name in (GARDEN, KIOSK):
        found = await seen(target, name, tag, 1)
        meters.same(f"what {name} ran", [each["handler"] for each in found], ["meters plain"])
    for stranger in (await lights.subscriber(HALL), await lights.subscriber(GARDEN)):
        given = {"target": stranger["id"], "event": "plain", "data": {"tag": tag}}
        await meters.refused(INTERFACE, "triggerOne", given, 404)
    await meters.refused(INTERFACE, "triggerOne", {"target": HALL, "event": "plain"}, 404)


@check("IFC-TRIG-18", "triggers name another event, or service and event", needs={"settings"})
async def forms_of_triggers(target: Target) -> None:
    publisher = await create_own(target, {"events": [{"name": "rang"}, {"name": "knocked"}]})
    triggers = {
        "rang": "loud",
        "knocked": {"service": "other", "event": "quiet"},
        "else": [1, {"a": 2}],
        "n": 5,
    }
    home = await create_own(target)
    await home.subscribe(publisher, script_key="bell", triggers=triggers)
    for service, event in (("bell", "loud"), ("other", "quiet"), ("bell", "rang"), ("bell", "knocked")):
        await home.on(service, event, f'return "{service} {event}"')
    for event, handler in (("rang", "bell loud"), ("knocked", "other quiet")):
        result = await publisher.call(INTERFACE, "triggerOne", target=home.id, event=event)
        expect.equal(f"what {event} ran", result, handler)
    found = await publisher.call(INTERFACE, "getSubscriber", subscriber_id=home.id)
    expect.equal("triggers as they were given", found.get("triggers"), triggers)
