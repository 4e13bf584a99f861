"""Signing keys for tokens, created at the first use and stored in the database.

User tokens are signed with a secret of the solution (HS256), OAuth access tokens with an RSA key of the lab
(RS256).
"""

from __future__ import annotations

import asyncio
import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import HMACAlgorithm, RSAAlgorithm
from jwt.types import Options
from sqlalchemy import Column, Connection, LargeBinary, String, Table, select
from sqlalchemy.dialects.sqlite import insert

from labkit.core.identifiers import Identifiers
from labkit.storage.database import Database
from labkit.storage.schema import metadata

LAB = ""  # owner of the RSA key: the lab, not one of its solutions
BITS = 2048
# PyJWT checks only the signature: it uses its own clock and does not know the audiences. Callers check the claims.
SIGNATURE_ONLY: Options = {
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_aud": False,
}

LONGEST_TOKEN = 16 * 1024  # characters: a lab's own tokens are below 4 KiB
MOST_REMEMBERED = 4096  # tokens: some MiB

Claims = dict[str, Any]


class Hmac(HMACAlgorithm):
    """HMAC for keys that were checked before: a lab's own secrets, and those that `shared_secret` has accepted.

    PyJWT would try at each signature whether the key is one of another kind, in DER for example, and warn of the
    short keys of the documents' examples.
    """

    def prepare_key(self, key: str | bytes) -> bytes:
        return key.encode() if isinstance(key, str) else key

    def check_key_length(self, key: bytes) -> None:
        return None


def _signer() -> jwt.PyJWS:
    """Return a signer that supports only the documents' four algorithms, and in particular not `none`."""
    signer = jwt.PyJWS(algorithms=[])
    for size in ("256", "384", "512"):
        signer.register_algorithm(f"HS{size}", Hmac(getattr(Hmac, f"SHA{size}")))
    signer.register_algorithm("RS256", RSAAlgorithm(RSAAlgorithm.SHA256))
    return signer


SIGNER = _signer()


def lifetime_claims(now: float, lifetime: int) -> dict[str, float]:
    """Return the claims of a token issued now; those of a fraction of a second have it, too (RFC 7519, section 2)."""
    start, end = (int(each) if each.is_integer() else each for each in (now, now + lifetime))
    return {"iat": start, "nbf": start, "exp": end}


def is_strict(token: str) -> bool:
    """Return whether the signature of a JWT is base64url without padding (RFC 7515, section 2).

    Decoders ignore other characters, so without this check `token=` and `token!` would be valid too. The signature
    protects the other parts of the token.
    """
    signature = token.rpartition(".")[2]
    try:
        canonical = urlsafe_b64encode(urlsafe_b64decode(f"{signature}=="))
        return canonical.rstrip(b"=") == signature.encode()
    except ValueError:
        return False


key_table = Table(
    "signing_key",
    metadata,
    Column("owner", String, primary_key=True),  # a solution's id, or LAB
    Column("key", LargeBinary, nullable=False, info={"secret": True}),
)


class Keys:
    """Signing keys of a lab and of its solutions."""

    def __init__(self, database: Database, identifiers: Identifiers) -> None:
        self._database = database
        self._identifiers = identifiers
        self._secrets: dict[str, bytes] = {}
        self._verified: OrderedDict[bytes, Claims] = OrderedDict()  # newest last
        self._private: rsa.RSAPrivateKey | None = None

    async def secret(self, solution: str) -> bytes:
        """Return the secret that signs the user tokens of a solution."""
        if solution not in self._secrets:
            new = self._identifiers.hex(f"{solution}/key", 64).encode()
            self._secrets[solution] = await self._database.run(_store_once, solution, new)
        return self._secrets[solution]

    async def private(self) -> rsa.RSAPrivateKey:
        """Return the RSA key that signs the access tokens of a lab. It is generated in a thread, since that is slow."""
        if self._private is None:
            stored = await self._database.read(_find, LAB)
            if stored is None:
                stored = await asyncio.to_thread(_generate)
            pem = await self._database.run(
                _store_once, LAB, stored
            )  # concurrent calls may both generate a key
            # We generated this key; validating its primes again takes longer than generating one.
            key = serialization.load_pem_private_key(pem, None, unsafe_skip_rsa_key_validation=True)
            assert isinstance(key, rsa.RSAPrivateKey)
            self._private = key
        return self._private

    def verified(self, key: bytes, token: str, verify: Callable[[], Claims | None]) -> Claims | None:
        """Return the claims of a token whose signature `verify()` accepts; an accepted one is not verified again.

        key: the secret, or the name of the lab's own key. Callers judge what changes with time, such as the lifetime.
        """
        if len(token) > LONGEST_TOKEN:
            return None
        digest = hashlib.sha256(key + b"." + token.encode(errors="surrogatepass")).digest()
        if (claims := self._verified.get(digest)) is None and is_strict(token):
            claims = verify()
            if claims is not None:
                self._verified[digest] = claims
                if len(self._verified) > MOST_REMEMBERED:
                    self._verified.popitem(last=False)
        return claims

    def forget_all(self) -> None:
        """Discard the keys, and what they have verified, after the database was emptied.

        An old token must not be valid for a new user with the same id.
        """
        self._secrets.clear()
        self._verified.clear()
        self._private = None


def _generate() -> bytes:
    return rsa.generate_private_key(65537, BITS).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _find(connection: Connection, owner: str) -> bytes | None:
    return connection.execute(select(key_table.c.key).where(key_table.c.owner == owner)).scalar()


def _store_once(connection: Connection, owner: str, new: bytes) -> bytes:
    """Store a key unless its owner has one, and return the stored key."""
    statement = insert(key_table).values(owner=owner, key=new).on_conflict_do_nothing()
    return new if connection.execute(statement).rowcount else _find(connection, owner) or new
