"""Schemas of payloads: the data that they accept, and the defaults that they fill in."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.interface.partners import INTERFACE, OwnSolution, accepted, create_own, refused
from labkit.conformance.target import Target

PATIENCE = 2.0  # seconds of real time for a pattern that would take hours by backtracking


async def payloads(target: Target, schema: dict[str, Any], good: Iterable[Any], wrong: Iterable[Any]) -> None:
    """Check that an event of this schema accepts some data, and refuses others."""
    publisher = await accepted(target, {"events": [{"name": "sent", "parameters": schema}]})
    for data in good:
        status = await publisher.status(INTERFACE, "trigger", event="sent", mode="sync", data=data)
        expect.equal(f"status of {data!r} under {schema}", status, None)
    for data in wrong:
        status = await publisher.status(INTERFACE, "trigger", event="sent", mode="sync", data=data)
        expect.equal(f"status of {data!r} under {schema}", status, 400)


async def filled(target: Target, schema: dict[str, Any], data: Any) -> Any:
    """Return the data that a handler gets under a schema."""
    publisher, home = (
        await accepted(target, {"events": [{"name": "sent", "parameters": schema}]}),
        await create_own(target),
    )
    await home.subscribe(publisher, script_key="bell")
    await home.on("bell", "sent", "return event")
    return await publisher.call(INTERFACE, "triggerOne", target=home.id, event="sent", data=data)


@check("IFC-SCH-1", "values of each type, and values of other types", needs={"settings"})
async def types(target: Target) -> None:
    of: dict[str, tuple[Any, ...]] = {
        "boolean": (True, False),
        "integer": (5, -1, 2.0),
        "string": ("", "5"),
        "object": ({"a": 1},),
        "array": ([1],),
    }
    for type, good in of.items():
        wrong = [each for other, values in of.items() if other != type for each in values]
        await payloads(target, {"type": type}, good, wrong)
    await payloads(target, {"type": "number"}, (1, 1.5), (True, "1", [1], {"a": 1}))
    await payloads(target, {"type": "null"}, (None,), (0, "", False, [1]))
    await payloads(target, {"type": "integer"}, (), (1.5, None))
    text = await refused(target, {"events": [{"name": "sent", "parameters": {"type": "text"}}]})
    expect.true("an unknown type is named", "events[0].parameters.type" in text, text)


@check("IFC-SCH-2", "bounds of numbers", needs={"settings"})
async def numbers(target: Target) -> None:
    await payloads(target, {"maximum": 5, "minimum": -5}, (5, -5, 0, 4.999, "text"), (5.001, 6, -5.5))
    await payloads(target, {"exclusiveMaximum": 5, "exclusiveMinimum": 0}, (4.999, 0.001), (5, 0, 6))
    await payloads(target, {"maximum": 0}, (0, -1), (0.1,))


@check("IFC-SCH-3", "bounds of texts", needs={"settings"})
async def texts(target: Target) -> None:
    await payloads(target, {"maxLength": 3, "minLength": 2}, ("ab", "éé漢", 5), ("a", "", "abcd"))
    await payloads(target, {"pattern": "^a+b?$"}, ("a", "aab", 5), ("b", "abb", "a\n", ""))
    await payloads(target, {"pattern": "b"}, ("abc",), ("ac",))
    await payloads(target, {"enum": ["on", "off"]}, ("on", "off"), ("On", "", "onoff", 5, True, ["on"]))
    for enum in ([], ["on", 5], "on"):
        text = await refused(target, {"events": [{"name": "sent", "parameters": {"enum": enum}}]})
        expect.true("the error names it", "events[0].parameters.enum" in text, text)


@check("IFC-SCH-4", "bounds of lists", needs={"settings"})
async def lists(target: Target) -> None:
    await payloads(target, {"maxItems": 2, "minItems": 1, "type": "array"}, ([1], [1, 2]), ([], [1, 2, 3]))
    await payloads(
        target, {"uniqueItems": True}, ([1, "1", True], [[1], [2]]), ([1, 2, 1], [{"a": 1}, {"a": 1.0}])
    )
    await payloads(target, {"items": {"type": "string"}}, (["a", ""], 5), (["a", 1], [None, "a", 2]))
    first = [{"type": "string"}, {"type": "integer"}]
    await payloads(
        target, {"items": first, "additionalItems": False}, (["a", 1], ["a"]), (["a", 1, 2], [1, 1])
    )
    await payloads(
        target, {"items": first, "additionalItems": {"type": "boolean"}}, (["a", 1, True],), (["a", 1, 2],)
    )


@check("IFC-SCH-5", "bounds of tables", needs={"settings"})
async def tables(target: Target) -> None:
    await payloads(target, {"required": ["a", "b"]}, ({"a": 1, "b": 2, "c": 3}, 5), ({"a": 1}, {"c": 1}))
    await payloads(target, {"maxProperties": 2, "minProperties": 1}, ({"a": 1},), ({"a": 1, "b": 2, "c": 3},))
    await payloads(target, {"type": "object", "minProperties": 1}, ({"a": 1},), ({},))
    schema = {
        "properties": {"a": {"type": "integer"}},
        "patternProperties": {"^x": {"type": "string"}},
        "additionalProperties": False,
    }
    await payloads(
        target, schema, ({"a": 1, "x1": ""}, {"x": ""}), ({"a": ""}, {"x1": 1}, {"b": 1}, {"ax": ""})
    )
    await payloads(target, {"additionalProperties": {"type": "integer"}}, ({"a": 1},), ({"a": 1, "b": "1"},))
    deep = {"properties": {"a": {"items": {"properties": {"b": {"maximum": 1}}}}}}
    await payloads(target, deep, ({"a": [{"b": 1}, {"c": 9}]},), ({"a": [{"b": 1}, {"b": 2}]},))


@check("IFC-SCH-6", "defaults at every level", needs={"settings"})
async def defaults(target: Target) -> None:
    schema = {
        "type": "object",
        "required": ["level"],
        "properties": {
            "level": {"type": "integer", "default": 5},
            "on": {"type": "boolean", "default": False},
            "fade": {"type": "object", "default": {}, "properties": {"seconds": {"default": 1.5}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"n": {"default": "é"}}}},
            "none": {"type": "object", "properties": {"n": {"default": 1}}},
        },
    }
    found = await filled(target, schema, {"list": [{"a": 1}, {"n": 2}]})
    wanted = {"level": 5, "on": False, "fade": {"seconds": 1.5}, "list": [{"a": 1, "n": "é"}, {"n": 2}]}
    expect.equal("what the handler gets", found, wanted)
    found = await filled(target, schema, {"level": 0, "on": True, "fade": {"seconds": 2}, "none": {"a": 1}})
    wanted = {"level": 0, "on": True, "fade": {"seconds": 2}, "none": {"a": 1, "n": 1}}
    expect.equal("what was given stays", found, wanted)
    expect.equal("of nothing", await filled(target, {"default": {"a": [1]}}, None), {"a": [1]})
    for given in (False, 0, "", 1):
        expect.equal("what is there is not nothing", await filled(target, {"default": "x"}, given), given)
    others = {
        "properties": {"known": {"type": "object"}},
        "additionalProperties": {"type": "object", "properties": {"n": {"default": 1}}},
    }
    found = await filled(target, others, {"known": {"a": 1}, "other": {"a": 1}})
    expect.equal("of entries that are not named", found, {"known": {"a": 1}, "other": {"a": 1, "n": 1}})
    matched = {
        "patternProperties": {
            "^x": {"properties": {"n": {"default": 1}}},
            "y$": {"properties": {"m": {"default": 2}}},
            "z": {},
        },
        "additionalProperties": {"properties": {"n": {"default": 3}}},
    }
    found = await filled(
        target, matched, {"x": {}, "y": {"n": 0}, "xy": {"a": 1}, "z": {"a": 1}, "other": {"m": 4}}
    )
    wanted = {
        "x": {"n": 1},
        "y": {"n": 0, "m": 2},
        "xy": {"a": 1, "n": 1, "m": 2},
        "z": {"a": 1},
        "other": {"m": 4, "n": 3},
    }
    expect.equal("of entries by patterns", found, wanted)


@check("IFC-SCH-7", "annotations such as title and format refuse no value", needs={"settings"})
async def words(target: Target) -> None:
    schema = {
        "title": "thing",
        "description": "d",
        "examples": [1, {"a": 2}],
        "format": "int32",
        "default": 5,
    }
    await payloads(target, {"properties": {"a": schema}}, ({"a": "any"}, {"a": 2**40}, {"b": 1}), ())


@check("IFC-SCH-8", "forms of other drafts", needs={"settings"})
async def other_forms(target: Target) -> None:
    bounds = {"maximum": 5, "exclusiveMaximum": True, "minimum": 0, "exclusiveMinimum": True}
    await payloads(target, bounds, (4.9, 0.1), (5, 0))
    bounds |= {"exclusiveMaximum": False, "exclusiveMinimum": False}
    await payloads(target, bounds, (5, 0), (5.1, -0.1))
    await payloads(target, {"type": ["string", "integer"]}, ("", 5), (5.5, True))
    configuration = {"events": [{"name": "sent", "parameters": {"exclusiveMaximum": True}}]}
    expect.true(
        "a bound is missing", "events[0].parameters" in await refused(target, configuration), configuration
    )


@check("IFC-SCH-14", "words that no document has are kept without effect, and named", needs={"settings"})
async def unknown_words(target: Target) -> None:
    schema: dict[str, Any] = {
        "x-note": [{"of": "ours"}],
        "": 1,
        "ключ": None,
        "allOf": [],
        "$ref": "#",
        "maxLenght": 1,
        "properties": {"a": {"const": 1, "maximum": 5}, "x-real": {"type": "integer"}},
    }
    await payloads(target, schema, ({"a": 5}, {"x-real": 1, "b": "long"}), ({"a": 6}, {"x-real": "1"}))
    for section, part in (("operations", "parameters"), ("events", "response"), ("parameters", "")):
        given = {"name": "sent", **({part: schema} if part else {"type": "object", **schema})}
        publisher = await accepted(target, {section: [{"name": "first"}, given]})
        said = " ".join(await publisher.warnings())
        for path in ("x-note", "allOf", "$ref", "maxLenght", "properties.a.const"):
            where = ".".join(filter(None, (f"{section}[1]", part, path)))
            expect.true(f"a warning names {where}", f"{where}: " in said, said)
        for path in ("maximum: ", "x-real: "):
            expect.true(f"none names {path}", path not in said, said)


@check("IFC-SCH-9", "invalid schemas are refused, and named", needs={"settings"})
async def wrong_schemas(target: Target) -> None:
    for schema, key in (
        ({"x-exosite-restricted": 1}, ".x-exosite-restricted"),
        ({"maxLength": "3"}, ".maxLength"),
        ({"required": True}, ".required"),
        ({"uniqueItems": "yes"}, ".uniqueItems"),
        ({"pattern": "(?=a)b"}, ".pattern"),
        ({"pattern": r"(a)\1"}, ".pattern"),
        ({"patternProperties": {"(": {}}}, ".patternProperties"),
        ({"items": {"pattern": "["}}, ".items.pattern"),
        ({"pattern": "\ud83d"}, ".pattern"),
        ({"default": [{1, 2}]}, "parameters"),
        ({"default": 1, "type": "string"}, "default"),
        ({"properties": {"a": {"default": 9, "maximum": 5}}}, "properties.a.default"),
        ({"title": "a b"}, "title"),
    ):
        for section, part in (("operations", "parameters"), ("events", "parameters")):
            text = await refused(target, {section: [{"name": "ok"}, {"name": "sent", part: schema}]})
            expect.true(f"it names {key}", f"{section}[1].{part}" in text and key in text, text)


@check("IFC-SCH-9", "patterns up to the limit of their length, single and together", needs={"settings"})
async def longest_patterns(target: Target) -> None:
    await payloads(target, {"pattern": f"^{'a?' * 249}$"}, ("", "a" * 249), ("b", "a" * 250))
    await payloads(target, {"pattern": "[b-y]" * 100}, ("c" * 100,), ("a" * 100,))
    await payloads(target, {"pattern": f"^[{'a' * 996}]$"}, ("a",), ("b", "aa"))  # 1000 characters
    together: dict[str, Any] = {f"{letter}{'[b-y]' * 100}": {} for letter in "abcdef"}
    beyond: tuple[dict[str, Any], ...] = (
        {"pattern": f"^[{'a' * 997}]$"},
        {"pattern": "(a{1,100}){1,10}"},
        {"patternProperties": together},
    )
    for schema in beyond:
        await refused(target, {"events": [{"name": "sent", "parameters": schema}]})


@check("IFC-SCH-1", "several types at once, of the data of operations too", needs={"settings"})
async def several_types(target: Target) -> None:
    types = ["string", "integer", "null"]
    await payloads(target, {"type": types}, ("", 5, None), (1.5, True, [1], {"a": 1}))
    schema = {"type": "object", "properties": {"class": {"type": types}, "a": {"type": ["boolean", "array"]}}}
    publisher = await accepted(target, {"operations": [{"name": "tell", "parameters": schema}]})
    await publisher.on("interface", "tell", "return {kind = type(operation.class), a = operation.a}")
    home = await create_own(target)
    await home.subscribe(publisher, script_key="bell")
    for data, kind in (({"class": "x"}, "string"), ({"class": 5, "a": [1]}, "number"), ({"a": True}, "nil")):
        found = await home.call("bell", "tell", **data)
        expect.equal(
            f"what the handler makes of {data}",
            found,
            {"kind": kind, **({"a": data["a"]} if "a" in data else {})},
        )
    for wrong in ({"class": 1.5}, {"class": [1]}, {"a": "x"}):
        expect.equal(f"status of {wrong}", await home.status("bell", "tell", **wrong), 400)


@check("IFC-SCH-10", "patterns prone to exponential backtracking end in time", needs={"settings"})
async def patterns(target: Target) -> None:
    for pattern in ("^(a+)+$", "^(a|aa)+$", "^(a|a?)+$", "(x+x+)+y"):
        publisher: OwnSolution = await accepted(
            target, {"events": [{"name": "sent", "parameters": {"pattern": pattern}}]}
        )
        data = ("x" if "x" in pattern else "a") * 50_000 + "!"
        began = time.monotonic()
        status = await publisher.status(INTERFACE, "trigger", event="sent", data=data)
        took = time.monotonic() - began
        expect.equal("status", status, 400)
        expect.true(f"{pattern} took less than {PATIENCE:g} s", took < PATIENCE, took)


@check("IFC-SCH-11", "an empty table is a list or an object, as the schema demands", needs={"settings"})
async def empty(target: Target) -> None:
    schema = {"properties": {"list": {"type": "array"}, "table": {"type": "object"}, "any": {}}}
    found = await filled(target, schema, {"list": {}, "table": [], "any": []})
    expect.equal("what the handler gets", found, {"list": [], "table": {}, "any": []})
    await payloads(target, {"type": "array", "minItems": 1}, (), ({}, []))
