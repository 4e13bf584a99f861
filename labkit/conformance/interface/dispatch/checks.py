"""Calls of operations from one solution to another."""

from __future__ import annotations

from collections.abc import Callable

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
    accepted,
    create_own,
    solution_id,
)
from labkit.conformance.probe import Probe, Table, same
from labkit.conformance.target import Target

DEEPEST = 10  # calls within calls
MANY = (
    197  # locals: with the two names of an operation's argument Lua accepts them, with one more it does not
)


def _raises(order: object) -> None:
    raise ValueError("as it was asked to")


FAILING: dict[str, str | Callable[..., object]] = {
    "raises": "error('as it was asked to')",
    "indexes": "return nothing.at.all",
    "names": "\n".join(f"local a{each} = 1" for each in range(MANY)),
    "function": _raises,
    "noJson": lambda order: {"a": object()},
}
ODD = {"a b": "ü\u2028\U0001f600", "from": "x", "model_config": 1, "self": [1], "\\": "\x00"}


@check("IFC-CALL-1", "the handler gets the data of the call, and its return value is the result")
async def dispatched(target: Target) -> None:
    hall, kiosk = Partner(target, HALL), Partner(target, KIOSK)
    for data in ({"a": 1}, {"text": 'é 漢 "quoted" \\ \n'}, {"list": [1, 2, {"b": [True]}], "n": -0.5}):
        for partner, service in ((hall, "Lights"), (kiosk, "Lamps"), (kiosk, "Meters")):
            found = await partner.table(service, "echo", data)
            partner.same(f"what {service}.echo got", found.get("got"), data)


@check("IFC-CALL-2", "each operation has a handler of its own, at each publisher")
async def its_own_handler(target: Target) -> None:
    hall, garden = Partner(target, HALL), Partner(target, GARDEN)
    hall.same("shadowed", await hall.value("Lights", "shadowed", {}), {"by": "the handler"})
    hall.same("light", (await hall.table("Lights", "light", {"level": 3})).get("level"), 3)
    hall.same("mirror", await hall.value("Lights", "mirror", {"level": 3}), {"level": 3})
    tag = target.identity()
    await garden.value("Meters", "keep", {"key": tag, "value": "here"})
    for publisher, value in ((METERS, "here"), (LIGHTS, None)):
        probe = Probe(target, publisher)
        probe.same(f"what {publisher} keeps", (await probe.ask("GET", f"/kept/{tag}")).get("value"), value)


@check("IFC-CALL-3", "error, status and type that a handler returns are the error of the call, unchanged")
async def errors_of_handlers(target: Target) -> None:
    hall = Partner(target, HALL)
    for error in (
        {"error": "no tea", "status": 418, "type": "Teapot"},
        {"error": 'é "so"', "status": 503, "type": "ServerError"},
        {"error": "not found", "status": 404, "type": "QueryError"},
        {"error": {"code": 7}, "status": 400, "type": "QueryError"},
    ):
        found = await hall.error("Lights", "refuse", error)
        hall.same("the error", {name: found.get(name) for name in error}, error)


@check("USR-CALL-16", "the error of a handler of another solution has its status twice, too")
async def status_of_handlers(target: Target) -> None:
    hall = Partner(target, HALL)
    found = await hall.error("Lights", "refuse", {"error": "no tea", "status": 418, "type": "Teapot"})
    hall.same("its status_code", found.get("status_code"), 418)


@check("IFC-CALL-4", "a failed call returns type, error and status; the script goes on")
async def error_objects(target: Target) -> None:
    lights = Partner(target, LIGHTS)
    for operation, parameters in (
        ("getSubscriber", {"subscriber_id": "nobody"}),
        ("getSubscriber", {}),
        ("listSubscribers", {"limit": 0}),
        ("setSubscriber", {"subscriber_id": "nobody", "parameters": {}}),
        ("trigger", {"event": "plain", "mode": "both"}),
        ("triggerOne", {"target": "nobody", "event": "plain"}),
    ):
        found = await lights.error(INTERFACE, operation, parameters)
        kinds = {name: type(found.get(name)).__name__ for name in ("type", "error", "status")}
        lights.same(f"error of {operation}", kinds, {"type": "str", "error": "str", "status": "int"})
        expect.true(f"error of {operation} says why", found["error"], found, lights.last)
    await lights.table(INTERFACE, "listSubscribers", {})
    hall = Partner(target, HALL)
    for status, wanted in ((404, "QueryError"), (503, "ServerError")):
        found = await hall.error("Lights", "mirror", {"error": "without a type", "status": status})
        hall.same(f"type of {status}", found.get("type"), wanted)


@check("IFC-CALL-5", "the configuration's script runs only if the publisher has no handler")
async def scripts_of_the_configuration(target: Target) -> None:
    hall = Partner(target, HALL)
    found = await hall.table("Lights", "scripted", {"a": 1})
    hall.same("by", found.get("by"), "the script of the configuration")
    hall.same("its payload", found.get("order", {}).get("a"), 1)
    hall.same("by a handler", await hall.value("Lights", "shadowed", {}), {"by": "the handler"})


@check("IFC-CALL-6", "a subscriber's configured parameters are the defaults of arguments")
async def configured_arguments(target: Target) -> None:
    for name, service, configured in (
        (HALL, "Lights", {"room": "hall", "color": "red", "zone": "indoors"}),
        (GARDEN, "Lights", {"room": "garden", "color": "white", "zone": "outdoors"}),
        (KIOSK, "Lamps", {"color": "white", "zone": "indoors"}),
    ):
        partner = Partner(target, name)
        order = (await partner.table(service, "light", {"level": 1})).get("order")
        partner.same(f"the order of {name}", order, {"level": 1, "fade": {"seconds": 1}, **configured})
        given = {"level": 2, "room": target.identity(), "color": "blue", "fade": {"seconds": 9}}
        order = (await partner.table(service, "light", given)).get("order")
        partner.same(f"the order of {name}, all given", order, {**given, "zone": configured["zone"]})


@check("IFC-CALL-7", "a handler runs in the publisher's solution, and knows the caller")
async def in_the_publisher(target: Target) -> None:
    hall, garden, tag = Partner(target, HALL), Partner(target, GARDEN), target.identity()
    for partner, name in ((hall, HALL), (garden, GARDEN)):
        found = await partner.table("Lights", "echo", {})
        partner.same("caller", (found.get("caller"), found.get("solution")), (name, LIGHTS))
    found = await garden.table("Meters", "echo", {})
    garden.same("caller of the other", (found.get("caller"), found.get("solution")), (GARDEN, METERS))
    hall.same("before", await hall.value("Lights", "keep", {"key": tag, "value": "a"}), {})
    hall.same("then", await garden.value("Lights", "keep", {"key": tag, "value": "b"}), {"before": "a"})
    hall.same("elsewhere", await garden.value("Meters", "keep", {"key": tag, "value": "c"}), {})
    hall.same("at the subscriber", await hall.value("Keystore", "get", {"key": tag}), {})


@check("IFC-CALL-8", "the statuses of an unknown operation, a missing handler and a failing handler")
async def no_answer(target: Target) -> None:
    hall = Partner(target, HALL)
    for name in ("unheardOf", "Echo", "subscriberAdded", "changed", "nobody"):
        await hall.refused("Lights", name, {}, 404)
    text = await hall.refused("Lights", "crash", {}, 500)
    hidden = ".lua" not in text and "asked to" not in text
    expect.true("the publisher's script stays its own", hidden or "crash" in text, text, hall.last)


@check("IFC-CALL-8", "handlers that fail in different ways", needs={"settings"})
async def failing(target: Target) -> None:
    await target.in_lab(_failing, target)


def _failing(target: Target) -> None:
    publisher, caller = (target.lab.solution(solution_id(target)) for _ in range(2))
    parameters = {"title": "order", "type": "object"}
    operations = [{"name": name, "parameters": parameters} for name in FAILING]
    publisher.publish(default_script_key="panels", operations=operations)
    caller.subscribe(publisher)
    for name, handler in FAILING.items():
        if isinstance(handler, str):
            publisher.on("interface", name, lua=handler)
        else:
            publisher.on("interface", name, handler)
        found = getattr(caller.Panels, name)(a=1)
        fields = {each: found.get(each) for each in ("type", "status")}
        same(f"what {name} gives", fields, {"type": "ServerError", "status": 500})


@check("IFC-CALL-9", "wrong data is refused before the handler runs, a wrong response after it")
async def validated(target: Target) -> None:
    hall, lights, tag = Partner(target, HALL), Probe(target, LIGHTS), target.identity()
    for wrong, named in (
        ({}, "level"),
        ({"level": 101}, "level"),
        ({"level": -1}, "level"),
        ({"level": "1"}, "level"),
        ({"level": True}, "level"),
        ({"level": 1, "colour": "red"}, "colour"),
        ({"level": 1, "fade": {"seconds": "1"}}, "fade.seconds"),
    ):
        text = await hall.refused("Lights", "light", {"room": tag, **wrong}, 400)
        expect.true(f"the error names {named}", named in text, text, hall.last)
    kept = (await lights.ask("GET", f"/kept/light:{tag}")).get("value")
    lights.same("how often the handler ran", kept, None)
    for level in (0, 100, 50.0):
        await hall.table("Lights", "light", {"room": tag, "level": level})
    await hall.refused("Lights", "promise", {}, 500)


@check("IFC-CALL-10", "ten calls within calls are served, eleven are not")
async def nested(target: Target) -> None:
    hall = Partner(target, HALL)
    for deep in (1, 2, DEEPEST - 1, DEEPEST):
        found = await hall.value("Lights", "nest", {"left": deep - 1})
        hall.same(f"{deep} calls deep", found, {"depth": deep})
    await hall.refused("Lights", "nest", {"left": DEEPEST}, 500)
    await hall.refused("Lights", "nest", {"left": 1000}, 500)
    hall.same("afterwards", await hall.value("Lights", "nest", {"left": 3}), {"depth": 4})


@check("IFC-CALL-11", "a solution has no service of a publisher that it did not subscribe to")
async def not_subscribed(target: Target) -> None:
    hall, kiosk = Partner(target, HALL), Partner(target, KIOSK)
    await hall.refused("Meters", "echo", {}, 404)
    await hall.refused("Lamps", "echo", {}, 404)
    await kiosk.refused("Partner", "echo", {}, 404)


@check("IFC-CALL-12", "values of all types arrive and are returned unchanged")
async def values(target: Target) -> None:
    hall = Partner(target, HALL)
    for value in (
        {"a": [1, 2.5, "x", True, {"b": False}]},
        {"": ""},
        {"ключ": "значение"},
        {"n": 2**53},
        ODD,
    ):
        hall.same("the value", await hall.value("Lights", "mirror", value), value)
    for value in ({"error": "a field"}, {"error": "x", "status": 200}, {"error": "x", "status": True}):
        hall.same("a value that is no error", (await hall.call("Lights", "mirror", value))[1], value)
    await hall.nothing("Lights", "nothing", {"key": target.identity()})


@check("IFC-CALL-13", "a restricted parameter has its configured value, whatever a script passes")
async def restricted(target: Target) -> None:
    garden, hall = Partner(target, GARDEN), Partner(target, HALL)
    for partner, zone in ((garden, "outdoors"), (hall, "indoors")):
        order = (await partner.table("Lights", "light", {"level": 1, "zone": "anywhere"})).get("order", {})
        partner.same("the zone", order.get("zone"), zone)
        given = {"service": "lights", "parameters": {"zone": "anywhere"}}
        await partner.refused("Config", "setParameters", given, 403)


@check(
    "IFC-CALL-15",
    "a parameter with x-exosite-restricted has its configured value or its default",
    needs={"settings"},
)
async def restricted_by_word(target: Target) -> None:
    word = {"type": "string", "x-exosite-restricted": True}
    properties = {
        "floor": {"type": "string", "x-exosite-restricted": False},
        "wing": word,
        "tone": {**word, "default": "soft"},
        "open": {"type": "string"},
    }
    publisher = await accepted(
        target,
        {
            "parameters": [
                {"name": "floor", **word, "default": "ground"},
                {"name": "wing"},
                {"name": "open"},
            ],
            "operations": [
                {
                    "name": "shade",
                    "script": "return event",
                    "parameters": {"type": "object", "required": ["wing"], "properties": properties},
                }
            ],
        },
    )
    homes = [await create_own(target) for _ in range(3)]
    configured: list[Table] = [
        {"wing": "west", "open": "no"},
        {"wing": 'östlich: "1"', "floor": "first"},
        {"floor": "second"},
    ]
    for home, parameters in zip(homes, configured, strict=True):
        await home.subscribe(publisher, script_key="shades", parameters=parameters)
    given = {"floor": "any", "wing": "any", "tone": "any", "open": "yes"}
    wanted = {"floor": "ground", "tone": "soft", "open": "yes"}
    for home, parameters in zip(homes[:2], configured, strict=False):
        found = await home.call("Shades", "shade", **given)
        same("what the handler gets", found, {**wanted, **parameters, "open": "yes"})
        change = {"service": "shades", "parameters": {"floor": "any"}}
        expect.equal("status of a change", await home.status("Config", "setParameters", **change), 403)
    expect.equal("status without wing", await homes[2].status("Shades", "shade", **given), 400)


@check("IFC-CALL-14", "an operation whose data is no object gets the argument `body`")
async def bodies(target: Target) -> None:
    for name, service in ((HALL, "Lights"), (KIOSK, "Lamps"), (KIOSK, "Meters")):
        partner = Partner(target, name)
        for numbers, total in (([1, 2, 3.5], 6.5), ([-1], -1)):
            partner.same("the sum", await partner.value(service, "sum", {"body": numbers}), total)
        await partner.refused(service, "sum", {}, 400)
        await partner.refused(service, "sum", {"numbers": [1]}, 400)
        for wrong in ([], ["1"], {"a": 1}, 1):
            await partner.refused(service, "sum", {"body": wrong}, 400)
