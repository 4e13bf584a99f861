"""Write, read and hybrid requests: odd forms, stored rows, races, and limits of events."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.devices.products import PlatformProduct
from labkit.settings import ProductSettings
from tests.device_api.rig import ALIAS, Client, DeviceRig

ODD = ["", " ", "a b", "a+b", "a&b=c", "100%", "%41", "\r\n\t\x00", "üß€🌡", "~_.-", "x" * 5000]


async def read(client: Client, query: str) -> list[tuple[str, str]] | None:
    """Return the pairs of the answer; None for 204."""
    answer = await client.ask("GET", f"{ALIAS}?{query}")
    assert answer.status in (200, 204)
    if answer.status == 204:
        return None
    assert answer.header("Content-Type") == "application/x-www-form-urlencoded; charset=utf-8"
    return answer.pairs


async def test_unescaped_utf_8_and_plus_are_understood(rig: DeviceRig) -> None:
    client = await rig.device()
    await client.ask("POST", ALIAS, "text=ü+%2B".encode())
    assert await read(client, "te%78t") == [("text", "ü +")]


async def test_all_values_of_a_request_have_its_second(rig: DeviceRig) -> None:
    client = await rig.device()
    await rig.platform.context.clock.advance(0.999)
    await client.ask("POST", ALIAS, "text=a&number=1")
    await rig.platform.context.clock.advance(0.001)
    await client.ask("POST", ALIAS, "text=b")
    rows = (await rig.kept())["datapoint"]
    assert [row[2:5] for row in rows] == [
        ("number", 1767225600, "1"),
        ("text", 1767225600, "a"),
        ("text", 1767225601, "b"),
    ]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("text=&number=5", [("text", "a"), ("number", "1")]),
        ("&text&", [("text", "a")]),
    ],
)
async def test_a_read_returns_the_aliases_of_its_query(
    rig: DeviceRig, query: str, found: list[tuple[str, str]] | None
) -> None:
    client = await rig.device()
    await client.ask("POST", ALIAS, "text=a&number=1")
    assert await read(client, query) == found


@pytest.mark.parametrize(
    ("body", "stored"),
    [
        ("text=a=b", [("text", "a=b")]),
        ("Text=1", None),
    ],
)
async def test_what_a_body_stores(rig: DeviceRig, body: str, stored: list[tuple[str, str]] | None) -> None:
    client = await rig.device()
    assert (await client.ask("POST", ALIAS, body)).status == 204
    assert await read(client, "text&unknown&Text") == stored
    assert len(rig.events("data_in")) == 1


async def test_resources_can_change_on_a_running_lab(rig: DeviceRig) -> None:
    client = await rig.device()
    await client.ask("POST", ALIAS, "new=1")
    rig.platform.devices.products.get("token").change(resources={"new": "string"})
    await client.ask("POST", ALIAS, "new=2&text=2")
    assert await read(client, "new&text") == [("new", "2")]


async def test_concurrent_writes_are_all_stored(rig: DeviceRig) -> None:
    clients = [await rig.device(identity=f"d{number}") for number in range(20)]
    answers = await asyncio.gather(
        *(client.ask("POST", f"{ALIAS}?text", f"text={number}") for number, client in enumerate(clients))
    )
    assert [answer.pairs for answer in answers] == [[("text", str(number))] for number in range(20)]


async def test_a_write_whose_client_leaves_is_stored_with_its_events(rig: DeviceRig) -> None:
    """Devices may send and close at once: the value may come too late, but never without its events."""
    reader = await rig.device(identity="d")
    for number in range(10):
        client = await rig.connect()
        client.credentials = reader.credentials
        client.send("POST", ALIAS, f"text={number}")
        for _ in range(number):
            await asyncio.sleep(0)
        client.leave()
        await rig.idle()
        await reader.ask("GET", "/timestamp")
        stored = await read(reader, "text")
        values = [payload["value"][1] for payload in rig.payloads("datapoint")]
        assert [value for _, value in stored or []] == values[-1:]


# --- limits of events ---------------------------------------------------------------------------------------


async def test_a_write_waits_while_too_many_events_of_its_device_are_queued(
    rig: DeviceRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, other = await rig.device(identity="d"), await rig.device(identity="e")
    gate = asyncio.Event()
    for _ in range(1000):
        rig.platform.context.events.queue("token/d", "solution", lambda _: gate.wait(), None)
    client.send("POST", ALIAS, "text=held")
    assert (await other.ask("POST", ALIAS, "text=not held")).status == 204
    while not (held := rig.platform.context.journal.select("backpressure")):
        await other.ask("GET", "/timestamp")
    assert (held[0].actor, held[0].size) == ("token/d", 1000)
    assert await rig.platform.devices.state.latest("token", "d", ["text"]) == []
    rig.platform.context.clock.run(1e6)  # a second of lab time is a microsecond
    while rig.platform.context.clock.now() < 1767225600 + 10:
        await other.ask("GET", "/timestamp")
    gate.set()
    assert (await client.answer()).status == 204
    assert await read(client, "text") == [("text", "held")]
    [row] = [row for row in (await rig.kept())["datapoint"] if row[1] == "d"]
    assert row[2:5] == ("text", 1767225600, "held")  # stamped when it was received


# --- the values that a resource accepts: a property -----------------------------------------------------------


@given(st.text(max_size=12), st.sampled_from(["number", "integer", "float", "boolean"]))
def test_an_accepted_value_has_the_format_of_its_resource(value: str, format: str) -> None:
    product = PlatformProduct(ProductSettings.model_validate({"id": "p", "resources": {"a": format}}), "p")
    if product.value_error("a", value) is not None:
        return
    assert value.isascii()
    if format == "boolean":
        assert value in ("true", "false", "1", "0")
    else:
        number = float(value)
        assert number - number == 0  # finite
        assert format != "integer" or number == int(value)
