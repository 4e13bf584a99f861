"""The minimum of work that any implementation needs for a token: a signature or its check, and one query.

Signatures are made by the standard library (HS256) or by cryptography (RS256) without a JWT library around
them, statements go straight to the driver, and nothing else is checked.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from sqlalchemy import Connection

from labkit.bench.control import BenchError
from labkit.storage.database import Database, execute

Claims = Mapping[str, Any]

READ = "SELECT id, email, status FROM user WHERE solution = ? AND id = ?"
TABLE = (
    "CREATE TABLE IF NOT EXISTS baseline_set (client INTEGER, user INTEGER, jti TEXT, refresh BLOB, expires INTEGER, "
    "PRIMARY KEY (client, user))"
)
WRITE = "INSERT OR REPLACE INTO baseline_set VALUES (?, ?, ?, ?, ?)"


def hs256(secret: bytes, claims: Claims) -> str:
    """Return a JWT of the claims, signed with HS256."""
    signed = _to_sign("HS256", claims)
    return f"{signed.decode()}.{_text(hmac.digest(secret, signed, 'sha256')).decode()}"


def rs256(key: RSAPrivateKey, claims: Claims) -> str:
    """Return a JWT of the claims, signed with RS256."""
    signed = _to_sign("RS256", claims)
    return f"{signed.decode()}.{_text(key.sign(signed, PKCS1v15(), SHA256())).decode()}"


def verified(secret: bytes, token: str) -> Claims:
    """Verify a JWT that is signed with HS256 and return its claims. Raises BenchError for a wrong signature."""
    signed, _, signature = token.encode().rpartition(b".")
    if not hmac.compare_digest(_text(hmac.digest(secret, signed, "sha256")), signature):
        raise BenchError("the signature of a token is wrong")
    return claims_of(token)


def claims_of(token: str) -> Claims:
    """Return the claims of a JWT without verification."""
    payload = token.split(".")[1]
    claims: Claims = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return claims


async def read(database: Database, solution: str, user: int) -> tuple[object, ...] | None:
    """Return a user's row, found by its primary key."""
    return await database.read(_read, solution, user)


async def write(database: Database, client: int, user: int, jti: str, refresh: str, expires: int) -> None:
    """Store a token set in one row, with the refresh token as a hash; it replaces the previous set."""
    await database.run(_write, (client, user, jti, hashlib.sha256(refresh.encode()).digest(), expires))


async def prepare(database: Database) -> None:
    """Create the table for `write`."""
    await database.run(lambda connection: execute(connection, TABLE))


def _read(connection: Connection, solution: str, user: int) -> tuple[object, ...] | None:
    row: tuple[object, ...] | None = execute(connection, READ, (solution, user)).fetchone()
    return row


def _write(connection: Connection, row: tuple[object, ...]) -> None:
    execute(connection, WRITE, row)


def _to_sign(algorithm: str, claims: Claims) -> bytes:
    header = {"alg": algorithm, "typ": "JWT"}
    return _text(json.dumps(header).encode()) + b"." + _text(json.dumps(claims).encode())


def _text(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")
