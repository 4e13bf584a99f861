"""Pending requests end when the device's credentials are replaced, or it is locked or removed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from labkit.devices.content import PIECE
from tests.device_api.rig import ACTIVATE, ALIAS, DOWNLOAD, FORM, PASSWORD, Client, DeviceRig

POLL = [("Request-Timeout", "30000")]
Change = Callable[[DeviceRig, Client, str], Awaitable[object]]


async def replaced(rig: DeviceRig, device: Client, product: str) -> None:
    answer = await device.ask("POST", ACTIVATE, f"id=d&password={PASSWORD}+new")
    assert answer.status in (200, 204)


async def given_token(rig: DeviceRig, device: Client, product: str) -> None:
    await rig.platform.devices.registry.allow(product, ["d"], "f" * 40)


async def locked(rig: DeviceRig, device: Client, product: str) -> None:
    await rig.platform.devices.registry.lock(product, "d")


async def removed(rig: DeviceRig, device: Client, product: str) -> None:
    await rig.platform.devices.registry.remove(product, "d")


async def reset(rig: DeviceRig, device: Client, product: str) -> None:
    await rig.platform.reset()


CHANGES: list[Change] = [replaced, given_token, locked, removed, reset]


async def holding(rig: DeviceRig, product: str, identity: str = "d") -> tuple[Client, Client]:
    """Return a device, and a connection of its own with a pending poll."""
    device = await rig.device(product, identity)
    poller = await rig.connect(product)
    poller.credentials = device.credentials
    poller.send("GET", f"{ALIAS}?text", headers=POLL)
    await rig.held(1, identity, product=product)
    return device, poller


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("product", ["token", "password"])
async def test_a_poll_ends_with_401(rig: DeviceRig, product: str, change: Change) -> None:
    device, poller = await holding(rig, product)
    _, neighbour = await holding(rig, product, "e")
    _, namesake = await holding(rig, "other")
    await change(rig, device, product)
    for client in (poller, *([neighbour, namesake] if change is reset else [])):
        answer = await client.answer()
        assert answer.status == 401
        assert answer.header("WWW-Authenticate") is not None
        assert answer.body == b"the credentials were replaced, or the device locked or removed, meanwhile"
    assert len(rig.platform.devices.polls) == (0 if change is reset else 2)


async def test_a_poll_continues_if_no_access_is_revoked(rig: DeviceRig) -> None:
    device, poller = await holding(rig, "token")
    registry = rig.platform.devices.registry
    await registry.allow("token", ["d"])
    assert (await (await rig.connect()).ask("POST", ACTIVATE, "id=d")).status == 409
    assert (await device.ask("POST", ALIAS, "text=x")).status == 204
    assert (await poller.answer()).body == b"text=x"


async def test_a_write_whose_device_is_locked_before_its_end_is_not_stored(rig: DeviceRig) -> None:
    device = await rig.device()
    name, token = device.credentials[0]
    head = f"POST {ALIAS} HTTP/1.1\r\nHost: {device.host}\r\n{FORM[0]}: {FORM[1]}\r\n{name}: {token}\r\n"
    device.write(f"{head}Content-Length: 6\r\n\r\ntex".encode())
    other = await rig.connect()
    while not rig.platform.devices.registry._authorizations:
        await other.ask("GET", "/timestamp")
    await rig.platform.devices.registry.lock("token", "d")
    device.write(b"t=x")
    assert (await device.answer()).status == 401
    assert (await rig.kept())["datapoint"] == []


@pytest.mark.parametrize("change", CHANGES[1:4], ids=lambda change: change.__name__)
async def test_a_download_is_cut(rig: DeviceRig, change: Change) -> None:
    device = await rig.device()
    await rig.platform.devices.content.add("token", "fw", b"a" * 500 * PIECE)
    device.send("GET", f"{DOWNLOAD}?id=fw")  # a slow reader
    other = await rig.connect()
    while not any(
        each.end for some in rig.platform.devices.registry._authorizations.values() for each in some
    ):
        await other.ask("GET", "/timestamp")
    await asyncio.sleep(0.05)
    await change(rig, device, "token")
    came = await device.rest()  # the connection ends: the client can detect that the content is incomplete
    assert came.count(b"a" * PIECE) < 500
    while rig.platform.devices.registry._authorizations:
        await other.ask("GET", "/timestamp")
    [record] = [
        each for each in rig.platform.context.journal.select("request") if each.summary.endswith("download")
    ]
    assert record.detail is not None
    assert "replaced, or the device locked or removed" in str(record.detail["reason"])


async def test_requests_that_end_leave_no_state(rig: DeviceRig) -> None:
    device = await rig.device()
    for path in (f"{ALIAS}?text", DOWNLOAD, "/nowhere"):
        await device.ask("GET", path)
    await device.ask("POST", ALIAS, "text=x")
    await device.ask("POST", ACTIVATE, "id=d")
    assert rig.platform.devices.registry._authorizations == {}
