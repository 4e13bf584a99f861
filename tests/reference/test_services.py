"""Reference of the services: each operation and event, with examples that run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from tree_sitter import Language, Parser
from tree_sitter_lua import language

from labkit import Lab, Solution
from labkit.conformance.listing import operations as listed
from labkit.devices.device_events import KINDS
from labkit.reference import lua_types, services
from labkit.services.operation import Operation
from labkit.services.registry import words
from labkit.solutions.checking.shapes import event_words

OPERATIONS = [each for service in services.platform().services for each in service.operations.values()]
ENTRIES = {entry.name: entry for page in services.pages() for entry in page.entries}
INVALID = ("is required", "validation failed", "is not a parameter")


def test_each_operation_and_event_of_the_listing_has_an_entry() -> None:
    data, _ = listed()
    assert {f"{each['service']}.{each['operation']}" for each in data["operations"]} <= set(ENTRIES)
    names = {services.event_name(each) for each in services.raised()}
    assert {f"{each['service']} {each['event']}" for each in data["events"] if each["raised"]} == {
        name.partition(" (")[0] for name in names
    }
    assert set(event_words()) == names


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: f"{each.service}.{each.name}")
def test_each_argument_has_a_meaning(operation: Operation) -> None:
    texts = services.argument_texts(operation)
    assert [name for name in operation.attributes if not texts.get(name)] == []


def test_the_table_of_words_names_existing_arguments() -> None:
    known = {each.service: set() for each in OPERATIONS}  # type: dict[str, set[str]]
    for each in OPERATIONS:
        names = [*each.attributes, *([services.OTHERS] if each.collects else [])]
        known[each.service] |= {*names, *(f"{each.name}.{name}" for name in names)}
    assert {
        (service, name) for service, names in words().items() if service != "events" for name in names
    } <= {(service, name) for service, names in known.items() for name in names}


@pytest.fixture(scope="module")
def solution() -> Iterator[Solution]:
    with Lab(seed=7) as lab:
        lamp = lab.product("lamp", resources={"target": {"format": "number", "settable": True}})
        yield lab.solution("acme", products=lamp)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: f"{each.service}.{each.name}")
def test_the_examples_are_calls_that_the_service_accepts(solution: Solution, operation: Operation) -> None:
    """The result may be an error, such as 404 for an unknown user, but never one of the arguments' form."""
    arguments = dict(services.example(operation))
    names: dict[str, Any] = {"solution": solution}
    exec(services.python_call(operation, arguments), names)
    script = f"{services.lua_call(operation, arguments)}\nreturn {{result = result}}"
    solution.route("GET", "/example", lua=script, replace=True)
    by_lua = solution.get("/example").json()
    for result in (names["result"], by_lua.get("result")):
        error = str(result.get("error")) if isinstance(result, dict) else ""
        assert not [text for text in INVALID if text in error], error


def test_the_fields_of_events_are_those_of_real_events() -> None:
    """Those of a service are raised by the examples of its operations."""
    documented = {name: set(each["fields"]) for name, each in event_words().items() if "fields" in each}
    seen: dict[str, set[str]] = {}

    def remember(name: str, event: dict[str, Any]) -> None:
        full = name if name in documented else f"{name} ({event['type']})"
        seen[full] = seen.get(full, set()) | set(event)

    with Lab(seed=7) as lab:
        lamp = lab.product(
            "lamp", resources={"level": "number", "target": {"format": "number", "settable": True}}
        )
        acme = lab.solution("acme", products=lamp, services={"Device2": {"events": {"types": [*KINDS]}}})
        for name in {each.partition(" (")[0] for each in documented}:
            service, event = name.split()
            acme.on(service, event, partial(remember, name))
        lamp.device("l-1").activate().write(level=7)
        acme.Device2.setIdentityState(identity="l-1", target=7)
        for operation in OPERATIONS:
            result = acme.call(operation.service, operation.name, dict(services.example(operation)))
            assert not isinstance(result, dict) or result.get("status") != 500
            lab.clock.advance(minutes=1)
            lab.settle()
    assert seen == documented


def test_the_types_for_editors_have_each_operation_event_and_global() -> None:
    text = lua_types.text()
    tree = Parser(Language(language())).parse(text.encode())
    assert not tree.root_node.has_error
    functions = {
        each.child_by_field_name("name").text.decode()  # type: ignore[union-attr]
        for each in tree.root_node.named_children
        if each.type == "function_declaration"
    }
    assert functions >= {f"{each.service}.{each.name}" for each in OPERATIONS} | {"to_json", "log.warn"}
    for each in OPERATIONS:
        [block] = re.findall(
            rf"(?m)^---@class {each.service}\.{each.name}\.arguments\n((?:---@field .*\n)*)", text
        )
        assert re.findall(r"---@field (\w+)", block) == list(each.attributes)
    for name in ("device.datapoint", "user.account", "request", "context"):
        assert f"---@class {name}\n---@field " in text
    assert "---@type device.datapoint | scripts\ndata = nil" in text
    takers = re.findall(r"---@param arguments Timeseries\.(\w+)\.arguments \| string\n", text)
    assert sorted(takers) == ["command", "query", "write"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("str | None", "string | nil"),
        ("list[str | int]", "(string | integer)[]"),
        ("dict[str, str | list[str]] | None", "table<string, string | string[]> | nil"),
        ("list[Literal[int, s]]", '("int" | "s")[]'),
        ("list[{name, value}]", "({ name: any, value: any })[]"),
    ],
)
def test_types_of_arguments_are_those_of_luals(name: str, shown: str) -> None:
    assert lua_types.lua_type(name) == shown
