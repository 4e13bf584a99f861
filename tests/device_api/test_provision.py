"""Provisioning and reprovisioning, for the three types of credentials."""

from __future__ import annotations

import re

import pytest

from tests.device_api.rig import ACTIVATE, DOWNLOAD, PASSWORD, Client, DeviceRig, basic, pair


async def works(client: Client) -> bool:
    return (await client.ask("GET", DOWNLOAD)).status == 200


@pytest.mark.parametrize(
    "body",
    [
        "id=d",
        "vendor=token&model=token&sn=d",
        "sn=d",
        "id=d&sn=d",
        "id=d&sn=",
        "id=&sn=d",
        "id=x&id=d",
        "id=d&password=ignored&other=1",
        "%69d=%64",
    ],
)
async def test_the_forms_of_activation(rig: DeviceRig, body: str) -> None:
    client = await rig.connect()
    answer = await client.ask("POST", ACTIVATE, body)
    assert (answer.status, answer.header("Content-Type")) == (200, "text/plain; charset=utf-8")
    assert re.fullmatch(rb"[0-9a-f]{40}", answer.body)
    client.credentials = [("X-Platform-CIK", answer.body.decode())]
    assert await works(client)
    assert [device.identity for device in await rig.platform.devices.registry.all("token")] == ["d"]


async def test_a_password_is_set(rig: DeviceRig) -> None:
    client = await rig.connect("password")
    answer = await client.ask("POST", ACTIVATE, f"id=d&password={PASSWORD}")
    assert (answer.status, answer.body) == (204, b"")
    client.credentials = [basic("d", PASSWORD)]
    assert await works(client)


async def test_a_password_of_20_characters_is_long_enough(rig: DeviceRig) -> None:
    client = await rig.connect("password")
    assert (await client.ask("POST", ACTIVATE, "id=d&password=" + "%C3%BC" * 20)).status == 204


@pytest.mark.parametrize("body", ["id=d", "", None])
async def test_a_new_token_replaces_the_old_one_at_once(rig: DeviceRig, body: str | None) -> None:
    client = await rig.device()
    old = client.credentials
    answer = await client.ask("POST", ACTIVATE, body)
    assert answer.status == 200
    assert not await works(client)
    client.credentials = [("X-Platform-CIK", answer.body.decode())]
    assert await works(client)
    assert client.credentials != old


async def test_a_new_password_replaces_the_old_one_at_once(rig: DeviceRig) -> None:
    client = await rig.device("password")
    new = "another correct horse"
    assert (await client.ask("POST", ACTIVATE, f"password={new}")).status == 204
    assert not await works(client)
    client.credentials = [basic("d", new)]
    assert await works(client)


async def test_a_new_certificate_replaces_the_old_one_at_once(rig: DeviceRig) -> None:
    client, new = await rig.device("certificate"), pair("d")
    pem = ("Content-Type", "application/x-pem-file; charset=utf-8")
    answer = await client.ask("POST", ACTIVATE, new.certificate_pem, headers=[pem], form=False)
    assert (answer.status, answer.body) == (204, b"")
    assert not await works(client)
    assert await works(await rig.connect("certificate", new))


async def test_wrong_credentials_replace_nothing(rig: DeviceRig) -> None:
    device, thief = await rig.device(), await rig.connect()
    thief.credentials = [("X-Platform-CIK", "0" * 40)]
    assert (await thief.ask("POST", ACTIVATE, "id=d")).status == 401
    assert await works(device)


# --- by the first connection --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [DOWNLOAD, "/timestamp", "/nothing/here"])
async def test_the_first_connection_provisions_whatever_it_asks(rig: DeviceRig, path: str) -> None:
    first = pair("d")
    client = await rig.connect("certificate", first)
    assert (await client.ask("GET", path)).status == (404 if "nothing" in path else 200)
    assert [device.identity for device in await rig.platform.devices.registry.all("certificate")] == ["d"]
    assert await works(await rig.connect("certificate", first))


async def test_a_whitelisted_identity_is_provisioned_by_its_first_connection(rig: DeviceRig) -> None:
    rig.platform.devices.products.get("certificate").change(self_registration=False)
    await rig.platform.devices.registry.allow("certificate", ["d"])
    assert await works(await rig.connect("certificate", pair("d")))


async def test_no_certificate_is_pinned_while_provisioning_is_off(rig: DeviceRig) -> None:
    rig.platform.devices.products.get("certificate").change(provisioning=False)
    client = await rig.connect("certificate", pair("d"))
    assert not await works(client)
    assert await rig.platform.devices.registry.all("certificate") == []


async def test_a_certificate_of_another_type_of_product_provisions_nothing(rig: DeviceRig) -> None:
    client = await rig.connect("token", pair("d"))
    assert (await client.ask("GET", "/timestamp")).status == 200
    assert await rig.platform.devices.registry.all("token") == []


# --- what follows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("product", ["token", "password", "certificate"])
async def test_each_provisioning_raises_its_event(rig: DeviceRig, product: str) -> None:
    await rig.device(product)
    [event] = rig.events()
    assert (event.actor, event.summary) == (f"{product}/d", "provisioned")
    assert event.detail is not None
    assert {**event.detail, "connection_id": "", "ip": ""} == {
        "type": "provisioned",
        "identity": "d",
        "protocol": "onep",
        "ip": "",
        "connection_id": "",
        "timestamp": 1_767_225_600_000_000,
    }
    assert len(str(event.detail["connection_id"])) == 20
    assert event.detail["ip"] == "127.0.0.1"
    cause = next(entry for entry in rig.platform.context.journal if entry.sequence == event.cause)
    assert cause.kind == ("connect" if product == "certificate" else "request")


async def test_no_secret_reaches_the_journal(rig: DeviceRig) -> None:
    token = (await rig.device()).credentials[0][1]
    await rig.device("password")
    journal = rig.platform.context.journal
    text = journal.canonical() + repr([record.detail for record in journal])
    assert token not in text
    assert PASSWORD not in text
