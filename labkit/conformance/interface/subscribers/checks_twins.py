"""Two publishers with the same operations, events and subscribers, and near misses of their names."""

from __future__ import annotations

from typing import Any

from labkit.conformance import expect, twins
from labkit.conformance.check import check
from labkit.conformance.interface.partners import (
    GARDEN,
    HALL,
    INTERFACE,
    LIGHTS,
    OwnSolution,
    Partner,
    create_own,
    solution_id,
)
from labkit.conformance.near_misses import EMPTY, SPACE, near_misses
from labkit.conformance.target import Target
from labkit.conformance.twins import MARKS, Twin, act

CONFIGURATION: dict[str, Any] = {
    "parameters": [{"name": "room"}, {"name": "color", "default": "white"}],
    "operations": [
        {
            "name": "tell",
            "parameters": {"title": "order", "type": "object", "properties": {"room": {"type": "string"}}},
        }
    ],
    "events": [{"name": "rang"}, {"name": "rangs"}],
}
TELL = """
Keystore.command{key = "c", command = "incr"}
return {mark = "%s", caller = context.caller_id, order = order}"""
HEARD = 'Keystore.command{key = "heard", command = "rpush", args = {"%s"}} return {key = "%s"}'


@check(
    "IFC-SUB-15 IFC-TRIG-17 IFC-CALL-2 IFC-CALL-7 IFC-QUO-7",
    "two publishers with the same subscribers do not affect each other",
    needs={"settings"},
)
async def namesakes(target: Target) -> None:
    publishers, homes = [], []
    for mark in MARKS:
        publisher = await create_own(target, CONFIGURATION, id=f"{solution_id(target)}{mark}")
        await publisher.on("interface", "tell", TELL % mark)
        publishers.append(publisher)
    for _ in range(2):
        home = await create_own(target)
        for mark, publisher in zip(MARKS, publishers, strict=True):
            given = {"room": f"room of {mark}", "kind": "any"}
            await home.subscribe(publisher, script_key=f"left{mark}", parameters=given)
            for event in ("rang", "rangs"):
                await home.on(f"left{mark}", event, HEARD % (f"{event} {mark}", f"left{mark}"))
        homes.append(home)
    await target.in_lab(_story, target, publishers, homes)


def _story(target: Target, publishers: list[OwnSolution], homes: list[OwnSolution]) -> None:
    first, second = (each.id for each in homes)
    one, other = (Twin(each.handle, mark) for each, mark in zip(publishers, MARKS, strict=True))
    views = {
        "subscribers": [
            act(f"{INTERFACE}.listSubscribers"),
            act(f"{INTERFACE}.listSubscribers", parameters={"room": "room of §"}),
            act(f"{INTERFACE}.listSubscribers", parameters={"room": "room of ¤"}),
            act(f"{INTERFACE}.getSubscriber", subscriber_id=first),
            act(f"{INTERFACE}.getSubscriber", subscriber_id=second),
            act("Keystore.get", key="c"),
        ]
    }
    for twin in (one, other):  # ids are random
        for id, name in ((first, "first"), (second, "second")):
            twin.play(act(f"{INTERFACE}.getSubscriber", keep=f"id={name}", subscriber_id=id))
    story = [
        act(f"{INTERFACE}.setSubscriber", subscriber_id=first, parameters={"room": "new of §"}),
        act(f"{INTERFACE}.setSubscriber", subscriber_id=first, quota={"calls_daily": 2}),
        act(f"{INTERFACE}.trigger", event="rang", mode="sync", data={"of": "§"}),
        act(f"{INTERFACE}.triggerOne", event="rangs", target=second, data={"of": "§"}),
        act(f"{INTERFACE}.triggerOne", crossed=True, event="rangs", target="<first>", data={"of": "§"}),
        act(f"{INTERFACE}.setSubscriber", subscriber_id=first, quota={"calls_daily": None}),
    ]
    twins.play((one, other), story[:2], views)
    for _ in range(3):
        for mark in MARKS:
            result = homes[0].handle.call(f"Left{mark}", "tell", {"of": mark})
            if "error" not in result:
                found = (result["mark"], result["caller"], result["order"]["room"], result["order"]["of"])
                expect.equal("who answers", found, (mark, first, f"new of {mark}", mark))
    counts = [each.handle.call("Keystore", "get", {"key": "c"}) for each in publishers]
    expect.equal("calls that were served, two of each", counts, [{"value": "2"}] * 2)
    for twin in (one, other):
        twin.seen = {name: twin.view(acts) for name, acts in views.items()}
    twins.play((one, other), story[2:], views)
    target.lab.settle()
    for home in homes:
        heard = home.handle.call(
            "Keystore", "command", {"key": "heard", "command": "lrange", "args": [0, -1]}
        )
        events = [f"{event} {mark}" for event in ("rang", "rangs") for mark in MARKS]
        expect.equal("what a subscriber heard", sorted(heard["value"]), sorted(events))


@check(
    "IFC-CALL-2 IFC-TRIG-12 IFC-SUB-7",
    "near misses of operations, events, targets and subscribers are refused",
)
async def near_names(target: Target) -> None:
    hall, lights = Partner(target, HALL), Partner(target, LIGHTS)
    id = (await lights.subscriber(HALL))["id"]
    for _, wrong in near_misses("echo", but=(*EMPTY, "a slash behind")):
        await hall.error("Lights", wrong, {})
    for _, wrong in near_misses("changed", but=EMPTY):
        await lights.error(INTERFACE, "trigger", {"event": wrong, "data": {}, "mode": "sync"})
        await lights.error(INTERFACE, "triggerOne", {"target": HALL, "event": wrong, "data": {}})
    for right in (HALL, id):
        for _, wrong in near_misses(right, but=EMPTY):
            await lights.error(INTERFACE, "triggerOne", {"target": wrong, "event": "changed", "data": {}})
    for _, wrong in near_misses(GARDEN, but=EMPTY):
        await lights.error(INTERFACE, "getSubscriber", {"subscriber_id": wrong})
        await lights.error(INTERFACE, "setSubscriber", {"subscriber_id": wrong, "parameters": {"room": "x"}})
    room = (await lights.subscriber(HALL))["parameters"]["room"]
    for _, wrong in near_misses(room, but=EMPTY):
        found = await lights.subscribers(parameters={"room": wrong})
        expect.true(
            "no subscriber has nearly the parameter",
            HALL not in [each["solution_id"] for each in found],
            found,
        )


@check("IFC-LIFE-4", "near misses of a whitelisted business are refused", needs={"settings"})
async def near_businesses(target: Target) -> None:
    business = "Acme-1"
    publisher = await create_own(target, {**CONFIGURATION, "whitelist": [business, "another"]})
    for _, wrong in near_misses(business, but=(*EMPTY, *SPACE)):
        home = await create_own(target, business=wrong)
        await home.refused(publisher, script_key="meter")
    home = await create_own(target, business=business)
    await home.subscribe(publisher, script_key="meter")
