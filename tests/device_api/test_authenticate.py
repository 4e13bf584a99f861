"""Authentication beyond the checks: locks, repeated heads, and races."""

from __future__ import annotations

import asyncio

import pytest

from tests.device_api.rig import (
    ACTIVATE,
    ALIAS,
    DOWNLOAD,
    PATIENCE,
    RECORD,
    Client,
    DeviceRig,
)

REQUESTS = [
    ("GET", f"{ALIAS}?text", None),
    ("POST", ALIAS, "text=x"),
    ("POST", f"{ALIAS}?text", "text=x"),
    ("POST", RECORD, "alias=text&1=x"),
    ("GET", DOWNLOAD, None),
    ("GET", f"{DOWNLOAD}?id=none", None),
]


async def statuses(client: Client) -> set[int]:
    """Return the statuses of the endpoints that need credentials; 404 is the one of an authenticated download."""
    found = {(await client.ask(*request)).status for request in REQUESTS}
    return {401} if found == {401} else found - {200, 204, 404}


# --- accepted credentials -----------------------------------------------------------------------------------


async def test_a_401_names_the_charset_of_passwords(rig: DeviceRig) -> None:
    client = await rig.connect("password")
    answer = await client.ask("GET", DOWNLOAD)
    assert answer.header("WWW-Authenticate") == 'Basic realm="device", charset="UTF-8"'


# --- 401: locked, not whitelisted ---------------------------------------------------------------------------


@pytest.mark.parametrize("product", ["token", "password", "certificate"])
async def test_a_locked_device_is_refused_with_valid_credentials(rig: DeviceRig, product: str) -> None:
    client = await rig.device(product)
    await rig.platform.devices.registry.lock(product, "d")
    assert await statuses(client) == {401}
    assert (await client.ask("POST", ACTIVATE, "")).status == 401
    await rig.platform.devices.registry.lock(product, "d", False)
    assert await statuses(client) == set()


@pytest.mark.parametrize("product", ["token", "password", "certificate"])
async def test_without_self_registration_a_device_that_is_not_whitelisted_is_refused(
    rig: DeviceRig, product: str
) -> None:
    client = await rig.device(product)
    rig.platform.devices.products.get(product).change(self_registration=False)
    assert await statuses(client) == {401}
    assert (await client.ask("POST", ACTIVATE, "")).status == 401
    await rig.platform.devices.registry.allow(product, ["d"])
    assert await statuses(client) == set()


# --- repeated heads on a connection: the parsed credential is cached, its validity is not ---------------------


@pytest.mark.parametrize("product", ["token", "password"])
async def test_a_repeated_head_is_valid_as_long_as_its_credential(rig: DeviceRig, product: str) -> None:
    client = await rig.device(product)
    registry, other = rig.platform.devices.registry, "password" if product == "token" else "token"
    change = rig.platform.devices.products.get(product).change

    async def status() -> int:
        return (await client.ask("POST", ALIAS, "text=x")).status

    assert [await status(), await status()] == [204, 204]
    change(auth=other)
    assert await status() == 401
    change(auth=product)
    assert [await status(), await status()] == [204, 204]
    await registry.lock(product, "d")
    assert await status() == 401
    await registry.lock(product, "d", False)
    assert [await status(), await status()] == [204, 204]
    await registry.remove(product, "d")
    assert [await status(), await status()] == [401, 401]


async def test_a_credential_that_is_replaced_during_its_request_is_401(rig: DeviceRig) -> None:
    slow, quick = await rig.device(), await rig.connect()
    quick.credentials = slow.credentials
    authenticated = asyncio.Event()
    rig.platform.context.journal.watch(
        lambda entry: authenticated.set() if entry.actor == "token/d" else None
    )
    slow.write(
        f"POST {ACTIVATE} HTTP/1.1\r\nHost: {slow.host}\r\nContent-Length: 4\r\n"
        f"X-Platform-CIK: {slow.credentials[0][1]}\r\n\r\n".encode()
    )
    async with asyncio.timeout(PATIENCE):
        await authenticated.wait()  # the request waits for its body
    token = (await quick.ask("POST", ACTIVATE, "id=d")).body.decode()
    slow.write(b"id=d")
    assert (await slow.answer()).status == 401
    slow.credentials = [("X-Platform-CIK", token)]
    assert await statuses(slow) == set()
