"""Registry of devices and their credentials.

A device is whitelisted (named in advance), provisioned (it has a credential) or both, and may be locked. Only a
digest of a credential is stored: a token and a certificate as SHA-256; a password, which the device chose
itself, as salted BLAKE2b. It is checked with each request, so a slow password hash would make the lab a
benchmark of that hash; the documents require 20 characters or more.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from sqlalchemy import Boolean, Column, Connection, Index, Integer, LargeBinary, Table

from labkit.core.errors import LabError, TakenError, UnknownError
from labkit.core.identifiers import Identifiers
from labkit.devices.identities import ResourceIds
from labkit.devices.selection import DeviceSelection
from labkit.devices.tags import tag_table
from labkit.labtime.clock import Clock
from labkit.storage.database import Database, execute, execute_many
from labkit.storage.schema import metadata, texts


@dataclass(eq=False, slots=True)
class RequestAuthorization:
    """The authorization of a device's request in progress.

    device: product and identity. revoked: whether the credential is no longer valid. end: called once when it is
    revoked.
    """

    device: tuple[str, str]
    revoked: bool = False
    end: Callable[[], object] | None = None

    def revoke(self) -> None:
        """Mark the authorization as revoked and end the request."""
        self.revoked = True
        if self.end is not None:
            self.end()


TOKEN_LENGTH = 40
PAGE = 2_000  # devices that are read at once
WINDOW = 10_000  # devices that are searched at once, fewer where each takes longer
SMALLEST = 100  # devices that are searched first
ALL = DeviceSelection()
SHORTEST_PASSWORD = 20

device_table = Table(
    "device",
    metadata,
    *texts("product", "identity", key=True),
    Column("whitelisted", Boolean, nullable=False, default=False),
    Column("locked", Boolean, nullable=False, default=False),
    Column("digest", LargeBinary),
    Column("salt", LargeBinary),
    Column("provisioned", Integer),  # lab time in whole seconds
    Index("device_digest", "product", "digest"),  # otherwise each lookup of a token would scan all devices
    sqlite_with_rowid=False,
)

NEW = {"whitelisted": False, "locked": False}  # of a device that is added

SELECT = "SELECT product, identity, whitelisted, locked, digest, salt, provisioned"
FIND = SELECT + " FROM device WHERE product = ? AND identity = ?"
IDENTITIES = "SELECT identity FROM device WHERE product = ? AND identity > ? ORDER BY identity LIMIT ?"
# Without the name of the index, SQLite reads all devices of the product by the primary key.
FIND_BY_DIGEST = SELECT + " FROM device INDEXED BY device_digest WHERE product = ? AND digest = ?"

Outcome = Literal["provisioned", "unknown", "taken", "locked"]


@dataclass(frozen=True, slots=True)
class DeviceRecord:
    """The registration of a device."""

    product: str
    identity: str
    whitelisted: bool
    locked: bool
    digest: bytes | None
    salt: bytes | None
    provisioned: int | None

    @property
    def status(self) -> str:
        """`locked`, `provisioned` or `whitelisted`."""
        if self.locked:
            return "locked"
        return "provisioned" if self.digest is not None else "whitelisted"

    def proves(self, digest: bytes) -> bool:
        """Return whether `digest` is that of the device's credential."""
        return self.digest is not None and hmac.compare_digest(self.digest, digest)


def fingerprint(credential: str | bytes) -> bytes:
    """Return the stored digest of a token or a certificate (DER)."""
    if isinstance(credential, str):  # from a header, so perhaps with bytes that are not UTF-8
        credential = credential.encode("utf-8", "surrogateescape")
    return hashlib.sha256(credential).digest()


def password_digest(password: str, salt: bytes) -> bytes:
    """Return the stored digest of a password."""
    return hashlib.blake2b(password.encode(), key=salt).digest()


class Registry:
    """All devices of a lab. Digests that were looked up are cached until a device changes, ids of resources stay.

    seen: IP address and lab time in microseconds of the last authenticated request, by product and identity; of this
    start of the lab, since a commit with each request would be too much.
    """

    def __init__(self, database: Database, clock: Clock, identifiers: Identifiers) -> None:
        self._database = database
        self._clock = clock
        self._identifiers = identifiers
        self._by_digest: dict[tuple[str, bytes], DeviceRecord] = {}
        self._digests: dict[tuple[str, str], bytes] = {}  # of the devices in `_by_digest`, by identity
        self._authorizations: dict[tuple[str, str], set[RequestAuthorization]] = {}
        self._changes = 0
        self._ids: dict[str, ResourceIds] = {}  # of the products in which an id has been sought
        self.seen: dict[tuple[str, str], tuple[str, int]] = {}

    async def find(self, product: str, identity: str) -> DeviceRecord | None:
        """Return the device with this identity, or None."""
        return await self._database.read(_find, product, identity)

    async def find_resource(self, product: str, aliases: tuple[str, ...], rid: str) -> tuple[str, str] | None:
        """Return identity and alias of a resource by its id, an empty alias for a device; None for an unknown id.

        aliases: of the product's resources. The first search reads all devices, answering requests in between.
        """
        ids = self._ids.get(product)
        if ids is None or ids.aliases != aliases:
            ids = self._ids[product] = ResourceIds(product, aliases)
        last, size = "", 1 + PAGE // (1 + len(aliases))
        while not ids.complete:
            page = await self._database.read(_identities, product, last, size)
            for last in page:
                ids.add(last)
            ids.complete = len(page) < size
            await asyncio.sleep(0)
        found = ids.find(rid)
        # A device that was removed during the first search may have been added after that.
        return None if found is None or await self.find(product, found[0]) is None else found

    async def find_by_token(self, product: str, token: str) -> DeviceRecord | None:
        """Return the device that this token belongs to, or None."""
        return await self.find_by_token_digest(product, self.token_digest(token))

    def token_digest(self, token: str) -> bytes:
        """Return a token's digest for `find_by_token_digest`, for callers that look up one token repeatedly."""
        return fingerprint(token)

    async def find_by_token_digest(self, product: str, digest: bytes) -> DeviceRecord | None:
        """Return the device whose token has this digest, or None."""
        key = (product, digest)
        device = self._by_digest.get(key)
        if device is None:
            changes = self._changes
            device = await self._database.read(find_by_digest, *key)
            self._keep(device, changes)
        return device

    async def find_by_password(self, product: str, identity: str, password: str) -> DeviceRecord | None:
        """Return the device with this identity, if this is its password."""
        device = await self.find(product, identity)
        salt = device.salt if device is not None and device.salt is not None else bytes(16)
        digest = password_digest(password, salt)  # for an unknown identity too: equally long
        return device if device is not None and device.proves(digest) else None

    async def find_by_certificate(
        self, product: str, identity: str, certificate: bytes
    ) -> DeviceRecord | None:
        """Return the device with this identity, if this certificate (DER) is the one pinned to it."""
        digest = fingerprint(certificate)
        device = self._by_digest.get((product, digest))
        if device is None or device.identity != identity:
            changes = self._changes
            device = await self.find(product, identity)
            if device is not None and device.proves(digest):
                self._keep(device, changes)
        return device if device is not None and device.proves(digest) else None

    def begin_request(self, device: DeviceRecord) -> RequestAuthorization:
        """Return the authorization of a request, which is revoked when the credential or the device changes.

        Call it before any await since the device was looked up, and `release` it at the end.
        """
        authorization = RequestAuthorization((device.product, device.identity))
        self._authorizations.setdefault(authorization.device, set()).add(authorization)
        return authorization

    def end_request(self, authorization: RequestAuthorization | None) -> None:
        """Release the authorization of a request that has ended; no effect where it was released or revoked."""
        if authorization is None:
            return
        key = authorization.device
        authorizations = self._authorizations.get(key)
        if authorizations is not None:
            authorizations.discard(authorization)
            if not authorizations:
                del self._authorizations[key]

    def _revoke(self, product: str, identity: str) -> None:
        for authorization in self._authorizations.pop((product, identity), ()):
            authorization.revoke()

    async def all(self, product: str) -> list[DeviceRecord]:
        """Return the devices of a product, sorted by identity. Requests are answered in between, if there are many."""
        found: list[DeviceRecord] = []
        low, high = ALL.span
        while True:
            page = await self._database.read(_devices, product, ALL, (low, high), PAGE)
            found += page
            if len(page) < PAGE:
                return found
            low = page[-1].identity + "\0"
            await asyncio.sleep(0)

    async def select(
        self, product: str, wanted: DeviceSelection, limit: int, offset: int = 0
    ) -> list[DeviceRecord]:
        """Return at most `limit` selected devices behind the first `offset` ones, sorted by identity."""
        found: list[DeviceRecord] = []
        async for span in self._windows(product, wanted, limit):
            page = await self._database.read(_devices, product, wanted, span, limit - len(found), offset)
            found += page
            if len(found) == limit:
                break
            if offset:
                offset = 0 if page else offset - await self._database.read(_count, product, wanted, span)
        return found

    async def count(self, product: str, wanted: DeviceSelection = ALL) -> int:
        """Return the number of selected devices."""
        found = 0
        async for span in self._windows(product, wanted, WINDOW):
            found += await self._database.read(_count, product, wanted, span)
        return found

    async def _windows(
        self, product: str, wanted: DeviceSelection, size: int
    ) -> AsyncIterator[tuple[str, str]]:
        """Yield ranges of identities that are searched one after the other; requests are answered in between.

        size: number of devices that may be enough. A short page that takes no search has one range.
        """
        low, high = wanted.span
        most, walked = WINDOW // (1 + len(wanted.tags)), 0
        size = max(size, SMALLEST)
        while wanted.terms()[0] or size > most:
            size = min(size, most)
            end = await self._database.read(_end, product, wanted, (low, high), size)
            if end is None:
                break
            yield low, end
            low, walked, size = end, walked + size, 2 * size
            if walked >= PAGE:
                await asyncio.sleep(0)
        yield low, high

    async def provision_token(
        self, product: str, identity: str, *, register: bool, replacing: bytes | None = None
    ) -> tuple[Outcome, str]:
        """Issue a new token of 40 hex digits to the device. Returns the outcome and the token.

        register: create the device where it is unknown; replacing: the digest of the credential that it has
        authenticated with, which may have been replaced meanwhile. Outcomes other than `provisioned` change
        nothing.
        """
        token = self._identifiers.hex(f"token/{product}/{identity}", TOKEN_LENGTH)
        outcome = await self.provision(product, identity, fingerprint(token), None, register, replacing)
        return outcome, token

    async def provision_password(
        self, product: str, identity: str, password: str, *, register: bool, replacing: bytes | None = None
    ) -> Outcome:
        """Store the password that the device chose."""
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
        """Store a credential's digest and salt. Arguments and outcomes as in `provision_token`."""
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

    async def provision_all(
        self, product: str, credentials: Mapping[str, tuple[bytes, bytes | None]]
    ) -> None:
        """Whitelist and provision many identities at once, replacing their credentials.

        credentials: identity → digest and salt.
        """
        now = self._clock.seconds()
        values = ("whitelisted", "provisioned", "digest", "salt")
        rows = [
            _row(product, identity, dict(zip(values, (True, now, *proof), strict=True)))
            for identity, proof in credentials.items()
        ]
        await self._database.run(lambda connection: execute_many(connection, _upsert(*values), rows))
        for identity in credentials:
            self.forget(product, identity)
            self._revoke(product, identity)

    async def allow(self, product: str, identities: Iterable[str], token: str | None = None) -> None:
        """Whitelist identities. With `token` (40 characters), also provision the device with it.

        Raises LabError where the token has another length, belongs to another device or is given for several.
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
            owner = None if digest is None else find_by_digest(connection, product, digest)
            if owner is not None and owner.identity not in named:
                raise TakenError(f"this token is that of {owner.identity!r}")
            _put(connection, product, *named, **values)

        await self._database.run(allow)
        for identity in named:
            self.forget(product, identity)
            if digest is not None:
                self._revoke(product, identity)

    async def add(self, product: str, identity: str) -> bool:
        """Whitelist a new identity; return False, and change nothing, where the device exists."""

        def add(connection: Connection) -> bool:
            if _find(connection, product, identity) is not None:
                return False
            _put(connection, product, identity, whitelisted=True)
            return True

        added = await self._database.run(add)
        self.forget(product, identity)
        return added

    async def lock(self, product: str, identity: str, locked: bool = True) -> None:
        """Lock a device, refused even with valid credentials, or unlock it. Raises UnknownError if unknown."""
        await self._change(product, identity, lambda c: _put(c, product, identity, locked=locked))

    async def remove(self, product: str, identity: str) -> None:
        """Remove a device, its credential, whitelisting and tags, not its datapoints. Raises UnknownError."""
        await self._change(product, identity, lambda c: _remove(c, product, identity))
        self.seen.pop((product, identity), None)
        if (ids := self._ids.get(product)) is not None:
            ids.remove(identity)

    async def forget_credentials(self, product: str, identity: str) -> None:
        """Delete the credential of a device, which may then provision anew. Raises LabError if unknown."""
        values = {"digest": None, "salt": None, "provisioned": None}
        await self._change(product, identity, lambda c: _put(c, product, identity, **values))

    async def _change(self, product: str, identity: str, change: Callable[[Connection], object]) -> None:
        def apply(connection: Connection) -> None:
            if _find(connection, product, identity) is None:
                raise UnknownError(
                    f"product {product!r} has no device {identity!r}; allow() or activate() adds it"
                )
            change(connection)

        await self._database.run(apply)
        self.forget(product, identity)
        self._revoke(product, identity)

    def forget_all(self) -> None:
        """Clear the cache and revoke all requests: the database was emptied."""
        self._changes += 1
        self._ids.clear()
        self._by_digest.clear()
        self._digests.clear()
        self.seen.clear()
        for key in list(self._authorizations):
            self._revoke(*key)

    def _keep(self, device: DeviceRecord | None, changes: int) -> None:
        """Cache a looked-up device, unless a device has changed since (`changes` was read before)."""
        if device is not None and device.digest is not None and changes == self._changes:
            self._by_digest[device.product, device.digest] = device
            self._digests[device.product, device.identity] = device.digest

    def forget(self, product: str, identity: str) -> None:
        """Remove a device that has changed from the cache, and add it where it may be new."""
        self._changes += 1
        if (ids := self._ids.get(product)) is not None:
            ids.add(identity)
        digest = self._digests.pop((product, identity), None)
        if digest is not None:
            self._by_digest.pop((product, digest), None)


def _find(connection: Connection, product: str, identity: str) -> DeviceRecord | None:
    # by hand: SQLAlchemy's statement would cost several times what SQLite itself does
    row = execute(connection, FIND, (product, identity)).fetchone()
    return None if row is None else _device(row)


def _identities(connection: Connection, product: str, after: str, limit: int) -> list[str]:
    return [identity for [identity] in execute(connection, IDENTITIES, (product, after, limit))]


def _device(row: tuple[str, str, int, int, bytes | None, bytes | None, int | None]) -> DeviceRecord:
    product, identity, whitelisted, locked, digest, salt, provisioned = row
    return DeviceRecord(product, identity, bool(whitelisted), bool(locked), digest, salt, provisioned)


def find_by_digest(connection: Connection, product: str, digest: bytes) -> DeviceRecord | None:
    """Return the device whose credential has this digest, or None."""
    row = execute(connection, FIND_BY_DIGEST, (product, digest)).fetchone()
    return None if row is None else _device(row)


def _devices(
    connection: Connection,
    product: str,
    wanted: DeviceSelection,
    span: tuple[str, str],
    limit: int,
    offset: int = 0,
) -> list[DeviceRecord]:
    """Return selected devices in a range of identities, sorted by identity."""
    (those, values), (terms, more) = wanted.range(product, span), wanted.terms()
    query = f"{SELECT}{those}{terms} ORDER BY identity LIMIT ? OFFSET ?"
    return [_device(row) for row in execute(connection, query, (*values, *more, limit, offset))]


def _count(connection: Connection, product: str, wanted: DeviceSelection, span: tuple[str, str]) -> int:
    (those, values), (terms, more) = wanted.range(product, span), wanted.terms()
    return int(execute(connection, f"SELECT count(*){those}{terms}", (*values, *more)).fetchone()[0])


def _end(
    connection: Connection, product: str, wanted: DeviceSelection, span: tuple[str, str], size: int
) -> str | None:
    """Return the identity behind the first `size` devices of a range, None if there are no more."""
    those, values = wanted.range(product, span)
    query = f"SELECT identity{those} ORDER BY identity LIMIT 1 OFFSET ?"
    row = execute(connection, query, (*values, size)).fetchone()
    return None if row is None else str(row[0])


@cache
def _upsert(*changed: str) -> str:
    """Return the statement that adds a device or changes these columns of it; parameters in the order of `_row`."""
    sets = ", ".join(f"{name} = excluded.{name}" for name in changed)
    names = ("product", "identity", *changed, *(name for name in NEW if name not in changed))
    places = ", ".join("?" * len(names))
    return (
        f"INSERT INTO {device_table.name} ({', '.join(names)}) VALUES ({places})"
        f" ON CONFLICT (product, identity) DO UPDATE SET {sets}"
    )


def _row(product: str, identity: str, values: Mapping[str, object]) -> tuple[object, ...]:
    return (product, identity, *values.values(), *(NEW[name] for name in NEW if name not in values))


def _put(connection: Connection, product: str, *identities: str, **values: object) -> None:
    rows = (_row(product, identity, values) for identity in identities)
    execute_many(connection, _upsert(*values), rows)


def _remove(connection: Connection, product: str, identity: str) -> None:
    for table in (device_table, tag_table):
        row = (table.c.product == product) & (table.c.identity == identity)
        connection.execute(table.delete().where(row))


def _replace(
    connection: Connection, product: str, identity: str, before: bytes | None, values: Mapping[str, object]
) -> bool:
    """Store a credential of a device, unless its digest has changed from `before`."""
    row = (*_row(product, identity, values), before)
    return execute(connection, f"{_upsert(*values)} WHERE {device_table.name}.digest IS ?", row).rowcount > 0
