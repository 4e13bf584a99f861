"""Long polling: headers, clients that disconnect, restarts, and many concurrent polls."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from labkit.devices.state import Datapoint, Stored
from tests.device_api.rig import ALIAS, Answer, Client, DeviceRig
from tests.device_api.rig import device_rig as lab
from tests.sizes import size

NOW = 1767225600
POLL = f"{ALIAS}?text"


def poll_headers(timeout: int = 30_000, since: str | int | None = None) -> list[tuple[str, str]]:
    """Return the headers of a long poll."""
    return [
        ("Request-Timeout", str(timeout)),
        *([] if since is None else [("If-Modified-Since", str(since))]),
    ]


async def polling(rig: DeviceRig, since: str | int | None = None) -> tuple[Client, Client]:
    """Return a device that writes, and a connection of the same device with a pending poll."""
    writer, poller = await rig.device(), await rig.connect()
    poller.credentials = writer.credentials
    poller.send("GET", POLL, headers=poll_headers(since=since))
    await rig.held(1)
    return writer, poller


def datapoint_of(answer: Answer) -> tuple[list[tuple[str, str]], str | None]:
    assert answer.status == 200
    assert answer.header("Content-Type") == "application/x-www-form-urlencoded; charset=utf-8"
    return answer.pairs, answer.header("Last-Modified")


async def test_a_value_that_no_poll_received_answers_a_poll_from_its_own_second(rig: DeviceRig) -> None:
    client = await rig.device()
    for value in ("first", "second"):  # all in one second
        await client.ask("POST", ALIAS, f"text={value}")
        assert (
            await client.ask("HEAD", POLL, headers=poll_headers(0, NOW))
        ).status == 200  # its answer has no value
        assert datapoint_of(await client.ask("GET", POLL, headers=poll_headers(0, NOW))) == (
            [("text", value)],
            str(NOW),
        )
        assert (await client.ask("GET", POLL, headers=poll_headers(0, NOW))).status == 304
    assert (await client.ask("GET", f"{ALIAS}?text")).pairs == [("text", "second")]
    await client.ask("POST", ALIAS, "text=third")
    assert (await client.ask("GET", f"{ALIAS}?text")).pairs == [
        ("text", "third")
    ]  # a request that is no poll
    assert datapoint_of(await client.ask("GET", POLL, headers=poll_headers(0, NOW)))[0] == [("text", "third")]


async def test_an_answer_whose_client_has_left_does_not_count_as_received(rig: DeviceRig) -> None:
    writer = await rig.device()
    for number in range(10):
        poller = await rig.connect()
        poller.credentials = writer.credentials
        poller.send("GET", POLL, headers=poll_headers(since=NOW))
        await rig.held(1)
        writer.send("POST", ALIAS, f"text={number}")
        poller.leave()
        assert (await writer.answer()).status == 204
        await rig.idle()
        again = await writer.ask("GET", POLL, headers=poll_headers(0, NOW))
        assert datapoint_of(again) == ([("text", str(number))], str(NOW))
        await writer.ask(
            "GET", "/timestamp"
        )  # the connection has the value, which answers no other client that names the second


@pytest.mark.parametrize("clean", [True, False])
async def test_a_restart_confirms_no_answer_and_a_regular_one_keeps_seen_values(
    tmp_path: Path, clean: bool
) -> None:
    async def asks(client: Client, since: int) -> tuple[int, bytes]:
        answer = await client.ask("GET", POLL, headers=poll_headers(0, since))
        return answer.status, answer.body

    given = (200, b"text=x")
    async with lab(data=str(tmp_path / "lab.db")) as rig:
        writer, client = await rig.device(), await rig.connect()
        client.credentials = credentials = writer.credentials
        await writer.ask("POST", ALIAS, "text=x")
        assert await asks(client, NOW) == given  # no request confirms it
        if not clean:
            await rig.platform.restart()
            client = await rig.connect()
            client.credentials = credentials
            assert await asks(client, NOW) == given
            assert await asks(client, 0) == given  # from now on it counts as seen
            await rig.platform.restart()
        await rig.platform.stop()
    async with lab(data=str(tmp_path / "lab.db")) as rig:
        client = await rig.connect()
        client.credentials = credentials
        assert await asks(client, NOW) == given
        assert await asks(client, 0) == given
    async with lab(data=str(tmp_path / "lab.db")) as rig:
        client = await rig.connect()
        client.credentials = credentials
        assert await asks(client, NOW) == (304, b"")


async def test_a_reset_forgets_the_answers_of_connections(rig: DeviceRig) -> None:
    """Also if the connection stays open, because a request on it is in progress."""
    client = await rig.device()
    poller = await rig.connect()
    poller.credentials = client.credentials
    for value in ("first", "second", "third"):
        await client.ask("POST", ALIAS, f"text={value}")
    assert datapoint_of(await poller.ask("GET", POLL, headers=poll_headers(0, NOW)))[1] == str(NOW)
    assert (await poller.ask("GET", POLL, headers=poll_headers(0, NOW))).status == 304
    poller.send("GET", POLL, headers=poll_headers(since=NOW))
    await rig.held(1)
    await rig.platform.reset()
    assert (await poller.answer()).status == 401
    client = await rig.device()
    poller.credentials = client.credentials
    await client.ask("POST", ALIAS, "text=anew")
    assert datapoint_of(await poller.ask("GET", POLL, headers=poll_headers(0, NOW)))[0] == [("text", "anew")]


async def test_a_client_that_disconnects_leaves_no_poll_and_gets_no_value(rig: DeviceRig) -> None:
    writer, poller = await polling(rig, 0)
    tasks = len(asyncio.all_tasks())
    poller.leave()
    while len(rig.platform.devices.polls):  # until the server has noticed
        await writer.ask("GET", "/timestamp")
    await rig.idle()
    assert len(asyncio.all_tasks()) < tasks
    assert rig.platform.context.activity.running == 0
    entry = rig.platform.context.journal.select("request", "token/d")[1]
    assert (entry.status, entry.detail) == (None, {"reason": "the connection ended before the answer"})
    await writer.ask("POST", ALIAS, "text=x")
    assert datapoint_of(await writer.ask("GET", POLL, headers=poll_headers(0, 0)))[0] == [("text", "x")]
    left = [timer for _, _, timer in rig.platform.context.clock._timers if timer.callback]
    assert len(left) == 1  # the end of the other device's connection, which is idle now


async def test_a_lab_that_closes_ends_its_polls() -> None:
    async with lab() as rig:
        _, poller = await polling(rig)
        await rig.platform.stop()
        assert await poller.rest() == b""
        assert len(rig.platform.devices.polls) == 0


async def test_each_poll_is_answered_by_the_write_of_its_device(rig: DeviceRig) -> None:
    """Ten devices at a time, with a poll each, repeatedly."""
    devices = [await rig.device(identity=f"d{number}") for number in range(10)]
    for turn in range(size(10, 100)):
        pollers = []
        for number, device in enumerate(devices):
            poller = await rig.connect()
            poller.credentials = device.credentials
            poller.send("GET", POLL, headers=poll_headers())
            pollers.append(poller)
            await rig.held(1, identity=f"d{number}")
        for number, device in enumerate(devices):
            await device.ask("POST", ALIAS, f"text={turn}-{number}")
        assert [datapoint_of(await poller.answer())[0] for poller in pollers] == [
            [("text", f"{turn}-{number}")] for number in range(10)
        ]
        for poller in pollers:
            poller.leave()


@pytest.mark.parametrize("product", ["password", "certificate"])
async def test_polls_with_other_kinds_of_credentials(rig: DeviceRig, product: str) -> None:
    device = await rig.device(product)
    device.send("GET", POLL, headers=poll_headers())
    await rig.held(1, product=product)
    point = Stored(Datapoint("text", NOW, "from elsewhere"), 1)
    rig.platform.devices.polls.wake(product, "d", [point], written=True)
    assert datapoint_of(await device.answer())[0] == [("text", "from elsewhere")]
