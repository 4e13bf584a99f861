"""Whose request it is, and who gets 401, 403, 404 or 409: the table of `device_api/authenticate`, row by row."""

from __future__ import annotations

import asyncio

import pytest

from tests.device_api.rig import (
    ACTIVATE,
    ALIAS,
    DOWNLOAD,
    PASSWORD,
    PATIENCE,
    RECORD,
    Client,
    DeviceRig,
    Headers,
    basic,
    pair,
)
from tests.device_api.rig import device_rig as lab

REQUESTS = [
    ("GET", f"{ALIAS}?text", None),
    ("POST", ALIAS, "text=x"),
    ("POST", f"{ALIAS}?text", "text=x"),
    ("POST", RECORD, "alias=text&1=x"),
    ("GET", DOWNLOAD, None),
    ("GET", f"{DOWNLOAD}?id=none", None),
]


async def statuses(client: Client) -> set[int]:
    """What the endpoints that need credentials answer; 404 is that of an authenticated download."""
    found = {(await client.ask(*request)).status for request in REQUESTS}
    return {401} if found == {401} else found - {200, 204, 404}


# --- who is let in ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("product", ["token", "password", "certificate"])
async def test_a_provisioned_device_is_let_in_everywhere(rig: DeviceRig, product: str) -> None:
    client = await rig.device(product)
    assert await statuses(client) == set()
    assert rig.platform.context.journal.select("request")[-1].actor == f"{product}/d"


@pytest.mark.parametrize("product", ["token", "password", "certificate"])
async def test_nobody_is_let_in_without_credentials(rig: DeviceRig, product: str) -> None:
    await rig.device(product)
    assert await statuses(await rig.connect(product)) == {401}


@pytest.mark.parametrize(
    ("product", "challenge"),
    [
        ("token", "Token"),
        ("password", 'Basic realm="device", charset="UTF-8"'),
        ("certificate", "Certificate"),
    ],
)
async def test_a_401_says_how_to_authenticate(rig: DeviceRig, product: str, challenge: str) -> None:
    client = await rig.connect(product)
    assert (await client.ask("GET", DOWNLOAD)).header("WWW-Authenticate") == challenge


async def test_a_credential_is_good_for_its_own_product_alone(rig: DeviceRig) -> None:
    device, other = await rig.device(), await rig.connect("other")
    other.credentials = device.credentials
    assert await statuses(other) == {401}


@pytest.mark.parametrize("scheme", ["token", "Token", "TOKEN"])
async def test_a_token_may_come_in_authorization(rig: DeviceRig, scheme: str) -> None:
    device = await rig.device()
    device.credentials = [("Authorization", f"{scheme}   {device.credentials[0][1]} ")]
    assert await statuses(device) == set()


async def test_wire_switches_name_the_headers_of_tokens() -> None:
    async with lab(wire={"token_headers": ["X-Other-CIK", "X-Third"], "authorization_token": False}) as rig:
        device = await rig.device()
        token = device.credentials[0][1]
        for headers, expected in (
            ([("x-other-cik", token)], set()),
            ([("X-Third", token)], set()),
            ([("X-Platform-CIK", token)], {401}),
            ([("Authorization", f"token {token}")], {401}),
            ([("X-Third", token), ("X-Other-CIK", token)], {400}),
        ):
            device.credentials = headers
            assert await statuses(device) - {204} == expected


async def test_identities_and_passwords_are_utf_8(rig: DeviceRig) -> None:
    client = await rig.connect("password")
    body = "id=ger%C3%A4t&password=gehe%3Aim+und+lang+genug%21"
    assert (await client.ask("POST", ACTIVATE, body)).status == 204
    client.credentials = [basic("gerät", "gehe:im und lang genug!")]  # a password may have a colon
    assert await statuses(client) == set()


async def test_timestamp_asks_for_nothing_and_looks_at_nothing(rig: DeviceRig) -> None:
    client = await rig.connect()
    wrong: Headers
    for wrong in ([], [("X-Platform-CIK", "x")] * 2, [basic("d", "x")], [("Authorization", "Basic *")]):
        assert (await client.ask("GET", "/timestamp", headers=wrong)).body == b"1767225600"


# --- 401: locked, not whitelisted ---------------------------------------------------------------------------


@pytest.mark.parametrize("product", ["token", "password", "certificate"])
async def test_a_locked_device_is_kept_out_with_valid_credentials(rig: DeviceRig, product: str) -> None:
    client = await rig.device(product)
    await rig.platform.devices.registry.lock(product, "d")
    assert await statuses(client) == {401}
    assert (await client.ask("POST", ACTIVATE, "")).status == 401
    await rig.platform.devices.registry.lock(product, "d", False)
    assert await statuses(client) == set()


@pytest.mark.parametrize("product", ["token", "password", "certificate"])
async def test_switching_self_registration_off_keeps_out_who_is_not_whitelisted(
    rig: DeviceRig, product: str
) -> None:
    client = await rig.device(product)
    rig.platform.devices.products.get(product).change(self_registration=False)
    assert await statuses(client) == {401}
    assert (await client.ask("POST", ACTIVATE, "")).status == 401
    await rig.platform.devices.registry.allow(product, ["d"])
    assert await statuses(client) == set()


# --- activate: 401, 403, 404, 409 ---------------------------------------------------------------------------


async def test_provisioning_switched_off_is_403(rig: DeviceRig) -> None:
    client = await rig.connect("off")
    assert (await client.ask("POST", ACTIVATE, "id=allowed")).status == 403
    await rig.platform.devices.registry.allow("off", ["allowed"], "0" * 40)
    client.credentials = [("X-Platform-CIK", "0" * 40)]  # preset: it works, and cannot be replaced
    assert await statuses(client) == set()
    assert (await client.ask("POST", ACTIVATE, "")).status == 403


@pytest.mark.parametrize("product", ["token", "password"])
async def test_the_identity_of_another_device_is_403(rig: DeviceRig, product: str) -> None:
    first, second = await rig.device(product, "d"), await rig.device(product, "e")
    before = await rig.kept()
    for identity in ("e", "new"):
        answer = await first.ask("POST", ACTIVATE, f"id={identity}&password={PASSWORD}")
        assert answer.status == 403
    assert await rig.kept() == before
    assert await statuses(second) == set()


async def test_another_vendor_or_model_is_404(rig: DeviceRig) -> None:
    client = await rig.connect()
    for body in ("vendor=other&model=token&sn=n", "vendor=token&model=other&sn=n", "id=n&vendor="):
        assert (await client.ask("POST", ACTIVATE, body)).status == 404
    assert await rig.platform.devices.registry.find("token", "n") is None


async def test_an_unknown_identity_is_404_while_devices_may_not_register(rig: DeviceRig) -> None:
    client = await rig.connect("closed")
    assert (await client.ask("POST", ACTIVATE, "id=unknown")).status == 404
    assert await rig.platform.devices.registry.find("closed", "unknown") is None
    answer = await client.ask("POST", ACTIVATE, "id=allowed")
    client.credentials = [("X-Platform-CIK", answer.body.decode())]
    assert await statuses(client) == set()


@pytest.mark.parametrize("product", ["token", "password"])
async def test_a_provisioned_identity_without_credentials_is_409(rig: DeviceRig, product: str) -> None:
    device, stranger = await rig.device(product), await rig.connect(product)
    answer = await stranger.ask("POST", ACTIVATE, f"id=d&password={PASSWORD}x")
    assert answer.status == 409
    assert await statuses(device) == set()


async def test_a_locked_identity_gets_no_first_credential(rig: DeviceRig) -> None:
    await rig.platform.devices.registry.allow("token", ["d"])
    await rig.platform.devices.registry.lock("token", "d")
    client = await rig.connect()
    assert (await client.ask("POST", ACTIVATE, "id=d")).status == 401


async def test_a_credential_that_was_replaced_while_its_request_was_under_way_is_401(rig: DeviceRig) -> None:
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
        await authenticated.wait()  # and now it waits for its body
    token = (await quick.ask("POST", ACTIVATE, "id=d")).body.decode()
    slow.write(b"id=d")
    assert (await slow.answer()).status == 401
    slow.credentials = [("X-Platform-CIK", token)]
    assert await statuses(slow) == set()


# --- certificates -------------------------------------------------------------------------------------------


async def test_another_certificate_of_a_provisioned_device_is_401(rig: DeviceRig) -> None:
    first = await rig.device("certificate")
    second = await rig.connect("certificate", pair("d"))
    assert await statuses(second) == {401}
    assert await statuses(first) == set()


@pytest.mark.parametrize("name", [None, "not printable \x01"])
async def test_a_certificate_without_an_identity_is_401_and_creates_nothing(
    rig: DeviceRig, name: str | None
) -> None:
    client = await rig.connect("certificate", pair(name))
    assert await statuses(client) == {401}
    assert (await client.ask("POST", ACTIVATE, "id=d")).status == 401
    assert await rig.platform.devices.registry.all("certificate") == []


async def test_an_unknown_certificate_is_401_and_creates_nothing_while_devices_may_not_register(
    rig: DeviceRig,
) -> None:
    rig.platform.devices.products.get("certificate").change(self_registration=False)
    client = await rig.connect("certificate", pair("d"))
    assert await statuses(client) == {401}
    assert await rig.platform.devices.registry.all("certificate") == []


async def test_a_token_beside_a_certificate_is_two_credentials_where_certificates_count(
    rig: DeviceRig,
) -> None:
    client = await rig.device("certificate")
    client.credentials = [("X-Platform-CIK", "0" * 40)]
    assert await statuses(client) == {400}
    token = await rig.device("token")
    both = await rig.connect("token", pair("d"))
    both.credentials = token.credentials  # here the certificate is none of the product's business
    assert await statuses(both) == set()
