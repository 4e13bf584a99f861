"""Keys for tests of JWTs."""

from __future__ import annotations

import functools

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

PEM = serialization.Encoding.PEM


@functools.cache
def pair() -> rsa.RSAPrivateKey:
    """Return an RSA key, the same for all tests."""
    return rsa.generate_private_key(65537, 2048)


def private() -> str:
    plain = serialization.NoEncryption()
    return pair().private_bytes(PEM, serialization.PrivateFormat.PKCS8, plain).decode()


def public() -> str:
    return pair().public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
