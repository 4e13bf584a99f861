"""X.509 certificates of the lab's authority, its servers, and devices.

Validity counts from real time, since most peers that check a certificate have no other clock. On a virtual clock a
program may live at any lab time: certificates for it are valid at all times. Keys are EC P-256, or RSA of 2048 bits on
request.
"""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from labkit.core.host_time import wall

Kind = Literal["ec", "rsa"]
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
# TLS alerts by which a client refuses a server's certificate (RFC 8446 6.2)
DISTRUST = frozenset({"unknown ca", "bad certificate", "certificate unknown", "unsupported certificate"})
SKEW = timedelta(days=1)  # a certificate is valid from yesterday on: device clocks run late
ALWAYS = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)  # RFC 5280 4.1.2.5


@dataclass(frozen=True, slots=True, repr=False)
class KeyPair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: PrivateKey

    @property
    def certificate_pem(self) -> bytes:
        """The certificate in PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The private key in PEM: PKCS#8, not encrypted."""
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def __reduce__(self) -> tuple[Callable[[bytes, bytes], KeyPair], tuple[bytes, bytes]]:
        """Serialize as PEM, for another process of the same user."""
        return KeyPair.from_pem, (self.certificate_pem, self.key_pem)

    @classmethod
    def from_pem(cls, certificate: bytes, key: bytes) -> KeyPair:
        """Load a pair. Raises ValueError if either is not PEM, or the key is not the certificate's."""
        loaded = x509.load_pem_x509_certificate(certificate)
        private = load_pem_private_key(key, password=None)
        if not isinstance(private, PrivateKey):
            raise ValueError("the key is neither an elliptic curve key nor an RSA key")
        if private.public_key() != loaded.public_key():
            raise ValueError("the key does not belong to the certificate")
        return cls(loaded, private)


def private_key(kind: Kind) -> PrivateKey:
    """Generate a private key. An RSA key takes up to a second."""
    return rsa.generate_private_key(65537, 2048) if kind == "rsa" else ec.generate_private_key(ec.SECP256R1())


def authority(
    common_name: str, *, days: int | None = 3650, kind: Kind = "ec", key: PrivateKey | None = None
) -> KeyPair:
    """Make a certificate authority: self-signed, for servers and clients but no further authority.

    days: None for an authority that is valid at all times; key: None makes a new one.
    """
    return _issue(
        _name(common_name),
        days=days,
        extensions=[
            (x509.BasicConstraints(ca=True, path_length=0), True),
            (_key_usage(sign_certificates=True), True),
        ],
        key=key or private_key(kind),
    )


def server_certificate(
    names: Sequence[str], issuer: KeyPair, *, days: int | None = 397, key: PrivateKey | None = None
) -> KeyPair:
    """Make a server's certificate for host names, wildcards (`*.m2.lab.localhost`) and IP addresses.

    days: 397 is the most that all clients in the field accept; None for a certificate that is valid at all times. key:
    None makes a new one. Raises ValueError for a name that is not ASCII.
    """
    return _issue(
        _name("labkit"),
        issuer=issuer,
        days=days,
        extensions=[
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (_key_usage(encipher_keys=isinstance(key, rsa.RSAPrivateKey)), True),
            (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
            (x509.SubjectAlternativeName([_alternative(name) for name in names]), False),
        ],
        key=key,
    )


def client_certificate(
    common_name: str | None, *, days: int = 3650, expired: bool = False, issuer: KeyPair | None = None
) -> tuple[bytes, bytes]:
    """Make a device's certificate and key, as PEM; the CommonName is the identity (document 1, Resources).

    common_name: 1 to 64 characters (X.520), or None for a certificate without one. issuer: None makes it
    self-signed. expired: it ended an hour ago. Raises ValueError for a name that is too long.
    """
    pair = _issue(
        _name(common_name) if common_name is not None else x509.Name([]),
        issuer=issuer,
        days=days,
        expired=expired,
        extensions=[
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (_key_usage(), True),
            (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), False),
        ],
    )
    return pair.certificate_pem, pair.key_pem


def common_name(certificate: bytes) -> str | None:
    """Return the first CommonName of a certificate in DER; None if it has none, or cannot be read."""
    try:
        subject = x509.load_der_x509_certificate(certificate).subject
    except (ValueError, x509.InvalidVersion):
        return None
    for attribute in subject.get_attributes_for_oid(NameOID.COMMON_NAME):
        if isinstance(attribute.value, str) and attribute.value:
            return attribute.value
    return None


def _issue(
    subject: x509.Name,
    *,
    days: int | None,
    extensions: Sequence[tuple[x509.ExtensionType, bool]],
    issuer: KeyPair | None = None,
    expired: bool = False,
    key: PrivateKey | None = None,
) -> KeyPair:
    key = key or private_key("ec")
    signer = issuer.key if issuer is not None else key
    now = datetime.fromtimestamp(wall(), UTC)
    begin, end = ALWAYS if days is None else (now - SKEW, now + timedelta(days=days))
    if expired:
        end = now - timedelta(hours=1)
    # cryptography takes instances of the class that `datetime` was when it first needed it: perhaps freezegun's
    dates = getattr(sys.modules.get("freezegun.api"), "FakeDatetime", datetime)
    begin, end = (dates(*each.timetuple()[:6], tzinfo=UTC) for each in (begin, end))
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer is not None else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    return KeyPair(builder.sign(signer, hashes.SHA256()), key)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_usage(*, sign_certificates: bool = False, encipher_keys: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not sign_certificates,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        content_commitment=False,
        key_encipherment=encipher_keys,  # where the key exchange is RSA
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
