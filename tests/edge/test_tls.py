"""TLS: both implementations, client certificates, and failing handshakes."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from labkit.core.certificates import Kind, authority, client_certificate
from labkit.edge.certificates import Authorities, Authority
from labkit.edge.handshake import explain
from labkit.http.connection import Connection
from tests.cases import cases
from tests.edge.rig import HOST, OTHER, PATIENCE, SOON, EdgeRig, get

EC, RSA = "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"
ALERT = 21  # the type of a TLS record (RFC 8446 5.1)
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
Pair = tuple[bytes, bytes]


@cache
def shared(kind: Kind) -> Authority:
    """Return a key pair of a kind, generated once, since RSA takes a while."""
    return Authority.create(kind)


def weak_pair() -> Pair:
    """Return a pair as an old device may have: RSA."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "t-001")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    return certificate.public_bytes(Encoding.PEM), private


PAIRS = {
    "self-signed": client_certificate("t-001"),
    "expired": client_certificate("t-001", expired=True),
    "of an unknown issuer": client_certificate("t-001", issuer=authority("a maker")),
    "expired, of an unknown issuer": client_certificate("t-001", expired=True, issuer=authority("a maker")),
    "rsa": weak_pair(),
}


async def seen(rig: EdgeRig, context: ssl.SSLContext) -> Connection:
    """Return the connection as a handler sees it."""
    client = await rig.connect(HOST, context)
    assert (await client.answer(get()))[0] == 200
    return rig.connections[-1]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", PAIRS)
async def test_any_client_certificate_is_accepted(rig: EdgeRig, kind: str, version: ssl.TLSVersion) -> None:
    rig.client_certificates = True
    pair = PAIRS[kind]
    connection = await seen(rig, rig.trusting(pair, version))
    assert connection.certificate == ssl.PEM_cert_to_DER_cert(pair[0].decode())
    assert connection.common_name == "t-001"


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_client_certificate_is_optional(rig: EdgeRig, engine: str, version: ssl.TLSVersion) -> None:
    connection = await seen(rig, rig.trusting(version=version))
    assert (connection.certificate, connection.common_name) == (None, None)


async def test_a_certificate_without_a_common_name_has_no_identity(rig: EdgeRig) -> None:
    rig.client_certificates = True
    connection = await seen(rig, rig.trusting(client_certificate(None)))
    assert connection.certificate is not None
    assert connection.common_name is None


async def test_without_certificate_products_no_certificate_is_requested(rig: EdgeRig) -> None:
    connection = await seen(rig, rig.trusting(PAIRS["self-signed"]))
    assert connection.certificate is None


async def test_new_connections_follow_the_products_need_of_certificates(rig: EdgeRig) -> None:
    context = rig.trusting(PAIRS["self-signed"])
    before = await rig.connect(HOST, context)
    rig.client_certificates = True
    assert (await seen(rig, context)).common_name == "t-001"
    await before.answer(get())
    assert rig.connections[-1].certificate is None
    rig.client_certificates = False
    assert (await seen(rig, context)).certificate is None


@pytest.mark.parametrize("version", VERSIONS)
async def test_no_session_is_resumed_where_certificates_are_accepted(
    rig: EdgeRig, version: ssl.TLSVersion
) -> None:
    rig.client_certificates = True
    context = rig.trusting(PAIRS["self-signed"], version)
    await rig.start()
    session: ssl.SSLSession | None = None
    for _ in range(2):
        came, session = await asyncio.to_thread(once, rig.address.https_port, context, session)
        assert came.startswith(b"HTTP/1.1 200")
    assert [each.common_name for each in rig.connections] == ["t-001", "t-001"]


def once(
    port: int, context: ssl.SSLContext, session: ssl.SSLSession | None = None
) -> tuple[bytes, ssl.SSLSession | None]:
    """Make one request with a blocking client; return the answer, and the session to resume."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname=HOST, session=session) as secure,
    ):
        secure.sendall(get().encode())
        came = secure.recv(65536)
        assert not secure.session_reused
        return came, secure.session


async def test_the_certificate_follows_the_names(rig: EdgeRig, engine: str) -> None:
    await rig.connect(HOST)
    elsewhere = "shop.example"  # no wildcard of the lab includes it
    rig.serve(elsewhere)
    await rig.connect(elsewhere)
    rig.context.hosts.remove(elsewhere)
    await rig.connect(OTHER)


async def test_a_client_that_does_not_trust_the_authority_is_reported(rig: EdgeRig, engine: str) -> None:
    stranger = ssl.create_default_context(cadata=Authority.create().ca_pem.decode())
    await rig.start()
    with pytest.raises(ssl.SSLCertVerificationError):
        await asyncio.to_thread(once, rig.address.https_port, stranger)
    reason, detail = await rig.refusal()
    assert reason == "TLS alert unknown ca"
    assert "it may not trust the lab's CA" in detail


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_alert_after_the_handshake_is_reported(
    rig: EdgeRig, engine: str, version: ssl.TLSVersion
) -> None:
    await rig.start()
    client = await rig.connect_plainly(rig.address.https_port)
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = rig.trusting(version=version).wrap_bio(down, up, server_hostname=HOST)
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                client.send(up.read())
                down.write(await client.reader.read(65536))
    client.send(up.read())
    down.write(
        b"\x17\x03\x03\x00\x40" + bytes(64)
    )  # a record without encryption: the client's TLS ends with an alert
    with pytest.raises(ssl.SSLError):
        tls.read()
    client.send(up.read())
    assert (await rig.refusal())[0] == "TLS alert bad record mac"


@cases(
    ("reason", "expected"),
    [
        ("TLSV1_ALERT_UNKNOWN_CA", "TLS alert unknown ca"),
        ("SSLV3_ALERT_BAD_CERTIFICATE", "TLS alert bad certificate"),
        ("SSLV3_ALERT_CERTIFICATE_EXPIRED", "TLS alert certificate expired"),
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "TLS alert certificate required"),
        ("ssl/tls alert certificate unknown", "TLS alert certificate unknown"),
        ("UNSUPPORTED_PROTOCOL", "TLS handshake failed"),
    ],
)
def test_the_alert_of_a_client_is_reported(reason: str, expected: str) -> None:
    found, detail = explain(ssl.SSLError(ssl.SSL_ERROR_SSL, reason), "10.0.0.1")
    assert found == expected
    assert detail.endswith("; from 10.0.0.1")


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    ("version", "ciphers", "alert", "reason"),
    [
        (ssl.TLSVersion.TLSv1_1, "ALL:@SECLEVEL=0", "PROTOCOL_VERSION", "unsupported protocol"),
        (ssl.TLSVersion.TLSv1_2, RSA, "HANDSHAKE_FAILURE", "no shared cipher"),  # the lab has an EC key
    ],
    ids=["version", "cipher"],
)
async def test_a_client_without_a_common_version_or_cipher_is_refused(
    rig: EdgeRig, engine: str, version: ssl.TLSVersion, ciphers: str, alert: str, reason: str
) -> None:
    context = rig.trusting(version=version)
    context.set_ciphers(ciphers)
    with pytest.raises(ssl.SSLError, match=f"ALERT_{alert}"):
        await rig.connect(HOST, context)
    refused, detail = await rig.refusal()
    assert refused == "TLS handshake failed"
    assert reason in detail


async def test_a_client_that_stays_after_the_alert_is_disconnected(rig: EdgeRig, engine: str) -> None:
    await rig.start(handshake=10 * PATIENCE)
    client = await rig.connect_plainly(rig.address.https_port)
    context = rig.trusting(version=ssl.TLSVersion.TLSv1_2)
    context.set_ciphers(RSA)
    answer = await client.ask(greeting(context, HOST))
    assert (answer[0], len(answer)) == (ALERT, 7)
    assert (await rig.refusal())[0] == "TLS handshake failed"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["c.lab.localhost", None])
async def test_a_refused_name_gets_no_byte(
    rig: EdgeRig, engine: str, name: str | None, version: ssl.TLSVersion
) -> None:
    await rig.start()
    client = await rig.connect_plainly(rig.address.https_port)
    assert await client.ask(greeting(rig.trusting(version=version), name)) == b""
    assert (await rig.refusal())[0] == "unknown server name"


def greeting(context: ssl.SSLContext, name: str | None) -> bytes:
    """Return the first bytes that a client sends."""
    context.check_hostname = False
    up = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), up, server_hostname=name).do_handshake()
    return up.read()


# --- the server's keys

OLD = ["AES128-GCM-SHA256", "AES128-SHA256", "AES128-SHA", "ECDHE-RSA-AES128-SHA"]


@pytest.mark.parametrize(
    ("kinds", "ciphers"),
    [
        (["ec"], [EC]),
        (["rsa"], [RSA, *OLD]),
        (["ec", "rsa"], [EC, RSA, *OLD]),
    ],
)
async def test_a_client_may_support_one_kind_of_key(
    rig: EdgeRig, engine: str, kinds: list[Kind], ciphers: list[str]
) -> None:
    authorities = [shared(kind) for kind in kinds]
    rig.authority = Authorities(authorities)
    for cipher in ciphers:
        own = [each for each in authorities if each.kind == ("ec" if cipher == EC else "rsa")]
        context = ssl.create_default_context(cadata=own[0].ca_pem.decode())  # it can verify no other kind
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(cipher)
        client = await rig.connect(HOST, context)
        assert client.writer.get_extra_info("cipher")[0] == cipher
        assert (await client.answer(get()))[0] == 200
    newest = await rig.connect(HOST, rig.trusting(version=ssl.TLSVersion.TLSv1_3))
    assert (await newest.answer(get()))[0] == 200


async def test_keys_are_kept_when_the_names_change(rig: EdgeRig, engine: str) -> None:
    rig.authority = shared("rsa")
    keys = []
    for _ in range(2):
        client = await rig.connect()
        shown = client.writer.get_extra_info("ssl_object").getpeercert(True)
        keys.append(x509.load_der_x509_certificate(shown).public_key())
        if not rig.context.hosts.serves("shop.example"):
            rig.serve("shop.example")
    assert keys[0] == keys[1]


# --- sessions


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("tickets", [True, False])
async def test_no_session_of_one_name_is_resumed_for_another(
    rig: EdgeRig, engine: str, version: ssl.TLSVersion, tickets: bool
) -> None:
    context = rig.trusting(version=version)
    if not tickets:
        context.options |= ssl.OP_NO_TICKET
    await rig.start()

    def story() -> None:
        with open_socket(
            rig.address.https_port, context, HOST
        ) as first:  # it stays open, so that its session is valid
            for _ in range(2):
                with open_socket(rig.address.https_port, context, OTHER, first.session) as other:
                    assert version == ssl.TLSVersion.TLSv1_3 or not other.session_reused
            with open_socket(rig.address.https_port, context, HOST, first.session) as again:
                assert again.session_reused == (version == ssl.TLSVersion.TLSv1_3 and engine == "ssl")

    await asyncio.to_thread(story)
    assert rig.refused == []
    assert [each.host for each in rig.connections] == [HOST, OTHER, OTHER, HOST]


@contextmanager
def open_socket(
    port: int, context: ssl.SSLContext, name: str, session: ssl.SSLSession | None = None
) -> Iterator[ssl.SSLSocket]:
    """Open a connection that has been answered once."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname=name, session=session) as secure,
    ):
        secure.sendall(get(host=name).encode())
        assert secure.recv(65536).startswith(b"HTTP/1.1 200")
        yield secure


async def test_input_that_is_no_tls_gets_no_answer_in_http(rig: EdgeRig, engine: str) -> None:
    await rig.start()
    client = await rig.connect_plainly(rig.address.https_port)
    assert b"HTTP" not in await client.ask(get())
    assert (await rig.refusal())[0] == "TLS handshake failed"


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_corrupted_handshake_is_an_ordinary_failure(
    rig: EdgeRig, engine: str, version: ssl.TLSVersion
) -> None:
    await rig.start()
    client = await rig.connect_plainly(rig.address.https_port)
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = rig.trusting(PAIRS["self-signed"], version).wrap_bio(down, up, server_hostname=HOST)
    with suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    client.send(up.read())
    async with asyncio.timeout(PATIENCE):
        while not up.pending:  # until the server's part is complete and the client has its answer
            down.write(await client.reader.read(65536))
            with suppress(ssl.SSLWantReadError):
                tls.do_handshake()
    flight = bytearray(up.read())
    flight[-1] ^= 1
    assert b"HTTP" not in await client.ask(bytes(flight))
    assert (await rig.refusal())[0] == "TLS handshake failed"
    assert rig.connections == []


async def test_a_handshake_that_never_ends_is_ended(rig: EdgeRig, engine: str) -> None:
    await rig.start(handshake=SOON)
    client = await rig.connect_plainly(rig.address.https_port)
    client.send(b"\x16\x03\x01")
    assert await client.rest() == b""
    reason, detail = await rig.refusal()
    assert reason == "TLS handshake not finished"
    assert "0.05 s" in detail


async def test_a_client_that_leaves_during_the_handshake_is_reported(rig: EdgeRig, engine: str) -> None:
    await rig.start()
    client = await rig.connect_plainly(rig.address.https_port)
    client.writer.close()
    reason, detail = await rig.refusal()
    assert reason == "TLS handshake not finished"
    assert "left" in detail
