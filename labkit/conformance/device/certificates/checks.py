"""Products whose devices authenticate by a TLS client certificate."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from labkit.conformance import endpoints, expect, raw
from labkit.conformance.check import check
from labkit.conformance.endpoints import ACTIVATE, READ, WRITE, client_with, key_pair
from labkit.conformance.target import Target
from labkit.core.certificates import KeyPair, authority
from labkit.fleet.device import FORM, PEM
from labkit.fleet.flow import FlowClient

if TYPE_CHECKING:
    import httpx

OPEN, CLOSED = "certificate-open", "certificate-closed"


async def replace(client: FlowClient, content: bytes, content_type: str = PEM) -> httpx.Response:
    """POST a certificate to activate, on a connection that presents the client's own."""
    return await client.request("POST", ACTIVATE, content=content, headers={"Content-Type": content_type})


async def taken(target: Target, product: str, identity: str) -> bool:
    """Return whether the identity already belongs to another certificate: a new one is then answered 401 repeatedly."""
    pair = key_pair(identity)
    responses = [await WRITE.send_from(client_with(target, product, pair)) for _ in range(2)]
    return all(expect.status(response, 204, 401).status_code == 401 for response in responses)


@check("DEV-CERT-1", "the first connection provisions a certificate, and its request is served")
async def first_connection(target: Target) -> None:
    pair = key_pair(target.identity())
    expect.status(await WRITE.send_from(client_with(target, OPEN, pair)), 204)
    expect.body(expect.status(await READ.send_from(client_with(target, OPEN, pair)), 200), "text=written")


@check(
    "DEV-CERT-2", "a first request that is refused gets its own answer, and the device exists all the same"
)
async def first_request_refused(target: Target) -> None:
    for method, path, status in (
        ("GET", "/nowhere", 404),
        ("PUT", endpoints.TIMESTAMP, 405),
        ("GET", endpoints.ALIAS, 400),
    ):
        identity = target.identity()
        pair = key_pair(identity)
        expect.status(await client_with(target, OPEN, pair).request(method, path), status)
        expect.true("the identity is taken", await taken(target, OPEN, identity), identity)
        expect.status(await WRITE.send_from(client_with(target, OPEN, pair)), 204)


@check("DEV-CERT-3", "the CN names the device: its next certificate finds the state of the one before")
async def state_by_name(target: Target) -> None:
    identity = target.identity()
    old, new, other = key_pair(identity), key_pair(identity), key_pair(target.identity())
    client = client_with(target, OPEN, old)
    expect.status(await WRITE.send_from(client), 204)
    expect.status(await replace(client, new.certificate_pem), 204)
    expect.body(expect.status(await READ.send_from(client_with(target, OPEN, new)), 200), "text=written")
    expect.status(await READ.send_from(client_with(target, OPEN, other)), 204)


@check("DEV-CERT-3", "events carry the CN as identity", needs={"journal"})
async def events_by_name(target: Target) -> None:
    identity = target.identity()
    expect.status(await WRITE.send_from(client_with(target, OPEN, key_pair(identity))), 204)
    records = await target.in_lab(target.lab.journal.select, "event")
    named = {each.summary for each in records if each.detail and each.detail.get("identity") == identity}
    expect.equal("events of the device", named, {"provisioned", "data_in"})


@check("DEV-CERT-4", "a device replaces its certificate, and the old one is answered 401")
async def certificate_again(target: Target) -> None:
    identity = target.identity()
    old, new = key_pair(identity), key_pair(identity)
    client = client_with(target, OPEN, old)
    await endpoints.expect_served(client)
    expect.status(await replace(client, new.certificate_pem), 204)
    await endpoints.expect_served(client_with(target, OPEN, new))
    await endpoints.expect_refused(client, 401)
    await endpoints.expect_refused(client_with(target, OPEN, old), 401)


@check("DEV-CERT-5", "with self-registration off, a CN is refused, and served if it is whitelisted")
async def whitelist(target: Target) -> None:
    stranger = key_pair(target.identity())
    for _ in range(2):
        await endpoints.expect_refused(client_with(target, CLOSED, stranger))
    listed: list[KeyPair] = []

    async def write(identity: str) -> httpx.Response:
        listed.append(key_pair(identity))
        return await WRITE.send_from(client_with(target, CLOSED, listed[-1]))

    expect.status(await endpoints.first_use(target, CLOSED, write, taken=401), 204)
    expect.body(
        expect.status(await READ.send_from(client_with(target, CLOSED, listed[-1])), 200), "text=written"
    )


@check("DEV-CERT-5", "a refused certificate has not taken its CN", needs={"settings"})
async def refused_leaves_nothing(target: Target) -> None:
    identity = target.identity()
    await endpoints.expect_refused(client_with(target, CLOSED, key_pair(identity)))
    await target.in_lab(target.lab.product(CLOSED).allow, identity)
    expect.true("the identity is free", not await taken(target, CLOSED, identity), "401")


@check("DEV-CERT-6", "a connection without any request provisions its certificate")
async def silent_connection(target: Target) -> None:
    identity = target.identity()
    domain = target.product(OPEN).domain
    # In TLS 1.2 the server sends the last message of the handshake, so it knows the certificate when this returns.
    pair = key_pair(identity)
    async with raw.connect(target, domain, certificate=pair, version=ssl.TLSVersion.TLSv1_2):
        pass
    expect.true("the identity is taken", await taken(target, OPEN, identity), "not taken")
    expect.status(await WRITE.send_from(client_with(target, OPEN, pair)), 204)


@check("DEV-CERT-7", "self-signed, expired and foreign certificates are accepted alike")
async def any_issuer(target: Target) -> None:
    foreign = authority("somebody else")
    for expired in (False, True):
        for issuer in (None, foreign):
            pair = key_pair(target.identity(), expired=expired, issuer=issuer)
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                domain = target.product(OPEN).domain
                async with raw.connect(target, domain, certificate=pair, version=version) as connection:
                    expect.status(await connection.ask(READ.method, READ.path), 204)


@check("DEV-CERT-8", "another certificate with a CN that is taken is answered 401, and the first one stays")
async def same_name(target: Target) -> None:
    identity = target.identity()
    first = client_with(target, OPEN, key_pair(identity))
    await endpoints.expect_served(first)
    second = key_pair(identity)
    for _ in range(2):
        await endpoints.expect_refused(client_with(target, OPEN, second), 401)
    await endpoints.expect_served(first)


@check("DEV-CERT-9", "a certificate that may not be provisioned is answered 401")
async def unfit_certificates(target: Target) -> None:
    for product, name in (
        (OPEN, None),
        (OPEN, "line\nend"),
        ("format-certificate", f"x{target.identity()}"[:40]),
        (CLOSED, target.identity()),
    ):
        pair = key_pair(name)
        for _ in range(2):
            expect.status(await WRITE.send_from(client_with(target, product, pair)), 401)
    expect.status(
        await WRITE.send_from(client_with(target, "format-certificate", key_pair(_digits(target)))), 204
    )


@check("DEV-CERT-9", "a client without a certificate is refused, whatever it sends to activate")
async def without_certificate(target: Target) -> None:
    pair = key_pair(target.identity())
    for product in (OPEN, CLOSED):
        client = target.client(product)
        expect.refusal(await replace(client, pair.certificate_pem), 401)
        expect.refusal(
            await endpoints.activate(client, {"id": _common_name(pair), "password": "x" * 20}), 401
        )
    await endpoints.expect_served(client_with(target, OPEN, pair))  # its name is still free


@check(
    "DEV-CERT-10", "a body that is no certificate, or one of another CN, is answered 400 and changes nothing"
)
async def unfit_replacement(target: Target) -> None:
    identity = target.identity()
    client = client_with(target, OPEN, key_pair(identity))
    await endpoints.expect_served(client)
    other, new = key_pair(target.identity()), key_pair(identity).certificate_pem
    der = ssl.PEM_cert_to_DER_cert(new.decode())
    of_no_version = der.replace(bytes.fromhex("a003020102"), bytes.fromhex("a003020109"))
    for content in (
        b"",
        b"no PEM",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ssl.DER_cert_to_PEM_cert(of_no_version).encode(),
        other.certificate_pem,
        key_pair(None).certificate_pem,
        _private_key(identity),
    ):
        expect.refusal(await replace(client, content), 400)
    for content_type in (FORM, "application/json", PEM.replace("utf-8", "latin-1")):
        expect.refusal(await replace(client, new, content_type), 415)
    expect.refusal(await replace(client, new * 200), 413)
    await endpoints.expect_served(client)
    expect.true("the other CN is free", not await taken(target, OPEN, _common_name(other)), "taken")


@check(
    "DEV-CERT-1",
    "the first connection provisions a certificate on a lab without any other product, too",
    needs={"settings"},
)
async def alone(target: Target) -> None:
    await target.in_lab(_alone)


def _alone() -> None:
    from labkit.lab.lab import Lab

    with Lab(1, products=[{"id": "one", "auth": "certificate", "resources": {"text": "string"}}]) as lab:
        device = lab.product("one").device("d-1").activate()
        device.write(text="a")
        expect.equal("what it reads", device.read("text"), {"text": "a"})


def _private_key(identity: str) -> bytes:
    """Return a private key without its certificate."""
    return key_pair(identity).key_pem


def _common_name(pair: KeyPair) -> str:
    """Return the common name of a certificate."""
    return str(pair.certificate.subject.rfc4514_string()).removeprefix("CN=")


def _digits(target: Target) -> str:
    """Return a fresh identity that consists of digits."""
    return str(int.from_bytes(target.identity().encode()))[-40:]
