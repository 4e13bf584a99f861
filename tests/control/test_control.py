"""Control operations: they accept and return plain data, and share no objects with the platform."""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter

from labkit import LabError
from labkit.control.clock import seconds_of
from labkit.control.control import Control, subjects
from labkit.control.data import SLICE
from labkit.control.firmware import FirmwareControl
from labkit.control.fleet_runs import FleetRunsControl
from labkit.control.functions import FunctionsControl
from labkit.control.journal import entries
from labkit.control.stories import StoriesControl
from labkit.core.journal import Journal
from labkit.providers.messaging.provider import Messaging
from labkit.settings import LabSettings, ProductSettings, SolutionSettings
from tests.cases import cases
from tests.providers.messaging.api import message

PRODUCT = ProductSettings(id="thermostat", resources={"message": "string"})


@pytest.fixture
async def control() -> AsyncIterator[Control]:
    control = await Control.start(LabSettings(https_port=0), seed=7)
    try:
        yield control
    finally:
        await control.stop()


def operations(control: Control) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Return every operation that another process could call."""
    assert len(subjects()) > 10
    for name in subjects():
        subject = getattr(control, name)
        if not isinstance(subject, FunctionsControl | FleetRunsControl | FirmwareControl | StoriesControl):
            for operation, method in inspect.getmembers(subject, inspect.ismethod):
                if not operation.startswith("_"):
                    yield f"{name}.{operation}", method


async def test_every_operation_is_async_typed_and_uses_plain_data(control: Control) -> None:
    for name, operation in operations(control):
        assert inspect.iscoroutinefunction(operation), name
        assert operation.__doc__, name
        hints = typing.get_type_hints(operation)
        assert hints.keys() == {*inspect.signature(operation).parameters, "return"}, name
        if typing.get_origin(hints["return"]) is AsyncIterator:  # a stream
            hints["return"] = typing.get_args(hints["return"])[0]
        for hint in hints.values():
            TypeAdapter(hint).json_schema(mode="serialization")


async def test_results_can_be_pickled_and_sent_to_another_process(control: Control) -> None:
    await control.products.add(PRODUCT)
    await control.identities.allow("thermostat", ["t-1"])
    await control.content.add("thermostat", "fw", bytes(range(256)))
    await control.solutions.add(SolutionSettings(id="acme", products=("thermostat",)))
    await control.solutions.route("acme", "GET", "/a", "return 1", "application/json")
    await control.services.call("acme", "Keystore", "set", {"key": "a", "value": {"deep": [1, 2]}})
    await control.handsets.switch("+15550001", False)
    handsets = control._platform.provider(Messaging).handsets
    handsets.deliver(message("+15550001", {"data": {"deep": [1]}}))
    calls: dict[str, tuple[Any, ...]] = {
        "addresses.listening": (),
        "clock.state": (),
        "products.all": (),
        "identities.all": ("thermostat",),
        "content.all": ("thermostat",),
        "solutions.all": (),
        "solutions.routes": ("acme",),
        "services.catalogue": ("acme",),
        "journal.select": (),
        "providers.all": (),
        "messaging.info": (),
        "messaging.accounts": (),
        "handsets.all": (),
        "handsets.messages": (),
        "database.sql": ("select * from content",),
    }
    known = dict(operations(control))
    for name, arguments in calls.items():
        result = await known[name](*arguments)
        assert result, name
        adapter: TypeAdapter[Any] = TypeAdapter(typing.get_type_hints(known[name])["return"])
        assert adapter.validate_json(adapter.dump_json(result)) == result, name


async def test_devices_are_listed_by_pages_and_patterns(control: Control) -> None:
    await control.products.add(PRODUCT)
    await control.identities.allow("thermostat", ["a-1", "a-2", "b-1", "b-2"])

    async def listed(*given: Any) -> list[str]:
        return [each.identity for each in await control.identities.all("thermostat", *given)]

    assert await listed() == ["a-1", "a-2", "b-1", "b-2"]
    assert await listed("*-2") == ["a-2", "b-2"]
    assert await listed("b-1") == ["b-1"]
    assert await listed(None, 2, 1) == ["a-2", "b-1"]
    assert await listed("*-2", 1) == ["a-2"]
    assert await listed(None, None, 3) == ["b-2"]
    assert await listed(None, 0) == []


async def test_arguments_and_results_are_copies(control: Control) -> None:
    await control.products.add(PRODUCT)
    await control.solutions.add(SolutionSettings(id="acme"))
    info = await control.products.get("thermostat")
    info.settings.resources.clear()
    assert list((await control.products.get("thermostat")).settings.resources) == ["message"]

    value = {"list": [1]}
    await control.services.call("acme", "Keystore", "set", {"key": "a", "value": value})
    value["list"].append(2)
    [call] = await control.journal.select("call")
    assert call.detail is not None
    call.detail["parameters"].clear()
    [again] = await control.journal.select("call")
    assert again.detail is not None
    assert again.detail["parameters"]["key"] == "a"
    assert "2" not in str(again.detail)


async def test_a_message_is_a_copy(control: Control) -> None:
    payload = {"data": {"deep": [1]}}
    control._platform.provider(Messaging).handsets.deliver(message("+15550001", payload))
    [taken] = await control.handsets.messages("+15550001", "delivered")
    taken.payload["data"]["deep"].append(2)
    taken.headers.clear()
    [again] = await control.handsets.received("+15550001")
    assert (again.payload, again.headers) == (payload, {"a": "b"})
    assert payload == {"data": {"deep": [1]}}


async def test_accounts_show_no_token(control: Control) -> None:
    [account] = await control.messaging.accounts()
    assert len(account.token) == 32
    assert account.token not in repr(account)


async def test_a_long_journal_is_copied_without_blocking_other_work() -> None:
    journal = Journal(lambda: 0)
    for _ in range(5 * SLICE):
        journal.record("log", "acme", "a line", detail={"level": "info"})
    turns = 0

    async def work() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    working = asyncio.create_task(work())
    assert len(await entries(journal)) == 5 * SLICE
    working.cancel()
    assert turns >= 5


async def test_two_labs_and_two_solutions_are_distinct(control: Control) -> None:
    other = await Control.start(LabSettings(https_port=0), seed=7)
    try:
        for each in (control, other):
            for id in ("acme", "second"):
                await each.solutions.add(SolutionSettings(id=id))
        await control.services.call("acme", "Keystore", "set", {"key": "a", "value": "x"})
        got = [
            (await each.services.call(id, "Keystore", "get", {"key": "a"})).value
            for each in (control, other)
            for id in ("acme", "second")
        ]
        assert got == [{"value": "x"}, {}, {}, {}]
        assert [len(await each.journal.select("call", "acme")) for each in (control, other)] == [2, 1]
    finally:
        await other.stop()


async def test_unknown_names_are_errors_with_the_name(control: Control) -> None:
    with pytest.raises(LabError, match="no product 'x'"):
        await control.identities.allow("x", ["t-1"])
    with pytest.raises(LabError, match="no product 'x'"):
        await control.content.add("x", "fw", b"")
    with pytest.raises(LabError, match="no solution 'x'"):
        await control.services.call("x", "Keystore", "get", {"key": "a"})
    with pytest.raises(LabError, match="no provider 'x'"):
        await control.providers.people("x")


async def test_a_trace_goes_from_the_first_cause_to_the_last_consequence(control: Control) -> None:
    await control.solutions.add(SolutionSettings(id="acme"))
    await control.solutions.add(SolutionSettings(id="other"))
    lua = 'User.createUser({email = "a@example.com", name = "A", password = "correct horse"})'
    await control.solutions.on("acme", "user", "account", 'Keystore.set({key = "n", value = 1})')
    await control.solutions.route("acme", "GET", "/a", lua, "application/json")
    await control.services.call("other", "Keystore", "get", {"key": "a"})
    account = {"email": "b@example.com", "name": "B", "password": "correct horse"}
    await control.services.call("acme", "User", "createUser", account)
    await control.lab.settle()
    [last] = [each for each in await control.journal.select("call") if each.summary == "Keystore.set"]
    trace = await control.journal.trace(last.sequence)
    assert [(each.kind, each.summary) for each in trace] == [
        ("event", "account"),
        ("script", "user account"),
        ("call", "Keystore.set"),
    ]
    assert await control.journal.trace(trace[0].sequence) == trace
    assert await control.journal.trace(10**9) == []


@cases("when", ["2026-03-01", "2026-03-01T00:00Z", "2026-03-01T01:00+01:00", 1772323200])
def test_moments_are_texts_datetimes_and_numbers(when: str | int) -> None:
    assert seconds_of(when, "when") == 1772323200


@cases("when", ["tomorrow", "", None, True, float("nan"), [1]])
def test_an_invalid_moment_is_an_error_with_the_expected_forms(when: object) -> None:
    with pytest.raises(LabError, match=r"start: expected Unix seconds, a datetime or an ISO 8601 text"):
        seconds_of(when, "start")
