"""Certificates of the lab at lab time and at real time."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from OpenSSL import crypto

from labkit import Lab
from tests.guard import PATIENCE

HOST = "thermostat.m2.lab.localhost"
YEARS = timedelta(days=3 * 365)


@pytest.fixture(params=["ec", "rsa"])
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    with Lab(seed=7, tls={"key": request.param}) as made:
        made.product("thermostat", resources={"temperature": "number"})
        yield made


def served(lab: Lab) -> x509.Certificate:
    """Return the server's certificate, which a real client accepts at real time."""
    context = ssl.create_default_context(cafile=lab.ca_file)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with (
        socket.create_connection(("127.0.0.1", lab.address.https_port), timeout=PATIENCE) as opened,
        context.wrap_socket(opened, server_hostname=HOST) as connection,
    ):
        der = connection.getpeercert(binary_form=True)
    assert der
    return x509.load_der_x509_certificate(der)


def accept(lab: Lab, when: datetime) -> None:
    """Verify the server's certificate as a client at this time does. Raises an error of OpenSSL."""
    store = crypto.X509Store()
    for each in x509.load_pem_x509_certificates(lab.address.ca_pem.encode()):
        store.add_cert(crypto.X509.from_cryptography(each))
    store.set_time(when)
    crypto.X509StoreContext(store, crypto.X509.from_cryptography(served(lab))).verify_certificate()


def now(lab: Lab) -> datetime:
    return datetime.fromtimestamp(lab.clock.time, UTC)


def accept_here(lab: Lab) -> None:
    """Verify that a client accepts the server at lab time and years later, and at real time."""
    for when in (now(lab), now(lab) + YEARS, datetime.now(UTC)):
        accept(lab, when)


def test_a_virtual_lab_is_accepted_at_lab_time_and_at_real_time(lab: Lab) -> None:
    accept_here(lab)
    lab.clock.advance(days=4000)
    accept_here(lab)
    lab.reset()
    accept_here(lab)


def test_a_restored_lab_is_accepted(lab: Lab) -> None:
    before = lab.snapshot()
    lab.clock.advance(days=4000)
    later = lab.snapshot()
    for each in (before, later):
        lab.restore(each)
        accept_here(lab)


@pytest.mark.parametrize("start", ["1970-01-02", "2019-06-01", "2093-12-01"])
def test_a_lab_that_starts_at_another_time_is_accepted(start: str) -> None:
    with Lab(seed=7, start=start) as lab:
        lab.product("thermostat", resources={"temperature": "number"})
        accept_here(lab)


def test_a_running_lab_has_a_certificate_that_all_clients_in_the_field_accept() -> None:
    with Lab() as lab:
        lab.product("thermostat", resources={"temperature": "number"})
        found = served(lab)
        assert found.not_valid_after_utc - datetime.now(UTC) <= timedelta(days=397)
        assert found.not_valid_after_utc - datetime.now(UTC) > timedelta(days=396)
        accept(lab, datetime.now(UTC))
        lab.clock.freeze()
        lab.clock.advance(days=4000)
        accept_here(lab)
        lab.clock.run()
        assert served(lab).not_valid_after_utc - datetime.now(UTC) <= timedelta(days=397)


def test_another_listener_of_a_virtual_lab_has_such_a_certificate(lab: Lab) -> None:
    edge = lab._runtime.control._platform.edge  # type: ignore[attr-defined]
    made: ssl.SSLContext = edge.server_context(["other.localhost"])
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context(cafile=lab.ca_file).wrap_bio(
        down, up, server_hostname="other.localhost"
    )
    server = made.wrap_bio(up, down, server_side=True)
    for end in (client, server, client):
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    der = client.getpeercert(binary_form=True)
    assert der
    assert x509.load_der_x509_certificate(der).not_valid_after_utc.year == 9999
