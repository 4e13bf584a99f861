"""Events that requests emit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labkit.core.records import Record
from tests.device_api.rig import ALIAS, RECORD, DeviceRig, Headers
from tests.device_api.rig import device_rig as lab

NOW = 1767225600


async def test_a_write_raises_one_data_in_and_a_datapoint_for_each_alias(rig: DeviceRig) -> None:
    client = await rig.device()
    await rig.platform.context.clock.advance(1.25)
    await client.ask("POST", ALIAS, "text=a&number=1&unknown=x")
    [data_in] = rig.payloads("data_in")
    micros = (NOW + 1) * 1_000_000 + 250_000
    connection = data_in.pop("connection_id")
    assert data_in == {
        "type": "data_in",
        "domain": "token.m2.lab.localhost",
        "identity": "d",
        "protocol": "onep",
        "ip": "127.0.0.1",
        "timestamp": micros,
        "payload": [{"timestamp": micros, "values": {"text": "a", "number": "1"}}],
    }
    assert len(connection) == 20
    text, number = rig.payloads("datapoint")
    assert text.pop("rid") != number.pop("rid")
    assert text == {
        "api": "write",
        "alias": "text",
        "value": [NOW + 1, "a"],
        "device_sn": "d",
        "seq": 1,
        "vendor": "token",
        "pid": "token",
        "source_ip": "127.0.0.1",
        "timestamp": micros,
    }
    assert (number["alias"], number["value"]) == ("number", [NOW + 1, "1"])


async def test_a_record_raises_an_entry_for_each_timestamp_and_a_datapoint_for_each_point(
    rig: DeviceRig,
) -> None:
    client = await rig.device()
    await client.ask("POST", RECORD, "alias=text&7=b&5=a&alias=number&5=1")
    [data_in] = rig.payloads("data_in")
    assert data_in["payload"] == [
        {"timestamp": 5_000_000, "values": {"text": "a", "number": "1"}},
        {"timestamp": 7_000_000, "values": {"text": "b"}},
    ]
    assert [
        (each["api"], each["alias"], each["value"], each["seq"]) for each in rig.payloads("datapoint")
    ] == [
        ("record", "text", [7, "b"], 1),
        ("record", "text", [5, "a"], 2),
        ("record", "number", [5, "1"], 1),
    ]


async def test_a_resource_keeps_its_id_and_counts_its_points(rig: DeviceRig) -> None:
    first, second = await rig.device(identity="d"), await rig.device(identity="e")
    for client in (first, first, second):
        await client.ask("POST", ALIAS, "text=x")
    one, two, other = rig.payloads("datapoint")
    assert one["rid"] == two["rid"] != other["rid"]
    assert [each["seq"] for each in (one, two, other)] == [1, 2, 1]


async def test_events_of_a_request_are_in_its_order(rig: DeviceRig) -> None:
    client = await rig.device()
    await client.ask("POST", ALIAS, "text=x&number=1")
    entries = list(rig.platform.context.journal)[-4:]
    assert [(entry.kind, entry.actor, entry.summary) for entry in entries] == [
        ("request", "token/d", f"POST {ALIAS}"),
        ("event", "token/d", "data_in"),
        ("event", "token/d", "datapoint"),
        ("event", "token/d", "datapoint"),
    ]
    assert {entry.cause for entry in entries[1:]} == {entries[0].sequence}


async def test_events_without_receivers_are_recorded_as_those_that_are_watched(rig: DeviceRig) -> None:
    client = await rig.device()
    journal = rig.platform.context.journal
    shown = []
    for watch in (False, True):
        journal.clear()
        stop = journal.watch_kind("event", lambda entry: None) if watch else lambda: None
        await client.ask("POST", ALIAS, "text=a&number=1")
        await client.ask("POST", RECORD, "alias=text&7=b&5=a&alias=number&5=1")
        await client.ask("POST", ALIAS, f"text={'x' * 5000}&number=2")
        stop()
        shown.append(
            [
                (each.sequence, each.kind, each.actor, each.count, each.summary, each.cause, comparable(each))
                for each in journal
            ]
        )
    assert shown[0] == shown[1]
    assert len(shown[0]) == 3 + 3 + 4 + 3


def comparable(entry: Record) -> dict[str, Any]:
    """Return the detail of a record without the number of a datapoint, which no other has."""
    return {key: value for key, value in (entry.detail or {}).items() if key not in ("seq", "duration")}


async def test_a_request_that_stores_nothing_emits_no_event(rig: DeviceRig) -> None:
    client = await rig.device()
    before = rig.events()
    requests: list[tuple[Any, ...]] = [
        ("POST", RECORD, "alias=unknown&1=1"),
        ("GET", f"{ALIAS}?text"),
        ("GET", "/provision/download"),
        ("GET", "/timestamp"),
        ("POST", ALIAS, "number=x"),
    ]
    for request in requests:
        await client.ask(*request)
    assert rig.events() == before


async def test_a_write_of_unknown_aliases_alone_raises_a_data_in_without_values(rig: DeviceRig) -> None:
    client = await rig.device()
    assert (await client.ask("POST", ALIAS, "Text=1&unknown=2")).status == 204
    [data_in] = rig.payloads("data_in")
    entry = {"timestamp": data_in["timestamp"], "values": {}}
    assert (data_in["identity"], data_in["payload"]) == ("d", [entry])
    assert rig.events("datapoint") == []
    request = rig.platform.context.journal.select("request")[-1]
    assert request.detail == {
        "not_stored": [("Text", "1"), ("unknown", "2")],
        "unknown_aliases": ["Text", "unknown"],
        "hint": "ignored, since the product has no resource 'Text', 'unknown'; did you mean text?",
    }


@pytest.mark.parametrize(
    ("method", "query", "body", "fields", "hint"),
    [
        ("GET", "?Text", None, (), "ignored, since the product has no resource 'Text'; did you mean text?"),
        ("POST", "", '{"text": 1}', (), "expected alias=value, as application/x-www-form-urlencoded"),
        ("GET", "?text&number", None, [("Request-Timeout", "5")], "are 0.005 s; did you mean 5000?"),
    ],
)
async def test_the_journal_has_what_is_hardly_meant(
    rig: DeviceRig, method: str, query: str, body: str | None, fields: Headers, hint: str
) -> None:
    await (await rig.device()).ask(method, f"{ALIAS}{query}", body, headers=fields)
    detail = rig.platform.context.journal.select("request")[-1].detail or {}
    assert str(detail["hint"]).endswith(hint)


async def test_the_journal_has_values_that_others_of_the_request_replaced(rig: DeviceRig) -> None:
    client = await rig.device()
    for body, dropped in (("text=1&text=2&text=2", [("text", "1")]), ("text=1&number=2", None)):
        await client.ask("POST", ALIAS, body)
        detail = rig.platform.context.journal.select("request")[-1].detail
        assert detail == (dropped and {"not_stored": dropped})


async def test_the_journal_cuts_values_that_are_not_stored(rig: DeviceRig) -> None:
    client = await rig.device()
    await client.ask("POST", ALIAS, "&".join(f"{number}{'x' * 500}={'y' * 500}" for number in range(60)))
    detail = rig.platform.context.journal.select("request")[-1].detail
    assert detail is not None
    dropped: Any = detail["not_stored"]
    assert dropped[0] == ("0" + "x" * 500, "y" * 500)
    assert len(dropped) < 60


async def test_a_reset_restarts_numbering(tmp_path: Path) -> None:
    async with lab(data=str(tmp_path / "lab.db")) as rig:
        seen = []
        for _ in range(2):
            client = await rig.device()
            await client.ask("POST", ALIAS, "text=x")
            seen += [each["seq"] for each in rig.payloads("datapoint")]
            await rig.platform.reset()
        assert seen == [1, 1]
