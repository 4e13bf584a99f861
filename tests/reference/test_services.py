"""Reference of the services: each operation and event, with examples that run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from labkit import Lab, Solution
from labkit.conformance.listing import operations as listed
from labkit.reference import services
from labkit.services.operation import Operation

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
    assert set(services.event_words()) == names


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: f"{each.service}.{each.name}")
def test_each_argument_has_a_meaning(operation: Operation) -> None:
    texts = services.argument_texts(operation)
    assert [name for name in operation.attributes if not texts.get(name)] == []


def test_the_table_of_words_names_existing_arguments() -> None:
    known = {each.service: set() for each in OPERATIONS}  # type: dict[str, set[str]]
    for each in OPERATIONS:
        names = [*each.attributes, *([services.OTHERS] if each.collects else [])]
        known[each.service] |= {*names, *(f"{each.name}.{name}" for name in names)}
    assert {(service, name) for service, names in services.words().items() for name in names} <= {
        (service, name) for service, names in known.items() for name in names
    }


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
    seen: dict[str, set[str]] = {}
    with Lab(seed=7) as lab:
        lamp = lab.product("lamp", resources={"level": "number"})
        acme = lab.solution("acme", products=lamp)

        def remember(name: str, payload: dict[str, Any]) -> None:
            seen[name] = seen.get(name, set()) | set(payload)

        acme.on("device", "datapoint", lambda data: remember("device datapoint", data))
        acme.on("device2", "event", lambda event: remember(f"device2 event ({event['type']})", event))
        acme.on("user", "account", lambda event: remember("user account", event))
        lamp.device("l-1").activate().write(level=7)
        code = acme.User.createUser(email="ann@example.com", name="Ann", password="correct horse")
        acme.User.activateUser(code=code)
        acme.User.updateUser(id=1, name="Ann Lee")
        acme.on("timer", "timer", lambda request: remember("timer timer", request))
        acme.Timer.sendAfter(duration=1000)
        lab.clock.advance(seconds=1)
        lab.settle()
    documented = {
        name: set(each["fields"]) for name, each in services.event_words().items() if "fields" in each
    }
    assert seen == documented
