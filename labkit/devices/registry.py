"""Devices and their credentials.

A device is whitelisted (named in advance), provisioned (it has a credential) or both, and may be locked.
Of a credential only a digest is kept: a token and a certificate as SHA-256; a password, which the device made
up itself, as salted BLAKE2b. It is checked with each request, so a slow password hash would make the lab a
benchmark of that hash; the documents ask for 20 characters or more.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Boolean, Column, Connection, Index, Integer, LargeBinary, String, Table, select
from sqlalchemy.dialects.sqlite import insert

from labkit.core.clock import Clock
from labkit.core.database import Database, execute, execute_many
from labkit.core.errors import LabError
from labkit.core.identifiers import Identifiers
from labkit.core.tables import metadata

TOKEN_LENGTH = 40
SHORTEST_PASSWORD = 20

device_table = Table(
    "device",
    metadata,
    Column("product", String, primary_key=True),
    Column("identity", String, primary_key=True),
    Column("whitelisted", Boolean, nullable=False, default=False),
    Column("locked", Boolean, nullable=False, default=False),
    Column("digest", LargeBinary),
    Column("salt", LargeBinary),
    Column("provisioned", Integer),  # lab time in whole seconds
    Index("device_digest", "product", "digest"),  # or each device that connects would be looked for among all
    sqlite_with_rowid=False,
)

HAND_OUT = (
    "INSERT INTO device (product, identity, whitelisted, locked, digest, salt, provisioned) "
    "VALUES (?, ?, 1, 0, ?, ?, ?) ON CONFLICT (product, identity) DO UPDATE SET whitelisted = 1, "
    "digest = excluded.digest, salt = excluded.salt, provisioned = excluded.provisioned"
)

SELECT = "SELECT product, identity, whitelisted, locked, digest, salt, provisioned FROM device "
FIND = SELECT + "WHERE product = ? AND identity = ?"
FIND_BY_DIGEST = SELECT + "WHERE product = ? AND digest = ?"

Outcome = Literal["provisioned", "unknown", "taken", "locked"]


@dataclass(frozen=True, slots=True)
class Device:
    """What the platform knows of a device."""

    product: str
    identity: str
    whitelisted: bool
    locked: bool
    digest: bytes | None
    salt: bytes | None
    provisioned: int | None

    @property
    def status(self) -> str:
        if self.locked:
            return "locked"
        return "provisioned" if self.digest is not None else "whitelisted"

    def proves(self, digest: bytes) -> bool:
        """Is `digest` that of the device's credential?"""
        return self.digest is not None and hmac.compare_digest(self.digest, digest)


@dataclass(eq=False, slots=True)
class Hold:
    """A request of a device that was let in. revoked: its credential is no longer valid.

    end: called once when that happens.
    """

    device: Device
    revoked: bool = False
    end: Callable[[], object] | None = None

    def revoke(self) -> None:
        self.revoked = True
        if self.end is not None:
            self.end()


def fingerprint(credential: str | bytes) -> bytes:
    """The digest kept of a token or a certificate (DER)."""
    if isinstance(credential, str):  # as it came in a header, so perhaps with bytes that are not UTF-8
        credential = credential.encode("utf-8", "surrogateescape")
    return hashlib.sha256(credential).digest()


def password_digest(password: str, salt: bytes) -> bytes:
    """The digest kept of a password."""
    return hashlib.blake2b(password.encode(), key=salt).digest()


class Registry:
    """All devices of a lab. Digests that were looked up stay in memory until a device changes."""

    def __init__(self, database: Database, clock: Clock, identifiers: Identifiers) -> None:
        self._database = database
        self._clock = clock
        self._identifiers = identifiers
        self._by_digest: dict[tuple[str, bytes], Device] = {}
        self._digests: dict[tuple[str, str], bytes] = {}  # of the devices in `_by_digest`, by identity
        self._holds: dict[tuple[str, str], set[Hold]] = {}
        self._changes = 0

    async def find(self, product: str, identity: str) -> Device | None:
        """The device of this identity."""
        return await self._database.read(_find, product, identity)

    async def by_token(self, product: str, token: str) -> Device | None:
        """The device that this token belongs to."""
        return await self.by_token_digest(product, self.digest_of(token))

    def digest_of(self, token: str) -> bytes:
        """What `by_token_digest` knows a token by, for who asks for the device of one token again and again."""
        return fingerprint(token)

    async def by_token_digest(self, product: str, digest: bytes) -> Device | None:
        """The device whose token has this digest."""
        key = (product, digest)
        device = self._by_digest.get(key)
        if device is None:
            changes = self._changes
            device = await self._database.read(by_digest, *key)
            self._keep(device, changes)
        return device

    async def by_password(self, product: str, identity: str, password: str) -> Device | None:
        """The device of this identity, if this is its password."""
        device = await self.find(product, identity)
        salt = device.salt if device is not None and device.salt is not None else bytes(16)
        digest = password_digest(password, salt)  # also for nobody, so that both take as long
        return device if device is not None and device.proves(digest) else None

    async def by_certificate(self, product: str, identity: str, certificate: bytes) -> Device | None:
        """The device of this identity, if this certificate (DER) is the one pinned to it."""
        digest = fingerprint(certificate)
        device = self._by_digest.get((product, digest))
        if device is None or device.identity != identity:
            changes = self._changes
            device = await self.find(product, identity)
            if device is not None and device.proves(digest):
                self._keep(device, changes)
        return device if device is not None and device.proves(digest) else None

    def hold(self, device: Device) -> Hold:
        """Have a request know when its device's credential is replaced, or the device locked or removed.

        To be called before anything is awaited since the device was looked up, and `release`d at the end.
        """
        hold = Hold(device)
        self._holds.setdefault((device.product, device.identity), set()).add(hold)
        return hold

    def release(self, hold: Hold | None) -> None:
        """The request has ended. Nothing happens where it was released or revoked already."""
        if hold is None:
            return
        key = hold.device.product, hold.device.identity
        holds = self._holds.get(key)
        if holds is not None:
            holds.discard(hold)
            if not holds:
                del self._holds[key]

    def _revoke(self, product: str, identity: str) -> None:
        for hold in self._holds.pop((product, identity), ()):
            hold.revoke()

    async def all(self, product: str) -> list[Device]:
        """The devices of a product by identity."""
        return await self._database.read(_all, product)

    async def provision_token(
        self, product: str, identity: str, *, register: bool, replacing: bytes | None = None
    ) -> tuple[Outcome, str]:
        """Give the device a new token of 40 hex digits. Returns the outcome and the token.

        register: create the device where it is unknown; replacing: the digest of the credential that it has
        authenticated with, which may be gone by now. Outcomes other than `provisioned` change nothing.
        """
        token = self._identifiers.hex(f"token/{product}/{identity}", TOKEN_LENGTH)
        outcome = await self.provision(product, identity, fingerprint(token), None, register, replacing)
        return outcome, token

    async def provision_password(
        self, product: str, identity: str, password: str, *, register: bool, replacing: bytes | None = None
    ) -> Outcome:
        """Keep the password that the device chose."""
        salt = secrets.token_bytes(16)
        digest = password_digest(password, salt)
        return await self.provision(product, identity, digest, salt, register, replacing)

    async def provision_certificate(
        self,
        product: str,
        identity: str,
        certificate: bytes,
        *,
        register: bool,
        replacing: bytes | None = None,
    ) -> Outcome:
        """Pin a certificate (DER) to the device."""
        return await self.provision(product, identity, fingerprint(certificate), None, register, replacing)

    async def provision(
        self,
        product: str,
        identity: str,
        digest: bytes,
        salt: bytes | None,
        register: bool,
        replacing: bytes | None,
    ) -> Outcome:
        now = self._clock.seconds()

        def provision(connection: Connection) -> Outcome:
            device = _find(connection, product, identity)
            if device is None:
                if not register:
                    return "unknown"
            elif device.digest is not None and (replacing is None or not device.proves(replacing)):
                return "taken"
            elif device.locked:
                return "locked"
            values = {"digest": digest, "salt": salt, "provisioned": now}
            before = None if device is None else device.digest
            return "provisioned" if _replace(connection, product, identity, before, values) else "taken"

        outcome = await self._database.run(provision)
        if outcome == "provisioned":
            self.forget(product, identity)
            self._revoke(product, identity)
        return outcome

    async def hand_out(self, product: str, credentials: Mapping[str, tuple[bytes, bytes | None]]) -> None:
        """Whitelist and provision many identities at once: digest and salt of each. What they had is replaced."""
        now = self._clock.seconds()
        rows = [(product, identity, *proof, now) for identity, proof in credentials.items()]
        await self._database.run(lambda connection: execute_many(connection, HAND_OUT, rows))
        for identity in credentials:
            self.forget(product, identity)
            self._revoke(product, identity)

    async def allow(self, product: str, identities: Iterable[str], token: str | None = None) -> None:
        """Whitelist identities. With `token` (40 characters), the device is provisioned with it as well.

        Raises LabError where the token has another length, is that of another device or meant for several.
        """
        if token is not None and len(token) != TOKEN_LENGTH:
            raise LabError(f"a token has {TOKEN_LENGTH} characters, this one has {len(token)}")
        named = list(identities)
        if token is not None and len(named) > 1:
            raise LabError("a token is that of one device, not of several")
        values: dict[str, object] = {"whitelisted": True}
        digest = None if token is None else fingerprint(token)
        if digest is not None:
            values |= {"digest": digest, "salt": None, "provisioned": self._clock.seconds()}

        def allow(connection: Connection) -> None:
            owner = None if digest is None else by_digest(connection, product, digest)
            if owner is not None and owner.identity not in named:
                raise LabError(f"this token is that of {owner.identity!r}")
            _put(connection, product, *named, **values)

        await self._database.run(allow)
        for identity in named:
            self.forget(product, identity)
            if digest is not None:
                self._revoke(product, identity)

    async def add(self, product: str, identity: str) -> bool:
        """Whitelist an identity that is new. False, and nothing changes, where there is a device of it."""

        def add(connection: Connection) -> bool:
            if _find(connection, product, identity) is not None:
                return False
            _put(connection, product, identity, whitelisted=True)
            return True

        return await self._database.run(add)

    async def lock(self, product: str, identity: str, locked: bool = True) -> None:
        """Keep a device out even with valid credentials, or let it in again. Raises LabError if unknown."""
        await self._change(product, identity, lambda c: _put(c, product, identity, locked=locked))

    async def remove(self, product: str, identity: str) -> None:
        """Forget a device, its credential and whitelisting; its datapoints stay.

        Raises LabError if unknown.
        """
        row = (device_table.c.product == product) & (device_table.c.identity == identity)
        await self._change(product, identity, lambda c: c.execute(device_table.delete().where(row)))

    async def _change(self, product: str, identity: str, change: Callable[[Connection], object]) -> None:
        def apply(connection: Connection) -> None:
            if _find(connection, product, identity) is None:
                raise LabError(f"product {product!r} has no device {identity!r}")
            change(connection)

        await self._database.run(apply)
        self.forget(product, identity)
        self._revoke(product, identity)

    def forget_all(self) -> None:
        """Look every digest up anew, and let no request go on: the database was emptied."""
        self._changes += 1
        self._by_digest.clear()
        self._digests.clear()
        for key in list(self._holds):
            self._revoke(*key)

    def _keep(self, device: Device | None, changes: int) -> None:
        """Keep what was looked up, unless a device has changed since (`changes` was read before)."""
        if device is not None and device.digest is not None and changes == self._changes:
            self._by_digest[device.product, device.digest] = device
            self._digests[device.product, device.identity] = device.digest

    def forget(self, product: str, identity: str) -> None:
        self._changes += 1
        digest = self._digests.pop((product, identity), None)
        if digest is not None:
            self._by_digest.pop((product, digest), None)


def _find(connection: Connection, product: str, identity: str) -> Device | None:
    # by hand: SQLAlchemy's statement would cost several times what SQLite itself does
    row = execute(connection, FIND, (product, identity)).fetchone()
    return None if row is None else _device(row)


def _device(row: tuple[str, str, int, int, bytes | None, bytes | None, int | None]) -> Device:
    product, identity, whitelisted, locked, digest, salt, provisioned = row
    return Device(product, identity, bool(whitelisted), bool(locked), digest, salt, provisioned)


def by_digest(connection: Connection, product: str, digest: bytes) -> Device | None:
    row = execute(connection, FIND_BY_DIGEST, (product, digest)).fetchone()
    return None if row is None else _device(row)


def _all(connection: Connection, product: str) -> list[Device]:
    query = select(device_table).where(device_table.c.product == product).order_by(device_table.c.identity)
    return [Device(*row) for row in connection.execute(query)]


def _put(connection: Connection, product: str, *identities: str, **values: object) -> None:
    new = {"product": product, "whitelisted": False, "locked": False, **values}
    changed = ", ".join(f"{name} = excluded.{name}" for name in values)
    put = (
        f"INSERT INTO {device_table.name} (identity, {', '.join(new)}) VALUES (?{', ?' * len(new)})"
        f" ON CONFLICT (product, identity) DO UPDATE SET {changed}"
    )
    # by hand, since a list of names may be long
    execute_many(connection, put, ((identity, *new.values()) for identity in identities))


def _replace(
    connection: Connection, product: str, identity: str, before: bytes | None, values: Mapping[str, object]
) -> bool:
    """Give a device a credential, unless its digest is another than `before` by now."""
    new = {"product": product, "identity": identity, "whitelisted": False, "locked": False, **values}
    put = (
        insert(device_table)
        .values(new)
        .on_conflict_do_update(
            index_elements=["product", "identity"], set_=values, where=device_table.c.digest.is_(before)
        )
    )
    return connection.execute(put).rowcount > 0
