"""Keys for tests of JWTs, and tokens built by hand."""

from __future__ import annotations

import base64
import datetime
import functools
import hashlib
import hmac
import json

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

BITS = 2048
SECRET = "correct horse battery staple"

PEM = serialization.Encoding.PEM
PLAIN = serialization.NoEncryption()
PKCS1 = serialization.PrivateFormat.TraditionalOpenSSL
PKCS8 = serialization.PrivateFormat.PKCS8


@functools.cache
def pair(bits: int, /) -> rsa.RSAPrivateKey:
    """Return an RSA key, the same for all tests."""
    return rsa.generate_private_key(65537, bits)


def private(form: serialization.PrivateFormat = PKCS8, bits: int = BITS) -> str:
    return pair(bits).private_bytes(PEM, form, PLAIN).decode()


def public(
    form: serialization.PublicFormat = serialization.PublicFormat.SubjectPublicKeyInfo, bits: int = BITS
) -> str:
    return pair(bits).public_key().public_bytes(PEM, form).decode()


@functools.cache
def certificate() -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "signer")])
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(pair(BITS).public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=1))
        .sign(pair(BITS), hashes.SHA256())
    )
    return made.public_bytes(PEM).decode()


def part(value: object) -> str:
    """Return a part of a token: encoded JSON, or text unchanged."""
    data = value if isinstance(value, str) else json.dumps(value)
    return base64.urlsafe_b64encode(data.encode()).rstrip(b"=").decode()


def forged(header: object, payload: object, key: str = SECRET) -> str:
    """Return a token with any header and payload, validly signed by HMAC with SHA-256."""
    signed = f"{part(header)}.{part(payload)}"
    made = hmac.new(key.encode(), signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"
