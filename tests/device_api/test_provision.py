"""Provisioning: odd forms, switched-off features, and records in the journal."""

from __future__ import annotations

import re

import pytest

from tests.device_api.rig import ACTIVATE, DOWNLOAD, PASSWORD, Client, DeviceRig, pair


async def works(client: Client) -> bool:
    return (await client.ask("GET", DOWNLOAD)).status == 200


@pytest.mark.parametrize(
    "body",
    [
        "id=d&sn=",
        "id=&sn=d",
        "id=x&id=d",
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


async def test_a_password_of_20_characters_is_accepted(rig: DeviceRig) -> None:
    client = await rig.connect("password")
    assert (await client.ask("POST", ACTIVATE, "id=d&password=" + "%C3%BC" * 20)).status == 204


# --- by the first connection --------------------------------------------------------------------------------


async def test_no_certificate_is_pinned_while_provisioning_is_off(rig: DeviceRig) -> None:
    rig.platform.devices.products.get("certificate").change(provisioning=False)
    client = await rig.connect("certificate", pair("d"))
    assert not await works(client)
    assert await rig.platform.devices.registry.all("certificate") == []


async def test_a_certificate_provisions_nothing_at_a_product_of_another_type(rig: DeviceRig) -> None:
    client = await rig.connect("token", pair("d"))
    assert (await client.ask("GET", "/timestamp")).status == 200
    assert await rig.platform.devices.registry.all("token") == []


# --- events and journal -------------------------------------------------------------------------------------


@pytest.mark.parametrize("product", ["token", "password", "certificate"])
async def test_each_provisioning_emits_its_event(rig: DeviceRig, product: str) -> None:
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
