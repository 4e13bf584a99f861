"""Operations of solutions (the cloud) on the devices of a product: management of identities, and of their state."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Column, Connection, String, Table, Text

from labkit.context import Context, NamedProduct
from labkit.core.errors import LabError, ServiceError, UnknownError, did_you_mean
from labkit.devices import device_events
from labkit.devices.history import DatapointRange, read_range, read_storage
from labkit.devices.identities import identity_error
from labkit.devices.polls import Polls
from labkit.devices.registry import (
    SHORTEST_PASSWORD,
    TOKEN_LENGTH,
    DeviceRecord,
    Registry,
    fingerprint,
    password_digest,
)
from labkit.devices.selection import DeviceSelection
from labkit.devices.state import Datapoint, State, Stored, current_value, numbered
from labkit.devices.tags import Tag, add_tags, read_tags, remove_tags, tag_names
from labkit.settings.products import Resource
from labkit.storage.database import execute, execute_many
from labkit.storage.schema import metadata, numbers, texts

set_table = Table(
    "set_value",
    metadata,
    *texts("product", "identity", "alias", key=True),
    *texts("value"),  # the last one set by the cloud
    *numbers("number"),  # its datapoint's
    Column("reported", String),  # the device's last value before
    sqlite_with_rowid=False,
)

change_table = Table(
    "product_change",
    metadata,
    *texts("product", "key", key=True),  # key: a setting, or `resources.<alias>`
    Column("value", Text, nullable=False),  # JSON; null for a resource that is removed
    sqlite_with_rowid=False,
)

CHANGES = "SELECT product, key, value FROM product_change"
CHANGE = "INSERT OR REPLACE INTO product_change (product, key, value) VALUES (?, ?, ?)"
DROP = "DELETE FROM product_change WHERE product = ? AND (key = ? OR key LIKE ?)"
LAST = "SELECT value, number, reported FROM set_value WHERE product = ? AND identity = ? AND alias = ?"
KEEP = "INSERT OR REPLACE INTO set_value (product, identity, alias, value, number, reported) VALUES (?, ?, ?, ?, ?, ?)"

PAGE = 100  # devices whose tags and states are read at once
NEWEST = 2**62  # above the number of every datapoint


class Value(NamedTuple):
    """The state of an alias.

    reported: by the device; set: by the cloud, or by the device where the cloud may set the resource, so that it is
    what the device is to have; timestamp: of the newer one, Unix seconds.
    """

    reported: str | None
    set: str | None
    timestamp: int


class CheckedProduct(NamedProduct, Protocol):
    """Interface of a product that checks the values of its resources. initial: first values by alias."""

    initial: Mapping[str, str]

    def value_error(self, alias: str, value: str) -> str | None:
        """Return why `value` is invalid for the resource `alias`; None for a valid one."""


class DeviceAccess:
    """The devices of one product, for the cloud."""

    def __init__(
        self, product: CheckedProduct, context: Context, registry: Registry, state: State, polls: Polls
    ) -> None:
        self._product = product
        self._context = context
        self._registry = registry
        self._state = state
        self._polls = polls

    async def find(self, identity: str) -> DeviceRecord | None:
        """Return the device with an identity, or None."""
        return await self._registry.find(self._product.id, identity)

    async def all(self) -> list[DeviceRecord]:
        """Return all devices, sorted by identity."""
        return await self._registry.all(self._product.id)

    async def find_resource(self, rid: str) -> tuple[str, str] | None:
        """Return identity and alias of a resource by its id, an empty alias for a device; None for an unknown id."""
        aliases = tuple(self._product.settings.resources)
        return await self._registry.find_resource(self._product.id, aliases, rid)

    async def select(self, wanted: DeviceSelection, limit: int, offset: int = 0) -> list[DeviceRecord]:
        """Return at most `limit` selected devices behind the first `offset` ones, sorted by identity."""
        return await self._registry.select(self._product.id, wanted, limit, offset)

    async def count(self, wanted: DeviceSelection) -> int:
        """Return the number of selected devices."""
        return await self._registry.count(self._product.id, wanted)

    async def add(self, identity: str) -> bool:
        """Whitelist a new identity; return False where the device exists.

        Raises LabError for an identity that violates the product's format.
        """
        if wrong := identity_error(self._product.settings.identity_format, identity):
            raise LabError(wrong)
        return await self._registry.add(self._product.id, identity)

    def seen(self, identity: str) -> tuple[str, int] | None:
        """Return IP address and time (microseconds) of a device's last request in this start of the lab, if any."""
        return self._registry.seen.get((self._product.id, identity))

    async def find_by_token(self, token: str) -> DeviceRecord | None:
        """Return the device with a token, or None."""
        return await self._registry.find_by_token(self._product.id, token)

    async def lock(self, identity: str, locked: bool) -> None:
        """Lock or unlock a device, whose open requests end. Raises UnknownError where there is none."""
        await self._registry.lock(self._product.id, identity, locked)

    async def remove(self, identity: str, cause: int | None = None) -> None:
        """Remove a device with its credentials, and end its open requests; emits `deleted` where that is wanted.

        cause: of the event. Raises UnknownError where there is none.
        """
        wanted = self._is_wanted("deleted", identity)
        await self._registry.remove(self._product.id, identity)
        if wanted:
            device_events.emit(self._context, "deleted", self._product.id, identity, cause=cause)

    def _is_wanted(self, type: str, identity: str) -> bool:
        """Return whether to emit an event. Raises ServiceError 503 while too many of its device wait."""
        product, context = self._product.id, self._context
        wanted = device_events.is_wanted(context, type, product, identity)
        if wanted and context.events.is_full(f"{product}/{identity}"):
            raise ServiceError(503, "too many events of the device wait for their handlers")
        return wanted

    async def store_changes(self, changes: Mapping[str, Any]) -> None:
        """Store what a script changes of the product's settings, by key."""
        rows = [(self._product.id, key, json.dumps(value)) for key, value in changes.items()]
        await self._context.database.run(execute_many, CHANGE, rows)

    async def drop_changes(self, *settings: str) -> None:
        """Delete what scripts changed of some settings."""
        rows = [(self._product.id, each, f"{each}.%") for each in settings]
        await self._context.database.run(execute_many, DROP, rows)

    async def check_credential(self, identity: str, credential: str | bytes) -> None:
        """Raise LabError for a credential that a device of the product cannot have, or that another device has."""
        auth = self._product.settings.auth
        if auth == "password" and (len(credential) < SHORTEST_PASSWORD or ":" in identity):
            raise LabError(f"a password has at least {SHORTEST_PASSWORD} characters, its identity no ':'")
        if auth == "token" and len(credential) != TOKEN_LENGTH:
            raise LabError(f"a token has {TOKEN_LENGTH} characters, this one has {len(credential)}")
        if auth != "password":
            owner = await self._registry.find_by_token_digest(self._product.id, fingerprint(credential))
            if owner is not None and owner.identity != identity:
                raise LabError("this credential is that of another device")

    async def replace_credential(self, identity: str, credential: str | bytes) -> None:
        """Replace the credential of a device: a token or password, or a certificate (DER). The old one ends at once.

        Raises UnknownError where there is no such device, LabError for a locked one, and as `check_credential` does.
        """
        await self.check_credential(identity, credential)
        product, device = self._product.id, await self.find(identity)
        if device is None:
            raise UnknownError(f"product {product!r} has no device {identity!r}")
        if self._product.settings.auth == "password":
            salt = secrets.token_bytes(16)
            digest = password_digest(str(credential), salt)
            outcome = await self._registry.provision(product, identity, digest, salt, False, device.digest)
        else:
            digest = fingerprint(credential)
            outcome = await self._registry.provision(product, identity, digest, None, False, device.digest)
        if outcome != "provisioned":
            raise LabError(
                "the device is locked" if outcome == "locked" else "its credential changes just now"
            )

    async def tags(self, identity: str) -> list[Tag]:
        """Return the tags of a device, by name and value."""
        return await self._context.database.read(read_tags, self._product.id, identity)

    async def add_tags(self, identity: str, tags: Sequence[Tag], *, replace: bool) -> None:
        """Add tags to a device. replace: first remove its other tags of the same names."""
        await self._context.database.run(add_tags, self._product.id, identity, tags, replace)

    async def remove_tags(self, identity: str, tags: Sequence[Tag]) -> None:
        """Remove tags of a device; those that it does not have are ignored."""
        await self._context.database.run(remove_tags, self._product.id, identity, tags)

    async def tag_names(self, limit: int) -> list[str]:
        """Return the names of the tags of the product's devices, in order."""
        return await self._context.database.read(tag_names, self._product.id, limit)

    async def state(self, identity: str) -> dict[str, Value]:
        """Return the state of each alias that has a value; that of an initial one has the timestamp 0."""
        resources = self._product.settings.resources
        found = await self._context.database.read(_state, self._product.id, identity, resources)
        return self._with_initial(found)

    def _with_initial(self, state: dict[str, Value]) -> dict[str, Value]:
        return {alias: Value(None, value, 0) for alias, value in self._product.initial.items()} | state

    async def tags_and_states(
        self, identities: Sequence[str]
    ) -> dict[str, tuple[list[Tag], dict[str, Value]]]:
        """Return the tags and the states of several devices, by identity."""
        resources = self._product.settings.resources
        found: dict[str, tuple[list[Tag], dict[str, Value]]] = {}
        for start in range(0, len(identities), PAGE):
            page = identities[start : start + PAGE]
            found |= await self._context.database.read(_tags_and_states, self._product.id, page, resources)
        return {name: (tags, self._with_initial(state)) for name, (tags, state) in found.items()}

    async def set(self, identity: str, values: Mapping[str, str], cause: int | None = None) -> None:
        """Store values on behalf of a device: they are datapoints like its own, and wake polls.

        Emits no event but `data_out`, where a solution wants that. cause: of the event. Raises LabError, and stores
        nothing, for an alias that is no resource or not settable, and for an invalid value.
        """
        resources = self._product.settings.resources
        for alias, value in values.items():
            if alias not in resources:
                raise UnknownError(
                    f"{alias}: no resource of product {self._product.id}{did_you_mean(alias, resources)}"
                )
            if not resources[alias].settable:
                raise LabError(f"{alias}: the cloud may not set it, the resource is not settable")
            if wrong := self._product.value_error(alias, value):
                raise LabError(wrong)
        now, product = self._context.clock.seconds(), self._product.id
        wanted = self._is_wanted("data_out", identity)

        def store_set_values(connection: Connection, stored: Sequence[Stored]) -> None:
            for (alias, _, value), number in stored:
                key = (product, identity, alias)
                reported = _value(connection, *key)
                execute(connection, KEEP, (*key, value, number, reported and reported.reported))

        points = [Datapoint(alias, now, value) for alias, value in values.items()]
        stored, first, _ = await self._state.store(
            product, identity, points, now, before_write=store_set_values
        )
        self._polls.wake(product, identity, numbered(stored, first), True)
        if wanted:
            entry = {"timestamp": now * 1_000_000, "values": dict(values)}
            device_events.emit(self._context, "data_out", product, identity, cause=cause, payload=[entry])

    async def store(self, identity: str, points: Sequence[Datapoint], *, written: bool) -> None:
        """Store datapoints as the device's own, and wake polls; no event is emitted.

        Aliases are resources of the product, and values valid. written: at the current second, not recorded.
        """
        product = self._product.id
        stored, first, _ = await self._state.store(product, identity, points, self._context.clock.seconds())
        self._polls.wake(product, identity, numbered(stored, first), written)

    async def read(self, identity: str, alias: str, chosen: DatapointRange) -> list[tuple[int, str]]:
        """Return timestamp and value of the selected datapoints of an alias."""
        key = (self._product.id, identity, alias)
        return await self._context.database.read(read_range, key, chosen)

    async def storage(self, identity: str, alias: str) -> dict[str, int]:
        """Return what is stored of an alias: count, first, last (Unix seconds) and size (bytes)."""
        return await self._context.database.read(read_storage, (self._product.id, identity, alias))

    async def flush(self, identity: str, alias: str, newer: int, older: int) -> None:
        """Delete the datapoints of an alias between two times, both exclusive (Unix seconds)."""
        await self._state.flush((self._product.id, identity, alias), newer, older)

    async def wait(
        self, identity: str, alias: str, since: int | None, until: float, actor: str
    ) -> tuple[int, str] | None:
        """Return timestamp and value of the first datapoint later than `since` (Unix seconds), None at `until`.

        since: None for the next one that is written; until: lab time in seconds; actor: that waits.
        """
        poll = self._polls.open((self._product.id, identity, alias), since, None if since is None else NEWEST)
        try:
            found = await self._polls.find_stored(poll)
            if found is None:
                found = await self._polls.wait(poll, until, actor)
        finally:
            self._polls.close(poll)
        return None if found is None else found.point[1:]


def stored_changes(connection: Connection) -> dict[str, dict[str, Any]]:
    """Return what scripts changed of products' settings, by product and key."""
    found: dict[str, dict[str, Any]] = {}
    for product, key, value in execute(connection, CHANGES):
        found.setdefault(str(product), {})[str(key)] = json.loads(str(value))
    return found


def _state(
    connection: Connection, product: str, identity: str, resources: Mapping[str, Resource]
) -> dict[str, Value]:
    found = (
        (alias, _value(connection, product, identity, alias, each.settable))
        for alias, each in resources.items()
    )
    return {alias: value for alias, value in found if value is not None}


def _tags_and_states(
    connection: Connection, product: str, identities: Sequence[str], resources: Mapping[str, Resource]
) -> dict[str, tuple[list[Tag], dict[str, Value]]]:
    return {
        each: (read_tags(connection, product, each), _state(connection, product, each, resources))
        for each in identities
    }


def _value(
    connection: Connection, product: str, identity: str, alias: str, settable: bool = False
) -> Value | None:
    key = (product, identity, alias)
    current = current_value(connection, key)
    if current is None:
        return None
    value, timestamp, number = current
    was_set, its_number, reported = execute(connection, LAST, key).fetchone() or (None, None, None)
    return Value(reported if number == its_number else value, value if settable else was_set, timestamp)
