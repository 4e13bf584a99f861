"""The keys with which a lab signs tokens: created when first needed, stored in the database.

User tokens are signed with a secret of the solution (HS256), OAuth access tokens with an RSA key of the lab
(RS256).
"""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.types import Options
from sqlalchemy import Column, Connection, LargeBinary, String, Table, select
from sqlalchemy.dialects.sqlite import insert

from labkit.core.database import Database
from labkit.core.identifiers import Identifiers
from labkit.core.tables import metadata

LAB = ""  # owner of the RSA key: the lab, not one of its solutions
BITS = 2048
# For PyJWT, which has a clock of its own and does not know our audiences: lab time and the database are checked.
SIGNATURE_ONLY: Options = {
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_aud": False,
}

LONGEST_TOKEN = 16 * 1024  # characters: a lab's own tokens are below 4 KiB


def has_issued_form(token: str) -> bool:
    """Return whether a token has a length and a signature encoding that the lab's own tokens can have."""
    return len(token) <= LONGEST_TOKEN and is_strict(token)


def is_strict(token: str) -> bool:
    """Return whether the signature of a JWT is base64url without padding (RFC 7515, section 2).

    Decoders ignore other characters, so without this check `token=` and `token!` would be valid too. The part
    before the signature is signed as text, so it needs no such check.
    """
    signature = token.rpartition(".")[2]
    try:
        written = urlsafe_b64encode(urlsafe_b64decode(f"{signature}=="))
        return written.rstrip(b"=") == signature.encode()
    except ValueError:
        return False


key_table = Table(
    "signing_key",
    metadata,
    Column("owner", String, primary_key=True),  # a solution's id, or LAB
    Column("key", LargeBinary, nullable=False, info={"secret": True}),
)


class Keys:
    """The signing keys of a lab."""

    def __init__(self, database: Database, identifiers: Identifiers) -> None:
        self._database = database
        self._identifiers = identifiers
        self._secrets: dict[str, bytes] = {}
        self._private: rsa.RSAPrivateKey | None = None

    async def secret(self, solution: str) -> bytes:
        """Return the secret that signs the user tokens of a solution."""
        if solution not in self._secrets:
            made = self._identifiers.hex(f"{solution}/key", 64).encode()
            self._secrets[solution] = await self._database.run(_kept, solution, made)
        return self._secrets[solution]

    async def private(self) -> rsa.RSAPrivateKey:
        """Return the RSA key that signs the access tokens of a lab. Generating it is slow, so a thread does it."""
        if self._private is None:
            made = await self._database.read(_found, LAB)
            if made is None:
                made = await asyncio.to_thread(_make)
            pem = await self._database.run(_kept, LAB, made)  # of two generated concurrently, the first stays
            # We generated this key; validating its primes again takes longer than generating one.
            key = serialization.load_pem_private_key(pem, None, unsafe_skip_rsa_key_validation=True)
            assert isinstance(key, rsa.RSAPrivateKey)
            self._private = key
        return self._private

    def forget_all(self) -> None:
        """Discard the keys after the database was emptied.

        An old token must not be valid for a new user with the same id.
        """
        self._secrets.clear()
        self._private = None


def _make() -> bytes:
    return rsa.generate_private_key(65537, BITS).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _found(connection: Connection, owner: str) -> bytes | None:
    return connection.execute(select(key_table.c.key).where(key_table.c.owner == owner)).scalar()


def _kept(connection: Connection, owner: str, made: bytes) -> bytes:
    kept = insert(key_table).values(owner=owner, key=made).on_conflict_do_nothing()
    return made if connection.execute(kept).rowcount else _found(connection, owner) or made
