import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from labkit.core import certificates
from labkit.core.certificates import KeyPair, client_certificate, common_name


def der(pem: bytes) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pem.decode())


def test_a_device_certificate_names_the_device_and_signs_itself() -> None:
    pem, key = client_certificate("t-001")
    pair = KeyPair.from_pem(pem, key)
    pair.certificate.verify_directly_issued_by(pair.certificate)
    assert common_name(der(pem)) == "t-001"
    now = datetime.now(UTC)
    assert pair.certificate.not_valid_before_utc < now < pair.certificate.not_valid_after_utc


def test_an_authority_may_issue_a_device_certificate() -> None:
    maker = certificates.authority("a maker of devices")
    pem, _ = client_certificate("t-001", issuer=maker)
    certificate = x509.load_pem_x509_certificate(pem)
    certificate.verify_directly_issued_by(maker.certificate)
    assert certificate.issuer == maker.certificate.subject


def test_an_expired_certificate_has_ended_and_had_begun() -> None:
    pem, _ = client_certificate("t-001", expired=True)
    certificate = x509.load_pem_x509_certificate(pem)
    assert certificate.not_valid_before_utc < certificate.not_valid_after_utc < datetime.now(UTC)


def test_days_count_from_now() -> None:
    pem, _ = client_certificate("t-001", days=3)
    left = x509.load_pem_x509_certificate(pem).not_valid_after_utc - datetime.now(UTC)
    assert timedelta(days=2, hours=23) < left <= timedelta(days=3)


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_a_common_name_has_1_to_64_characters(name: str) -> None:
    with pytest.raises(ValueError, match="length"):
        client_certificate(name)


def test_a_certificate_without_a_common_name_has_none() -> None:
    assert common_name(der(client_certificate(None)[0])) is None


def test_the_first_of_several_common_names_counts() -> None:
    pair = KeyPair.from_pem(*client_certificate("x"))
    oid = x509.oid.NameOID.COMMON_NAME
    name = x509.Name([x509.NameAttribute(oid, "first"), x509.NameAttribute(oid, "second")])
    certificate = (
        x509.CertificateBuilder(name, name, pair.key.public_key(), 1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2030, 1, 1, tzinfo=UTC))
        .sign(pair.key, pair.certificate.signature_hash_algorithm)  # type: ignore[arg-type]
    )
    assert common_name(certificate.public_bytes(Encoding.DER)) == "first"


def test_an_invalid_certificate_has_no_common_name() -> None:
    assert common_name(b"\x30\x03nonsense") is None


def test_a_certificate_of_unknown_version_has_no_common_name() -> None:
    certificate = der(client_certificate("t-001")[0])
    version = b"\xa0\x03\x02\x01\x02"  # [0] { INTEGER 2 }: version 3
    assert certificate.count(version) == 1
    assert common_name(certificate.replace(version, b"\xa0\x03\x02\x01\x09")) is None


def test_a_key_pair_is_checked_when_read() -> None:
    pem, _ = client_certificate("t-001")
    _, other_key = client_certificate("t-001")
    with pytest.raises(ValueError, match="does not belong"):
        KeyPair.from_pem(pem, other_key)
    with pytest.raises(ValueError, match="PEM"):
        KeyPair.from_pem(b"no certificate", other_key)


def test_the_repr_of_a_key_is_hidden() -> None:
    assert "key" not in repr(certificates.authority("x"))


def test_a_certificate_without_days_is_valid_at_all_times() -> None:
    maker = certificates.authority("a lab", days=None)
    made = certificates.server_certificate(["a.localhost"], maker, days=None)
    for each in (maker, made):
        assert each.certificate.not_valid_before_utc == datetime(1970, 1, 1, tzinfo=UTC)
        assert each.certificate.not_valid_after_utc == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
