"""Storage of the subscriptions and of their call counts in the database."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Column, Connection, Integer, String, Table, Text, UniqueConstraint

from labkit.services.interface.subscription import QUOTAS, InterfaceSubscription
from labkit.storage.database import Database, execute
from labkit.storage.schema import metadata, numbers, texts

subscription_table = Table(
    "subscription",
    metadata,
    Column("position", Integer, primary_key=True),  # increases: the order of creation
    Column("id", String, nullable=False, unique=True),
    *texts("publisher", "subscriber", "script_key"),
    Column("parameters", Text, nullable=False, info={"secret": True}),
    Column("triggers", Text, nullable=False),
    Column("calls_daily", Integer),
    Column("calls_monthly", Integer),
    *numbers("created_at", "updated_at"),
    Column("given", Text, info={"secret": True}),
    *texts("day"),  # UTC day of the last call
    *numbers("calls_of_day"),
    *texts("month"),
    *numbers("calls_of_month"),
    UniqueConstraint("publisher", "subscriber"),
)

COLUMNS = (
    "id, publisher, subscriber, script_key, parameters, triggers, calls_daily, calls_monthly, created_at, "
    "updated_at, given"
)
SELECT = f"SELECT {COLUMNS} FROM subscription"
INSERT = (
    f"INSERT OR IGNORE INTO subscription ({COLUMNS}, day, calls_of_day, month, calls_of_month) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', 0, '', 0)"
)
UPDATE = (
    "UPDATE subscription SET script_key = ?, parameters = ?, triggers = ?, calls_daily = ?, calls_monthly = ?, "
    "updated_at = ?, given = ? WHERE id = ?"
)
# Counts a call unless a quota is used up. One statement checks and counts, so concurrent calls cannot exceed a quota.
COUNT_CALL = """
UPDATE subscription SET
  calls_of_day = CASE WHEN day = ?1 THEN calls_of_day ELSE 0 END + 1, day = ?1,
  calls_of_month = CASE WHEN month = ?2 THEN calls_of_month ELSE 0 END + 1, month = ?2
WHERE id = ?3
  AND (calls_daily IS NULL OR CASE WHEN day = ?1 THEN calls_of_day ELSE 0 END < calls_daily)
  AND (calls_monthly IS NULL OR CASE WHEN month = ?2 THEN calls_of_month ELSE 0 END < calls_monthly)
"""
SELECT_CALLS = """
SELECT CASE WHEN day = ?1 THEN calls_of_day ELSE 0 END, CASE WHEN month = ?2 THEN calls_of_month ELSE 0 END, calls_daily
FROM subscription WHERE id = ?3
"""


class Subscriptions:
    """All subscriptions of a lab, in the order of their creation."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._all: dict[str, InterfaceSubscription] = {}
        self._of_publisher: dict[str, dict[str, InterfaceSubscription]] = {}  # by the subscriber's id
        self._of_subscriber: dict[str, dict[str, InterfaceSubscription]] = {}  # by the publisher's id

    async def load(self) -> None:
        """Load the subscriptions from the database."""
        self.clear()
        for each in await self._database.read(read_all):
            self._index(each)

    def clear(self) -> None:
        self._all.clear()
        self._of_publisher.clear()
        self._of_subscriber.clear()

    def __iter__(self) -> Iterator[InterfaceSubscription]:
        return iter(tuple(self._all.values()))

    def get(self, id: str) -> InterfaceSubscription | None:
        """Return the subscription with this id, None if it is missing."""
        return self._all.get(id)

    def find(self, publisher: str, subscriber: str) -> InterfaceSubscription | None:
        """Return the subscription of one solution to another, None if it is missing."""
        return self._of_publisher.get(publisher, {}).get(subscriber)

    def of_publisher(self, publisher: str) -> list[InterfaceSubscription]:
        """Return the subscriptions to a publisher."""
        return list(self._of_publisher.get(publisher, {}).values())

    def of_subscriber(self, subscriber: str) -> list[InterfaceSubscription]:
        """Return the subscriptions of a subscriber."""
        return list(self._of_subscriber.get(subscriber, {}).values())

    async def add(self, new: InterfaceSubscription) -> bool:
        """Store a new subscription. Returns False if these two solutions have one already."""
        if not await self._database.run(_insert, new):
            return False
        self._index(new)
        return True

    async def change(
        self, id: str, change: Callable[[InterfaceSubscription], InterfaceSubscription]
    ) -> InterfaceSubscription | None:
        """Apply `change` to the stored subscription and return the new state; None if the subscription is missing.

        An exception that `change` raises is raised here, and nothing is changed.
        """
        changed = await self._database.run(_change, id, change)
        if changed is not None and id in self._all:
            self._index(changed)
        return changed

    async def remove(self, id: str) -> bool:
        """Delete a subscription. Returns False if it is missing."""
        removed = await self._database.run(_remove, id)
        dropped = self._all.pop(id, None)
        if dropped is not None:
            self._of_publisher[dropped.publisher].pop(dropped.subscriber, None)
            self._of_subscriber[dropped.subscriber].pop(dropped.publisher, None)
        return removed

    async def count_call(self, id: str, now: float) -> str | None:
        """Count a call of an operation at `now` (lab seconds). Returns the name of a used-up quota, or None."""
        if await self._database.write(COUNT_CALL, periods(id, now)):
            return None
        row = await self._database.read(_calls, id, now)
        if row is None:  # removed meanwhile
            return None
        of_day, _, most = row
        return QUOTAS[0] if most is not None and of_day >= most else QUOTAS[1]

    async def calls(self, id: str, now: float) -> tuple[int, int]:
        """Return the number of calls in the UTC day and in the UTC month of `now`."""
        row = await self._database.read(_calls, id, now)
        return (0, 0) if row is None else row[:2]

    def _index(self, subscription: InterfaceSubscription) -> None:
        self._all[subscription.id] = subscription
        self._of_publisher.setdefault(subscription.publisher, {})[subscription.subscriber] = subscription
        self._of_subscriber.setdefault(subscription.subscriber, {})[subscription.publisher] = subscription


def read_all(connection: Connection) -> list[InterfaceSubscription]:
    """Return all subscriptions, in the order of their creation."""
    return [_subscription(row) for row in execute(connection, f"{SELECT} ORDER BY position")]


def _subscription(row: tuple[Any, ...]) -> InterfaceSubscription:
    id, publisher, subscriber, script_key, parameters, triggers, daily, monthly, created, updated, given = row
    quota = {name: value for name, value in zip(QUOTAS, (daily, monthly), strict=True) if value is not None}
    return InterfaceSubscription(
        id,
        publisher,
        subscriber,
        script_key,
        json.loads(parameters),
        quota,
        json.loads(triggers),
        created,
        updated,
        None if given is None else json.loads(given),
    )


def _given(subscription: InterfaceSubscription) -> str | None:
    return None if subscription.given is None else json.dumps(subscription.given)


def _insert(connection: Connection, new: InterfaceSubscription) -> bool:
    values = (
        new.id,
        new.publisher,
        new.subscriber,
        new.script_key,
        json.dumps(new.parameters),
        json.dumps(new.triggers),
        *(new.quota.get(name) for name in QUOTAS),
        new.created_at,
        new.updated_at,
        _given(new),
    )
    return execute(connection, INSERT, values).rowcount == 1


def _change(
    connection: Connection, id: str, change: Callable[[InterfaceSubscription], InterfaceSubscription]
) -> InterfaceSubscription | None:
    row = execute(connection, f"{SELECT} WHERE id = ?", (id,)).fetchone()
    if row is None:
        return None
    before = _subscription(row)
    after = replace(
        change(before), id=id, publisher=before.publisher, subscriber=before.subscriber
    )  # these never change
    if after != before:
        values = (
            after.script_key,
            json.dumps(after.parameters),
            json.dumps(after.triggers),
            *(after.quota.get(name) for name in QUOTAS),
            after.updated_at,
            _given(after),
            id,
        )
        execute(connection, UPDATE, values)
    return after


def _remove(connection: Connection, id: str) -> bool:
    return execute(connection, "DELETE FROM subscription WHERE id = ?", (id,)).rowcount == 1


def periods(id: str, now: float) -> tuple[str, str, str]:
    """Return the UTC day and month to which a subscription's calls count, and its id. now: Unix seconds."""
    day = datetime.fromtimestamp(now, UTC).date().isoformat()
    return day, day[:7], id


def _calls(connection: Connection, id: str, now: float) -> tuple[int, int, int | None] | None:
    row: tuple[int, int, int | None] | None = execute(connection, SELECT_CALLS, periods(id, now)).fetchone()
    return row
