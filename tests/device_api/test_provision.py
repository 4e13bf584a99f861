"""Provisioning and reprovisioning, for the three types of credentials."""

from __future__ import annotations

import re

import pytest

from tests.device_api.place import ACTIVATE, DOWNLOAD, PASSWORD, Client, Place, basic, pair


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
async def test_the_forms_of_activation(place: Place, body: str) -> None:
    client = await place.connect()
    answer = await client.ask("POST", ACTIVATE, body)
    assert (answer.status, answer.header("Content-Type")) == (200, "text/plain; charset=utf-8")
    assert re.fullmatch(rb"[0-9a-f]{40}", answer.body)
    client.credentials = [("X-Platform-CIK", answer.body.decode())]
    assert await works(client)
    assert [device.identity for device in await place.platform.devices.registry.all("token")] == ["d"]


async def test_a_password_is_set(place: Place) -> None:
    client = await place.connect("password")
    answer = await client.ask("POST", ACTIVATE, f"id=d&password={PASSWORD}")
    assert (answer.status, answer.body) == (204, b"")
    client.credentials = [basic("d", PASSWORD)]
    assert await works(client)


async def test_a_password_of_20_characters_is_long_enough(place: Place) -> None:
    client = await place.connect("password")
    assert (await client.ask("POST", ACTIVATE, "id=d&password=" + "%C3%BC" * 20)).status == 204


@pytest.mark.parametrize("body", ["id=d", "", None])
async def test_a_new_token_replaces_the_old_one_at_once(place: Place, body: str | None) -> None:
    client = await place.device()
    old = client.credentials
    answer = await client.ask("POST", ACTIVATE, body)
    assert answer.status == 200
    assert not await works(client)
    client.credentials = [("X-Platform-CIK", answer.body.decode())]
    assert await works(client)
    assert client.credentials != old


async def test_a_new_password_replaces_the_old_one_at_once(place: Place) -> None:
    client = await place.device("password")
    new = "another correct horse"
    assert (await client.ask("POST", ACTIVATE, f"password={new}")).status == 204
    assert not await works(client)
    client.credentials = [basic("d", new)]
    assert await works(client)


async def test_a_new_certificate_replaces_the_old_one_at_once(place: Place) -> None:
    client, new = await place.device("certificate"), pair("d")
    pem = ("Content-Type", "application/x-pem-file; charset=utf-8")
    answer = await client.ask("POST", ACTIVATE, new.certificate_pem, headers=[pem], form=False)
    assert (answer.status, answer.body) == (204, b"")
    assert not await works(client)
    assert await works(await place.connect("certificate", new))


async def test_wrong_credentials_replace_nothing(place: Place) -> None:
    device, thief = await place.device(), await place.connect()
    thief.credentials = [("X-Platform-CIK", "0" * 40)]
    assert (await thief.ask("POST", ACTIVATE, "id=d")).status == 401
    assert await works(device)


# --- by the first connection --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [DOWNLOAD, "/timestamp", "/nothing/here"])
async def test_the_first_connection_provisions_whatever_it_asks(place: Place, path: str) -> None:
    first = pair("d")
    client = await place.connect("certificate", first)
    assert (await client.ask("GET", path)).status == (404 if "nothing" in path else 200)
    assert [device.identity for device in await place.platform.devices.registry.all("certificate")] == ["d"]
    assert await works(await place.connect("certificate", first))


async def test_a_whitelisted_identity_is_provisioned_by_its_first_connection(place: Place) -> None:
    place.platform.devices.products.get("certificate").change(self_registration=False)
    await place.platform.devices.registry.allow("certificate", ["d"])
    assert await works(await place.connect("certificate", pair("d")))


async def test_no_certificate_is_pinned_while_provisioning_is_off(place: Place) -> None:
    place.platform.devices.products.get("certificate").change(provisioning=False)
    client = await place.connect("certificate", pair("d"))
    assert not await works(client)
    assert await place.platform.devices.registry.all("certificate") == []


async def test_a_certificate_of_another_type_of_product_provisions_nothing(place: Place) -> None:
    client = await place.connect("token", pair("d"))
    assert (await client.ask("GET", "/timestamp")).status == 200
    assert await place.platform.devices.registry.all("token") == []


# --- what follows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("product", ["token", "password", "certificate"])
async def test_each_provisioning_raises_its_event(place: Place, product: str) -> None:
    await place.device(product)
    [event] = place.events()
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
    cause = next(entry for entry in place.platform.context.journal if entry.sequence == event.cause)
    assert cause.kind == ("connect" if product == "certificate" else "request")


async def test_no_secret_reaches_the_journal(place: Place) -> None:
    token = (await place.device()).credentials[0][1]
    await place.device("password")
    journal = place.platform.context.journal
    text = journal.canonical() + repr([record.detail for record in journal])
    assert token not in text
    assert PASSWORD not in text
