"""Operations of solutions (the cloud) on the devices of a product: management of identities, and of their state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Column, Connection, Integer, String, Table

from labkit.context import Context
from labkit.core.database import execute
from labkit.core.errors import LabError, UnknownError
from labkit.core.tables import metadata
from labkit.devices.identities import identity_error
from labkit.devices.polls import Polls
from labkit.devices.products import PlatformProduct
from labkit.devices.registry import DeviceRecord, Registry
from labkit.devices.state import Datapoint, State, Stored, current_value, numbered

set_table = Table(
    "set_value",
    metadata,
    Column("product", String, primary_key=True),
    Column("identity", String, primary_key=True),
    Column("alias", String, primary_key=True),
    Column("value", String, nullable=False),  # the last one set by the cloud
    Column("number", Integer, nullable=False),  # its datapoint's
    Column("reported", String),  # the device's last value before
    sqlite_with_rowid=False,
)

LAST = "SELECT value, number, reported FROM set_value WHERE product = ? AND identity = ? AND alias = ?"
KEEP = "INSERT OR REPLACE INTO set_value (product, identity, alias, value, number, reported) VALUES (?, ?, ?, ?, ?, ?)"


class Value(NamedTuple):
    """The state of an alias. reported: by the device; set: by the cloud; timestamp: of the newer one, Unix seconds."""

    reported: str | None
    set: str | None
    timestamp: int


class DeviceAccess:
    """The devices of one product, for the cloud."""

    def __init__(
        self, product: PlatformProduct, context: Context, registry: Registry, state: State, polls: Polls
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

    async def add(self, identity: str) -> bool:
        """Whitelist a new identity; return False where the device exists.

        Raises LabError for an identity that violates the product's format.
        """
        if wrong := identity_error(self._product.settings.identity_format, identity):
            raise LabError(wrong)
        return await self._registry.add(self._product.id, identity)

    async def remove(self, identity: str) -> None:
        """Remove a device with its credentials, and end its open requests. Raises UnknownError where there is none."""
        await self._registry.remove(self._product.id, identity)

    async def state(self, identity: str) -> dict[str, Value]:
        """Return the state of each alias that has a value."""
        aliases = tuple(self._product.settings.resources)
        return await self._context.database.read(_state, self._product.id, identity, aliases)

    async def set(self, identity: str, values: Mapping[str, str]) -> None:
        """Store values on behalf of a device: they are datapoints like its own, and wake polls; no event is emitted.

        Raises LabError, and stores nothing, for an alias that is no resource or not settable, and for an
        invalid value.
        """
        resources = self._product.settings.resources
        for alias, value in values.items():
            if alias not in resources:
                raise UnknownError(f"{alias}: no resource of product {self._product.id}")
            if not resources[alias].settable:
                raise LabError(f"{alias}: the cloud may not set it, the resource is not settable")
            if wrong := self._product.value_error(alias, value):
                raise LabError(wrong)
        now, product = self._context.clock.seconds(), self._product.id

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


def _state(connection: Connection, product: str, identity: str, aliases: Sequence[str]) -> dict[str, Value]:
    found = ((alias, _value(connection, product, identity, alias)) for alias in aliases)
    return {alias: value for alias, value in found if value is not None}


def _value(connection: Connection, product: str, identity: str, alias: str) -> Value | None:
    key = (product, identity, alias)
    current = current_value(connection, key)
    if current is None:
        return None
    value, timestamp, number = current
    last = execute(connection, LAST, key).fetchone()
    if last is None:
        return Value(value, None, timestamp)
    was_set, its_number, reported = last
    return Value(reported if number == its_number else value, was_set, timestamp)
