"""Streams as server-sent events: records of the journal and lines of scripts' logs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from labkit.control import following
from labkit.control.control import Control
from labkit.fleet.flow import FlowClient, LabAddress
from labkit.platform import Platform
from tests.control.over_http.caller import Caller
from tests.guard import PATIENCE

Event = dict[str, Any]


@asynccontextmanager
async def followed(caller: Caller, path: str, **arguments: Any) -> AsyncIterator[AsyncIterator[Event]]:
    """Follow a stream from the first byte of its answer on."""
    async with caller.client.stream("POST", path, json=arguments) as answer:
        assert answer.status_code == 200
        assert answer.headers["Content-Type"] == "text/event-stream"
        lines = answer.aiter_lines()
        assert await anext(lines) == ":"
        yield events(lines)


async def events(lines: AsyncIterator[str]) -> AsyncIterator[Event]:
    event: Event = {}
    async for line in lines:
        name, _, value = line.partition(": ")
        if line == "":
            if event:
                yield event
            event = {}
        elif name:
            event[name] = json.loads(value) if name == "data" else value


async def test_the_journal_is_followed_with_filters(caller: Caller) -> None:
    for id in ("acme", "other"):
        await caller.result("solutions.ensure", settings={"id": id})
    calls = {"service": "Keystore", "operation": "set", "parameters": {"key": "a", "value": "x"}}
    async with followed(caller, "/v1/journal/follow", kinds=["call"], actor="acme") as stream:
        for id in ("other", "acme", "acme"):
            await caller.result("services.call", solution=id, **calls)
        first, second = await anext(stream), await anext(stream)
    assert [each["id"] for each in (first, second)] == ["1", "2"]
    data = first["data"]
    assert (data["kind"], data["actor"], data["summary"]) == ("call", "acme", "Keystore.set")
    assert data["detail"]["parameters"]["key"] == "a"
    [*_, kept] = await caller.result("journal.select", kind="call", actor="acme")
    assert second["data"] == kept


async def test_a_record_is_sent_once_it_is_complete(caller: Caller, platform: Platform) -> None:
    async with followed(caller, "/v1/journal/follow") as stream:
        record = platform.context.journal.open("request", "t/1", "GET /")
        platform.context.journal.record("log", "acme", "on two\nlines")
        record.status = 204
        platform.context.journal.end(record)
        first, second = (await anext(stream))["data"], (await anext(stream))["data"]
    assert (first["kind"], first["summary"]) == ("log", "on two\nlines")
    assert (second["kind"], second["status"]) == ("request", 204)


async def test_the_log_of_a_script_is_followed(caller: Caller, platform: Platform) -> None:
    await caller.result("solutions.ensure", settings={"id": "acme"})
    await caller.result(
        "solutions.route",
        id="acme",
        method="GET",
        path="/a",
        lua="print('one') return 1",
        content_type="text/plain",
    )
    listening = platform.context.address
    address = LabAddress(listening.host, listening.https_port, listening.ca_pem)
    client = FlowClient(address, "acme.apps.lab.localhost")
    async with followed(caller, "/v1/solutions/follow_logs", id="acme") as stream:
        await client.request("GET", "/a")
        printed, run = (await anext(stream))["data"], (await anext(stream))["data"]
    await client.close()
    assert (printed["level"], printed["run"], printed["text"]) == ("print", "GET /a", "one")
    assert (run["level"], run["run"], run["status"]) == ("run", "GET /a", 200)


async def test_a_slow_reader_is_told_how_many_records_it_missed(platform: Platform) -> None:
    control = Control(platform)
    journal = platform.context.journal
    stream = await control.journal.follow(["log"])
    for number in range(following.ROOM + 7):
        journal.record("log", "acme", f"line {number}")
    for number in range(following.ROOM):
        item = await anext(stream)
        assert not isinstance(item, following.Missed)
        assert item.summary == f"line {number}"
    assert await anext(stream) == following.Missed(missed=7)
    journal.record("log", "acme", "again")
    again = await anext(stream)
    assert not isinstance(again, following.Missed)
    assert again.summary == "again"


async def test_readers_share_what_is_made_of_a_record(platform: Platform) -> None:
    control = Control(platform)
    for follow in (control.journal.follow, control.lab.follow):
        streams = [await follow() for _ in range(2)]
        platform.context.journal.record("log", "acme", "a line")
        first, second = [await anext(each) for each in streams]
        assert first is second


async def test_a_stream_ends_with_its_client(caller: Caller, platform: Platform) -> None:
    journal = platform.context.journal
    before = journal._end_watchers
    async with asyncio.timeout(PATIENCE):
        async with followed(caller, "/v1/journal/follow"):
            assert len(journal._end_watchers) == len(before) + 1
        while journal._end_watchers != before:  # noqa: ASYNC110  nothing tells
            await asyncio.sleep(0.01)


async def test_a_stream_of_an_unknown_solution_is_refused(caller: Caller) -> None:
    assert (await caller.refused("solutions.follow_logs", id="x"))[0] == 404
