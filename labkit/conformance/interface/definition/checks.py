"""The values that a publisher's configuration may have, at the bound of each rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.interface.partners import accepted, create_own, refused
from labkit.conformance.target import Target


async def rule(target: Target, good: Iterable[Any], wrong: Iterable[tuple[Any, str]]) -> None:
    """Check that configurations are accepted, and others refused with an error that names their key."""
    for each in good:
        await accepted(target, each)
    for each, key in wrong:
        text = await refused(target, each)
        expect.true(f"the error names {key}", key in text, text)


@check("IFC-DEF-1", "default_script_key at its bounds", needs={"settings"})
async def script_keys(target: Target) -> None:
    name = "default_script_key"
    await rule(
        target,
        [{name: key} for key in ("ab", "A1", "Z" * 63)],
        [({name: key}, name) for key in ("a", "", "1a", "a_b", "a-b", "a b", "é1", "a" * 64, 12)],
    )


@check("IFC-DEF-2", "the key comes from the name, or from the id", needs={"settings"})
async def default_keys(target: Target) -> None:
    home = await create_own(target)
    for configuration, key in (
        ({"name": "My bells! №2"}, "Mybells2"),
        ({"name": "x" * 63}, "X" + "x" * 62),
        ({"name": "1 bell"}, None),
        ({"name": "éü"}, None),
        ({}, None),
    ):
        publisher = await accepted(target, {**configuration, "operations": [{"name": "ping"}]})
        await publisher.on("interface", "ping", "return context.solution_id")
        await home.subscribe(publisher)
        service = key or publisher.id[0].upper() + publisher.id[1:]
        expect.equal(f"{service}.ping", await home.call(service, "ping"), publisher.id)


@check("IFC-DEF-3", "name at its bound", needs={"settings"})
async def names(target: Target) -> None:
    await rule(
        target, [{"name": "é" * 100}, {"name": "n"}], [({"name": "n" * 101}, "name"), ({"name": 5}, "name")]
    )


@check("IFC-DEF-4", "description at its bound", needs={"settings"})
async def descriptions(target: Target) -> None:
    await rule(
        target,
        [{"description": "é" * 1000}, {"description": ""}],
        [({"description": "d" * 1001}, "description"), ({"description": []}, "description")],
    )


@check("IFC-DEF-5", "contact at its bounds", needs={"settings"})
async def contacts(target: Target) -> None:
    await rule(
        target,
        [{"contact": {"name": "é" * 100, "email": "ann+x@example.com"}}, {"contact": {"name": "Ann"}}],
        [
            ({"contact": {"name": "n" * 101}}, "contact.name"),
            ({"contact": {"email": "ann"}}, "contact.email"),
            ({"contact": {"email": "ann@"}}, "contact.email"),
            ({"contact": "Ann"}, "contact"),
        ],
    )


@check("IFC-DEF-6", "tags at their bounds", needs={"settings"})
async def tags(target: Target) -> None:
    await rule(
        target,
        [{"tags": ["é" * 20] * 10}, {"tags": ["t"]}, {"tags": []}],
        [
            ({"tags": ["t"] * 11}, "tags"),
            ({"tags": ["a", "t" * 21]}, "tags[1]"),
            ({"tags": [""]}, "tags[0]"),
            ({"tags": [5]}, "tags[0]"),
            ({"tags": "t"}, "tags"),
        ],
    )


@check("IFC-DEF-7", "parameters at their bounds", needs={"settings"})
async def parameters(target: Target) -> None:
    items = {"type": "array", "items": {"additionalItems": False, "items": [{"type": "string"}]}}
    await rule(
        target,
        [
            {"parameters": [{"name": "a_1"}, {"name": "N" * 100, "description": "é" * 1000}]},
            {"parameters": [{"name": "abc", "type": each} for each in ("string",)]},
            {"parameters": [{"name": f"ab{n}", "type": each} for n, each in enumerate(SIX)]},
            {
                "parameters": [
                    {"name": "abc", **items},
                    {"name": "abd", "type": "object", "properties": {"a": {}}},
                ]
            },
        ],
        [
            ({"parameters": [{"name": "ab"}]}, "parameters[0].name"),
            ({"parameters": [{"name": "N" * 101}]}, "parameters[0].name"),
            ({"parameters": [{"name": "abc"}, {"name": "1bc"}]}, "parameters[1].name"),
            ({"parameters": [{"name": "_bc"}]}, "parameters[0].name"),
            ({"parameters": [{"name": "a-c"}]}, "parameters[0].name"),
            ({"parameters": [{}]}, "parameters[0].name"),
            ({"parameters": [{"name": "abc", "type": "text"}]}, "parameters[0].type"),
            ({"parameters": [{"name": "abc", "type": "null"}]}, "parameters[0].type"),
            ({"parameters": [{"name": "abc", "type": ["string", "null"]}]}, "parameters[0].type"),
            ({"parameters": [{"name": "abc", "description": "d" * 1001}]}, "parameters[0].description"),
            ({"parameters": [{"name": "abc", "items": {"type": 1}}]}, "parameters[0].items"),
            ({"parameters": [{"name": "abc", "properties": []}]}, "parameters[0].properties"),
        ],
    )
    publisher = await accepted(target, {"parameters": [{"name": "abc"}]})
    home = await create_own(target)
    await home.subscribe(publisher, script_key="bell")
    status = await home.status("Config", "setParameters", service="bell", parameters={"abc": 5})
    expect.equal("status of a number for a parameter without type", status, 400)


SIX = ("string", "boolean", "number", "integer", "array", "object")


@check("IFC-DEF-8", "names of operations and events at their bounds", needs={"settings"})
async def operation_names(target: Target) -> None:
    for section in ("operations", "events"):
        await rule(
            target,
            [{section: [{"name": "a1"}, {"name": "Zz"}, {"name": "x" * 100}]}],
            [
                ({section: [{"name": "ok"}, {"name": name}]}, f"{section}[1].name")
                for name in ("a", "", "1a", "a_b", "a b", "a-b", "aé", 5)
            ]
            + [({section: [{}]}, f"{section}[0].name"), ({section: {"ab": {}}}, section)],
        )


@check("IFC-DEF-9", "mode is one of two", needs={"settings"})
async def modes(target: Target) -> None:
    await rule(
        target,
        [{"mode": "async"}, {"mode": "sync"}],
        [({"mode": mode}, "mode") for mode in ("both", "", "Sync", 1)],
    )


@check("IFC-DEF-10", "unknown keys and repeated names are refused", needs={"settings"})
async def unknown(target: Target) -> None:
    await rule(
        target,
        [],
        [
            ({"colour": "red"}, "colour"),
            ({"contact": {"phone": "1"}}, "contact.phone"),
            ({"operations": [{"name": "ab", "events": []}]}, "operations[0].events"),
            ({"events": [{"name": "ab", "script": ""}]}, "events[0].script"),
            ({"operations": [{"name": "ab"}, {"name": "ab"}]}, "operations[1].name"),
            ({"events": [{"name": "ab"}, {"name": "ac"}, {"name": "ab"}]}, "events[2].name"),
            ({"parameters": [{"name": "abc"}, {"name": "abc"}]}, "parameters[1].name"),
            ({"operations": [{"name": "subscriberAdded"}]}, "operations[0]"),
        ],
    )
