"""Subscribers as their publisher reads, lists and changes them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.check import check, model_check
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
)
from labkit.conformance.probe import Table, same
from labkit.conformance.target import Target

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")  # RFC 9562
DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")  # RFC 3339
SOLUTION = re.compile(r"[A-Za-z0-9]+")
MANY = 23  # subscribers: more than a page, less than two


async def home_of(target: Target, publisher: OwnSolution, **settings: Any) -> OwnSolution:
    """Create a subscriber of a publisher."""
    home = await create_own(target)
    await home.subscribe(publisher, **settings)
    return home


async def found(publisher: OwnSolution, home: OwnSolution) -> dict[str, Any]:
    """Return a subscriber as getSubscriber shows it."""
    return dict(await publisher.call(INTERFACE, "getSubscriber", subscriber_id=home.id))


@check("IFC-SUB-1", "each subscriber has a uuid of its own, which stays")
async def ids(target: Target) -> None:
    lights, meters = Partner(target, LIGHTS), Partner(target, METERS)
    listed = await lights.subscribers() + await meters.subscribers()
    for each in listed:
        expect.true("id is a uuid", UUID.fullmatch(str(each.get("id"))), each, meters.last)
    expect.equal("how many ids", len({each["id"] for each in listed}), len(listed), meters.last)
    again = await lights.subscribers() + await meters.subscribers()
    expect.equal("ids", [each.get("id") for each in again], [each["id"] for each in listed], meters.last)


@check("IFC-SUB-2", "quota is empty unless set, then it has whole numbers", needs={"settings"})
async def quota(target: Target) -> None:
    publisher = await create_own(target, {})
    home = await home_of(target, publisher)
    same("quota", (await found(publisher, home)).get("quota"), {})
    for given in ({"calls_daily": 5}, {"calls_daily": 7, "calls_monthly": 2**40}):
        await publisher.call(INTERFACE, "setSubscriber", subscriber_id=home.id, quota=given)
        same("quota", (await found(publisher, home)).get("quota"), given)
    other = await home_of(target, publisher, quota={"calls_monthly": 3})
    same("quota that it came with", (await found(publisher, other)).get("quota"), {"calls_monthly": 3})


@check("IFC-SUB-3", "triggers is empty unless set, and is returned unchanged")
async def triggers(target: Target) -> None:
    lights = Partner(target, LIGHTS)
    lights.same("of hall", (await lights.subscriber(HALL)).get("triggers"), {})
    wanted = {"quiet": "loud", "note": ["kept", "too"]}
    lights.same("of garden", (await lights.subscriber(GARDEN)).get("triggers"), wanted)


@check("IFC-SUB-4", "parameters has the values that were set, also of undeclared names")
async def parameters(target: Target) -> None:
    lights, meters = Partner(target, LIGHTS), Partner(target, METERS)
    of_hall = (await lights.subscriber(HALL)).get("parameters", {})
    wanted = {"room": "hall", "color": "red", "note": "kept too"}
    lights.same("of hall", {name: of_hall.get(name) for name in wanted}, wanted)
    of_garden = (await meters.subscriber(GARDEN)).get("parameters")
    expect.true("a table, without what was set elsewhere",
                isinstance(of_garden, dict) and "room" not in of_garden, of_garden, meters.last)  # fmt: skip


@check("IFC-SUB-5", "a change moves updated_at on and leaves created_at", needs={"settings", "clock"})
async def times(target: Target) -> None:
    publisher = await create_own(target, {})
    now = await target.in_lab(lambda: target.lab.clock.time)
    home = await home_of(target, publisher)
    first = await found(publisher, home)
    for name in ("created_at", "updated_at"):
        expect.true(f"{name} is a date-time", DATE_TIME.fullmatch(str(first.get(name))), first)
        expect.true(f"{name} is now, in milliseconds", abs(_seconds(first[name]) - now) < 0.002, first[name])
    await target.advance(100.5)
    await publisher.call(INTERFACE, "setSubscriber", subscriber_id=home.id, parameters={"a": 1})
    second = await found(publisher, home)
    expect.equal("created_at", second.get("created_at"), first["created_at"])
    moved = _seconds(second["updated_at"]) - _seconds(first["updated_at"])
    expect.true("updated_at moved on by 100.5 s, in milliseconds", abs(moved - 100.5) < 0.002, moved)
    await target.advance(50)
    expect.equal("after nothing", (await found(publisher, home)).get("updated_at"), second["updated_at"])


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text.upper()).timestamp()


@check("IFC-SUB-6", "solution_id is the subscriber")
async def solution_ids(target: Target) -> None:
    lights = Partner(target, LIGHTS)
    listed = await lights.subscribers()
    for each in listed:
        id = str(each.get("solution_id"))
        expect.true("letters and digits", SOLUTION.fullmatch(id), id, lights.last)
    lights.same("all", sorted(each["solution_id"] for each in listed), [GARDEN, HALL, KIOSK, METERS])


@check("IFC-SUB-7", "getSubscriber returns the requested subscriber, with all of its fields")
async def get(target: Target) -> None:
    lights = Partner(target, LIGHTS)
    listed = {each["solution_id"]: each for each in await lights.subscribers()}
    for name in (HALL, GARDEN, KIOSK):
        one = await lights.subscriber(name)
        lights.same(f"what getSubscriber gives of {name}", one, listed[name])
        fields = {"id", "quota", "triggers", "parameters", "created_at", "updated_at", "solution_id"}
        expect.true("all fields", fields <= set(one), sorted(one), lights.last)


@check("IFC-SUB-8", "listSubscribers returns items and total")
async def listed(target: Target) -> None:
    lights = Partner(target, LIGHTS)
    whole = await lights.table(INTERFACE, "listSubscribers", {})
    expect.equal("names", sorted(whole), ["items", "total"], lights.last)
    lights.same("total", whole["total"], len(whole["items"]))
    lights.same("who", sorted(each["solution_id"] for each in whole["items"]), [GARDEN, HALL, KIOSK, METERS])


@check("IFC-SUB-9", "listSubscribers filters by parameters")
async def filtered(target: Target) -> None:
    lights = Partner(target, LIGHTS)
    for given, wanted in (
        ({"room": "hall"}, [HALL]),
        ({"room": "garden"}, [GARDEN]),
        ({"note": "kept too"}, [HALL]),
        ({"room": "nowhere"}, []),
        ({"room": "hall", "note": "kept too"}, [HALL]),
        ({"room": "garden", "note": "kept too"}, []),
        ({}, [GARDEN, HALL, KIOSK, METERS]),
    ):
        whole = await lights.table(INTERFACE, "listSubscribers", {"parameters": given})
        lights.same(f"who has {given}", sorted(each["solution_id"] for each in whole["items"]), wanted)
        lights.same("total", whole["total"], len(wanted))


async def many(target: Target, count: int) -> tuple[OwnSolution, list[str]]:
    """Create a publisher with `count` subscribers; return their ids in the order of subscribing."""
    publisher = await create_own(target, {})
    homes = [
        await home_of(target, publisher, parameters={"n": n, "odd": n % 2 == 1, "deep": {"a": [n % 2 == 1]}})
        for n in range(count)
    ]
    return publisher, [each.id for each in homes]


async def page(publisher: OwnSolution, **parameters: Any) -> tuple[list[str], Any]:
    """Return the solution ids of a list of subscribers, and its total."""
    whole = await publisher.call(INTERFACE, "listSubscribers", **parameters)
    items = whole.get("items", []) if isinstance(whole, dict) else []
    return [each["solution_id"] for each in items], whole.get("total")


@check(
    "IFC-SUB-10",
    "a list has 20 subscribers by default, begins at offset, and has 1000 at most",
    needs={"settings"},
)
async def pages(target: Target) -> None:
    publisher, homes = await many(target, MANY)
    for given, wanted in (
        ({}, homes[:20]),
        ({"offset": 20}, homes[20:]),
        ({"limit": 1}, homes[:1]),
        ({"limit": 21}, homes[:21]),
        ({"offset": 5, "limit": 3}, homes[5:8]),
        ({"limit": 1000}, homes),
        ({"limit": 1000, "offset": MANY - 1}, homes[-1:]),
    ):
        ids, total = await page(publisher, **given)
        expect.equal(f"who comes with {given}", sorted(ids), sorted(wanted))
        expect.equal("total", total, MANY)
    for wrong in (
        {"limit": 0},
        {"limit": 1001},
        {"limit": -1},
        {"limit": 1.5},
        {"limit": "ten"},
        {"limit": True},
    ):
        expect.equal(f"status of {wrong}", await publisher.status(INTERFACE, "listSubscribers", **wrong), 400)


@check("IFC-SUB-13", "a list is in the order of subscribing; total counts all matches; beyond the end it is empty",
       needs={"settings"})  # fmt: skip
async def order(target: Target) -> None:
    publisher, homes = await many(target, MANY)
    for given, wanted, total in (
        ({}, homes[:20], MANY),
        ({"offset": 20}, homes[20:], MANY),
        ({"offset": MANY}, [], MANY),
        ({"offset": 10**12}, [], MANY),
        ({"offset": "9" * 20}, [], MANY),
        ({"offset": "0" * 30 + "20"}, homes[20:], MANY),
        ({"parameters": {"odd": True}}, homes[1::2], MANY // 2),
        ({"parameters": {"odd": True}, "offset": 2, "limit": 2}, homes[5:9:2], MANY // 2),
        ({"parameters": {"odd": True, "n": 3}}, [homes[3]], 1),
        ({"parameters": {"odd": True, "n": 4}}, [], 0),
        ({"parameters": {"n": "3"}}, [], 0),
        ({"parameters": {"n": 1.0}}, [homes[1]], 1),
        ({"parameters": {"n": True}}, [], 0),
        ({"parameters": {"odd": 1}}, [], 0),
        ({"parameters": {"deep": {"a": [True]}, "n": 5}}, [homes[5]], 1),
        ({"parameters": {"deep": {"a": [1]}}}, [], 0),
        ({"parameters": {"missing": True}}, [], 0),
    ):
        expect.equal(f"what comes with {given}", await page(publisher, **given), (wanted, total))
    for wrong in (-1, "9" * 21, f"-{'9' * 21}", "-1"):
        status = await publisher.status(INTERFACE, "listSubscribers", offset=wrong)
        expect.equal(f"status of an offset of {wrong}", status, 400)


@check("IFC-SUB-13", "a filter matches parameters that are the same JSON", needs={"settings"})
async def same_parameters(target: Target) -> None:
    publisher = await create_own(target, {})
    values: tuple[Any, ...] = (
        True,
        1,
        "1",
        None,
        0,
        False,
        "",
        [],
        [1, "a"],
        ["a", 1],
        {"a": [1]},
        {"a": [1], "b": 2},
    )
    for value in values:
        home = await home_of(target, publisher, parameters={"v": [value], "w": {"é": value}})
        for given in ({"v": [value]}, {"w": {"é": value}}, {"v": [value], "w": {"é": value}}):
            found_by = await page(publisher, parameters=given)
            expect.equal(f"who has {given}", found_by, ([home.id], 1))
    none: dict[str, Any]
    for none in (
        {"v": []},
        {"v": [[1]]},
        {"v": [1, 1]},
        {"v": {"0": 1}},
        {"w": {}},
        {"w": {"e": 1}},
        {"w": 1},
        {"v": [2]},
    ):
        expect.equal(f"who has {none}", await page(publisher, parameters=none), ([], 0))
    expect.equal("who has 1.0", len((await page(publisher, parameters={"v": [1.0]}))[0]), 1)


@check("IFC-SUB-11", "setSubscriber sets quota and parameters, and returns nil", needs={"settings"})
async def set_subscriber(target: Target) -> None:
    publisher = await create_own(target, {})
    home, other = await home_of(target, publisher), await home_of(target, publisher)
    before = await found(publisher, other)
    result = await publisher.call(
        INTERFACE,
        "setSubscriber",
        subscriber_id=home.id,
        quota={"calls_daily": 9},
        parameters={"é": ["x", 1]},
    )
    expect.equal("what setSubscriber gives", result, None)
    now = await found(publisher, home)
    same("quota", now.get("quota"), {"calls_daily": 9})
    same("parameters", now.get("parameters"), {"é": ["x", 1]})
    same("another subscriber", await found(publisher, other), before)


@check("IFC-SUB-12", "an id of another form is answered 400, an unknown one 404")
async def wrong_ids(target: Target) -> None:
    lights = Partner(target, LIGHTS)
    for operation in ("getSubscriber", "setSubscriber"):
        for id in ("Hall", "1hall", "ha-ll", "", "hall ", "h\u00e4ll", 5, "h" * 10_000):
            await lights.refused(INTERFACE, operation, {"subscriber_id": id, "parameters": {}}, 400)
        await lights.refused(INTERFACE, operation, {"parameters": {}}, 400)
        for nobody in ("nobody", LIGHTS, "h", "h" * 63):
            await lights.refused(INTERFACE, operation, {"subscriber_id": nobody, "parameters": {}}, 404)


@check(
    "IFC-SUB-14",
    "setSubscriber keeps fields that it does not name, and refuses wrong ones",
    needs={"settings"},
)
async def merged(target: Target) -> None:
    publisher = await create_own(target, {"parameters": [{"name": "level", "type": "integer", "maximum": 9}]})
    home = await home_of(target, publisher, parameters={"level": 1, "a": 1}, quota={"calls_daily": 5})

    async def set(**given: Any) -> Any:
        return await publisher.status(INTERFACE, "setSubscriber", subscriber_id=home.id, **given)

    expect.equal("status", await set(parameters={"level": 9, "b": {"c": 2}}), None)
    now = await found(publisher, home)
    same("parameters", now.get("parameters"), {"level": 9, "a": 1, "b": {"c": 2}})
    same("quota", now.get("quota"), {"calls_daily": 5})
    expect.equal("status", await set(quota={"calls_monthly": 6}), None)
    now = await found(publisher, home)
    same("parameters", now.get("parameters"), {"level": 9, "a": 1, "b": {"c": 2}})
    same("quota", now.get("quota"), {"calls_daily": 5, "calls_monthly": 6})
    for wrong in (
        {"parameters": {"level": 10}},
        {"parameters": {"level": "1"}},
        {"parameters": [1]},
        {"quota": {"calls_daily": -1}},
        {"quota": {"calls_daily": 1.5}},
        {"quota": {"calls_daily": True}},
        {"quota": 5},
    ):
        expect.equal(f"status of {wrong}", await set(**wrong), 400)
    same("nothing changed", await found(publisher, home), now)


@check("IFC-SUB-15", "another publisher's subscribers are not found, listed, counted or changed")
async def strangers(target: Target) -> None:
    lights, meters, hall = Partner(target, LIGHTS), Partner(target, METERS), Partner(target, HALL)
    for operation in ("getSubscriber", "setSubscriber"):
        theirs = {"subscriber_id": HALL, "parameters": {"room": "theirs"}}
        await meters.refused(INTERFACE, operation, theirs, 404)
    lights.same("room", (await lights.subscriber(HALL))["parameters"]["room"], "hall")
    whole = await meters.table(INTERFACE, "listSubscribers", {})
    meters.same("who", sorted(each["solution_id"] for each in whole["items"]), [GARDEN, KIOSK, LIGHTS])
    meters.same("total", whole["total"], 3)
    whole = await meters.table(INTERFACE, "listSubscribers", {"parameters": {"room": "garden"}})
    meters.same("who has another's room", whole, {"items": [], "total": 0})
    requests: dict[str, Table] = {"getSubscriber": {"subscriber_id": HALL}, "listSubscribers": {}}
    requests["setSubscriber"] = {"subscriber_id": HALL, "parameters": {"room": "theirs"}}
    for operation, given in requests.items():
        await hall.refused(INTERFACE, operation, given, 404)


@model_check(
    "IFC-LIFE-1 IFC-LIFE-3 IFC-LIFE-4 IFC-LIFE-8 IFC-LIFE-9 IFC-LIFE-11 IFC-CALL-4 IFC-CALL-6 IFC-CALL-9 IFC-CALL-11 "
    "IFC-CALL-13 IFC-QUO-2 IFC-QUO-3 IFC-QUO-5 IFC-SUB-7 IFC-SUB-8 IFC-SUB-9 IFC-SUB-10 IFC-SUB-11 IFC-SUB-12 "
    "IFC-SUB-14 IFC-SUB-15 IFC-TRIG-1 IFC-TRIG-2 IFC-TRIG-3 IFC-TRIG-7 IFC-TRIG-12 IFC-TRIG-14 IFC-TRIG-15",
    "subscriptions, quotas and events of two publishers in any order, as a model has them",
    needs={"settings", "clock", "journal"},
)
def model() -> type[Game]:
    """Return the game of subscriptions."""
    from labkit.conformance.interface.subscribers.subscriptions import Subscriptions

    return Subscriptions
