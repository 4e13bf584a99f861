"""Provisioning: an identity that is named twice, switched-off provisioning, and records in the journal."""

from __future__ import annotations

import pytest

from tests.device_api.rig import ACTIVATE, DOWNLOAD, PASSWORD, DeviceRig, pair


async def test_the_last_of_two_identities_is_activated(rig: DeviceRig) -> None:
    client = await rig.connect()
    assert (await client.ask("POST", ACTIVATE, "id=x&%69d=%64")).status == 200
    assert [device.identity for device in await rig.platform.devices.registry.all("token")] == ["d"]


async def test_no_certificate_is_pinned_while_provisioning_is_off(rig: DeviceRig) -> None:
    rig.platform.devices.products.get("certificate").change(provisioning=False)
    client = await rig.connect("certificate", pair("d"))
    assert (await client.ask("GET", DOWNLOAD)).status == 401
    assert await rig.platform.devices.registry.all("certificate") == []


# --- events and journal -------------------------------------------------------------------------------------


@pytest.mark.parametrize("product", ["token", "password", "certificate"])
async def test_each_provisioning_emits_its_event(rig: DeviceRig, product: str) -> None:
    await rig.device(product)
    [event] = rig.events()
    assert (event.actor, event.summary) == (f"{product}/d", "provisioned")
    assert event.detail is not None
    assert {**event.detail, "connection_id": "", "ip": ""} == {
        "type": "provisioned",
        "domain": f"{product}.m2.lab.localhost",
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
