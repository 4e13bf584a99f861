"""Several clients of a database at once, with failures by SQLite itself: what is acknowledged is what is stored."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from labkit.labtime.activity import Activity
from labkit.storage.database import Committed, Database, execute
from tests.storage.things import orphan, put, setting, tables

PUT = "INSERT INTO thing VALUES (?, 0)"
ORDER = "SELECT name FROM thing ORDER BY rowid"
FAILURES = """
CREATE TRIGGER {action} BEFORE INSERT ON thing WHEN new.name LIKE '{action}%'
BEGIN SELECT RAISE({action}, 'injected'); END
"""
ROOM = 4  # pages that the data may grow by
MUCH = "x" * 2 * 4096  # bytes of the name of a large row


class Refused(Exception):
    """Raised by a function of `run` itself."""


class Clients:
    """Clients that write and read, and what each of them learns.

    acknowledged: names whose write returned, in this order; refused: names whose write raised an error; seen: names
    that were read.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        self.seen: set[str] = set()
        self._count = 0

    async def play(self, steps: list[str]) -> None:
        """Do some steps, one after the other."""
        for step in steps:
            kind, _, end = step.partition(" ")
            self._count += 1
            name = f"{kind}{self._count}"
            work: Callable[[str], Coroutine[Any, Any, None]] = getattr(self, f"do_{kind}", self.do_write)
            task = asyncio.ensure_future(self._judge(name, work))
            if end == "cancelled":
                await asyncio.sleep(0)  # its statement has run, its acknowledgement may be pending
                task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()

    async def _judge(self, name: str, work: Callable[[str], Coroutine[Any, Any, None]]) -> None:
        if name.startswith("read"):
            await self._read()
            return
        try:
            await work(name)
        except asyncio.CancelledError:
            raise
        except Exception:  # noqa: BLE001  whatever is raised, nothing may be stored
            self.refused.append(name)
        else:
            self.acknowledged.append(name)

    async def do_write(self, name: str) -> None:
        await self.database.write(PUT, (name,))

    async def do_large(self, name: str) -> None:
        await self.database.write(PUT, (name + MUCH,))

    async def do_run(self, name: str) -> None:
        await self.database.run(put, name)

    async def do_large_run(self, name: str) -> None:
        await self.database.run(put, name + MUCH)

    async def do_abort_run(self, name: str) -> None:
        def two(connection: Connection) -> None:
            put(connection, f"before {name}")
            put(connection, name)  # a trigger refuses it

        await self.database.run(two)

    async def do_rollback_run(self, name: str) -> None:
        await self.database.run(put, name)

    async def do_raises(self, name: str) -> None:
        def spoil(connection: Connection) -> None:
            put(connection, name)
            raise Refused

        await self.database.run(spoil)

    async def do_committed(self, name: str) -> None:
        def refuse(connection: Connection) -> None:
            put(connection, name)
            raise Committed(Refused())

        with pytest.raises(Refused):
            await self.database.run(refuse)

    async def do_orphan(self, name: str) -> None:
        def spoil(connection: Connection) -> None:
            put(connection, name)
            orphan(connection)  # its COMMIT fails

        await self.database.run(spoil)

    async def _read(self) -> None:
        before = set(self.acknowledged)
        try:
            seen = set(await self.database.read(stored))
        except (sqlite3.Error, SQLAlchemyError):  # the transaction of its turn was rolled back
            return
        assert before <= seen  # nothing acknowledged is missing
        self.seen |= seen


def stored(connection: Connection) -> list[str]:
    """The names that are stored, in the order in which they were."""
    return [name.removesuffix(MUCH) for (name,) in execute(connection, ORDER)]


def prepare(connection: Connection) -> None:
    for action in ("abort", "rollback", "fail"):
        execute(connection, FAILURES.format(action=action))
    pages = setting(connection, "page_count")
    assert isinstance(pages, int)
    execute(connection, f"PRAGMA max_page_count={pages + ROOM}")


KINDS = (
    *("write", "run", "read", "abort", "fail", "rollback"),
    *("large", "large_run", "abort_run", "rollback_run", "raises", "committed", "orphan"),
)
STEPS = st.lists(
    st.sampled_from([*KINDS, "write cancelled", "run cancelled", "orphan cancelled"]), max_size=8
)
PLAYS = st.lists(STEPS, min_size=1, max_size=6)


async def play(file: Path | None, plays: list[list[str]], arrived: int) -> Clients:
    """Play clients at once, and compare what they learnt with what is stored."""
    activity = Activity()
    activity.arrived = arrived
    database = Database(file, activity=activity)
    database.start(tables)
    try:
        await database.run(prepare)
        clients = Clients(database)
        await asyncio.gather(*map(clients.play, plays))
        found = await database.read(stored)
        assert sorted(found) == sorted(clients.acknowledged)
        assert clients.seen <= set(found)  # nobody has seen what was not kept
        if arrived and not any("cancelled" in step for steps in plays for step in steps):
            assert found == clients.acknowledged  # in the same order
    finally:
        database.close()
    if file is not None:
        again = Database(file)
        again.start(tables)
        assert await again.read(stored) == found
        again.close()
    return clients


@pytest.mark.parametrize("arrived", [0, 1])
@given(plays=PLAYS)
@example(plays=[["write"], ["write cancelled"], ["abort"], ["fail"], ["write", "read"]])
@example(plays=[["run"], ["write", "read"], ["rollback"], ["write", "write"]])
@example(plays=[["run", "run"], ["orphan"], ["write cancelled"], ["write"], ["read"]])
@example(plays=[["large", "write"], ["large_run", "large"], ["large", "read"], ["run", "write"]])
async def test_in_memory_clients_at_once_are_told_what_is_stored(
    arrived: int, plays: list[list[str]]
) -> None:
    await play(None, plays, arrived)


@given(plays=PLAYS)
@example(plays=[["write"], ["write cancelled"], ["rollback"], ["write", "read"]])
@example(plays=[["large", "write"], ["large_run", "large"], ["large", "read"], ["run", "write"]])
async def test_with_a_file_clients_at_once_are_told_what_is_stored(plays: list[list[str]]) -> None:
    with TemporaryDirectory() as folder:
        await play(Path(folder) / "lab.db", plays, 1)


@pytest.mark.parametrize("in_memory", [True, False])
async def test_each_failure_happens(in_memory: bool, tmp_path: Path) -> None:
    plays = [[kind] for kind in ("abort", "fail", "rollback", "raises", "orphan")]
    plays += [["read", "read", "read", *["large"] * ROOM, "write cancelled", "committed"], ["read", "write"]]
    clients = await play(None if in_memory else tmp_path / "lab.db", plays, 1)
    kinds = {name.rstrip("0123456789") for name in clients.refused}
    assert kinds >= {"abort", "fail", "rollback", "raises", "orphan", "large"}
    assert {name.rstrip("0123456789") for name in clients.acknowledged} >= {"write", "committed"}
    assert clients.seen
