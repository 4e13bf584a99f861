"""Provisioning concurrent with other requests: with the former credentials, or for the same identity."""

from __future__ import annotations

import base64
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from labkit.conformance import device_client, endpoints, expect, raw
from labkit.conformance.check import check
from labkit.conformance.device_client import ALIAS, RECORD
from labkit.conformance.endpoints import ACTIVATE, PRODUCTS, READ, activate
from labkit.conformance.races import ORDERS, at_once
from labkit.conformance.target import Target
from labkit.fleet.device import FORM, VirtualDevice

if TYPE_CHECKING:
    import httpx

PASSWORD = "twenty characters and more"
BODIES = {
    ALIAS: {"text": "late"},
    f"{ALIAS}?text": {"text": "late"},
    RECORD: {"alias": "text", "1000000000": "late"},
}


def credentials(device: VirtualDevice) -> tuple[str, str]:
    """Return the header with a device's credentials."""
    if device.auth == "token":
        return "X-Platform-CIK", device.token or ""
    pair = f"{device.identity}:{device.password}".encode()
    return "Authorization", f"Basic {base64.b64encode(pair).decode()}"


async def renew_credentials(device: VirtualDevice) -> None:
    """Give a device new credentials, which it uses from then on."""
    fields = {"id": device.identity, "password": PASSWORD[::-1]}
    response = expect.status(await activate(device, fields), 200, 204)
    if device.auth == "token":
        device.token = response.text
    else:
        device.password = PASSWORD[::-1]


def begin(connection: raw.Raw, device: VirtualDevice, path: str, body: str) -> None:
    """Send the head of a request and half of its body."""
    fields = [
        ("Host", device.domain),
        credentials(device),
        ("Content-Type", FORM),
        ("Content-Length", str(len(body))),
    ]
    connection.send(raw.head("POST", path, fields) + body[: len(body) // 2].encode())


@check(
    "DEV-PROV-27 DEV-PROV-15 DEV-PROV-16",
    "credentials that are replaced while a request is being received",
    needs={"polls"},
)
async def replaced_meanwhile(target: Target) -> None:
    import httpx

    for auth in ("token", "password"):
        for path, fields in (*BODIES.items(), (ACTIVATE, None)):
            device = await target.activated(PRODUCTS[auth])
            expect.status(await device_client.write(device, {"text": "before"}), 204)
            given = fields or {"id": device.identity, "password": "p" * 25}
            body = urlencode(given)
            async with raw.connect(target, device.domain) as connection:
                begin(connection, device, path, body)
                # once a later request, a poll, is pending, the earlier one has arrived
                await device_client.begin(target, device, "number")
                await renew_credentials(device)
                connection.send(body[len(body) // 2 :])
                asked = httpx.Request("POST", f"https://{device.domain}{path}", content=body)
                expect.status(await connection.answer(asked), 401)
            expect.equal("what is stored", await device_client.value(device, "text"), "before")
            points = await device_client.datapoint(target, device, "text")
            expect.equal("the first point", points[1], "before")


@check("DEV-PROV-27 DEV-PROV-15 DEV-PROV-16", "credentials that are replaced while they are looked up")
async def replaced_at_once(target: Target) -> None:
    for turned in ORDERS:
        for auth in ("token", "password"):
            device = await target.activated(PRODUCTS[auth])
            old, clients = credentials(device), [target.client(PRODUCTS[auth]) for _ in range(3)]
            reads = [partial(READ.send_from, client, [old]) for client in clients]
            await at_once(*reads[:2], partial(renew_credentials, device), reads[2], turned=turned)
            for client in clients:
                expect.status(await READ.send_from(client, [old]), 401)
            expect.status(await READ.send_from(device), 204)


@check(
    "DEV-PROV-27 DEV-PROV-18", "two activations of one identity at once, and two with the same credentials"
)
async def activated_at_once(target: Target) -> None:
    for turned in ORDERS:
        for auth in ("token", "password"):
            product, identity = PRODUCTS[auth], target.identity()
            clients = [target.client(product) for _ in range(2)]
            passwords = [f"{each} {PASSWORD}" for each in range(2)]
            works = [
                partial(activate, client, {"id": identity, "password": password})
                for client, password in zip(clients, passwords, strict=True)
            ]
            answers = await at_once(*works, turned=turned)
            await _expect_one_served(target, product, identity, answers, passwords)
            first = await target.activated(product)
            device = target.device(product, first.identity)
            await device.use(first.credentials)
            works = [
                partial(activate, each, {"id": first.identity, "password": password})
                for each, password in zip((first, device), passwords, strict=True)
            ]
            old = first.credentials
            answers = await at_once(*works, turned=turned)
            await _expect_one_served(target, product, first.identity, answers, passwords)
            await first.use(old)
            expect.status(await READ.send_from(first), 401)


async def _expect_one_served(
    target: Target, product: str, identity: str, answers: list[httpx.Response], passwords: list[str]
) -> None:
    """Raise Mismatch unless only one of two answers has credentials that are served."""
    won = [at for at, each in enumerate(answers) if each.status_code in (200, 204)]
    expect.equal("how many got credentials", len(won), 1, answers[0])
    endpoints.expect_client_error(answers[1 - won[0]])
    device = target.device(product, identity)
    if device.auth == "token":
        device.token = answers[won[0]].text
    else:
        device.password = passwords[won[0]]
    expect.status(await READ.send_from(device), 200, 204)
    other = target.device(product, identity)
    if device.auth == "password":
        other.password = passwords[1 - won[0]]
        expect.status(await READ.send_from(other), 401)


@check(
    "DEV-PROV-27 DEV-CERT-1 DEV-CERT-8",
    "first connections of one CN at once, with one certificate and with two",
)
async def first_connections(target: Target) -> None:
    product = PRODUCTS["certificate"]
    for turned in ORDERS:
        pair = endpoints.key_pair(target.identity())
        clients = [endpoints.client_with(target, product, pair) for _ in range(4)]
        answers = await at_once(*(partial(READ.send_from, each) for each in clients), turned=turned)
        expect.equal("with one certificate", {each.status_code for each in answers}, {204}, answers[0])
        name = target.identity()
        pairs = [endpoints.key_pair(name) for _ in range(2)]
        clients = [endpoints.client_with(target, product, each) for each in pairs]
        answers = await at_once(*(partial(READ.send_from, each) for each in clients), turned=turned)
        expect.equal(
            "with two of one CN", sorted(each.status_code for each in answers), [204, 401], answers[0]
        )
        for before, each in zip(answers, pairs, strict=True):
            later = await READ.send_from(endpoints.client_with(target, product, each))
            expect.equal("status later on", later.status_code, before.status_code, later)
