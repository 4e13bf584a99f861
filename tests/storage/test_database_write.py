"""Writes of one statement: in memory, in a turn with other writes, and in a file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from labkit.core.errors import LabError
from labkit.labtime.activity import Activity
from labkit.labtime.clock import Clock
from labkit.storage.database import Database, driver
from tests.storage.things import names, orphan, put, tables

PUT = "INSERT INTO thing VALUES (?, ?)"
ORPHAN = "INSERT INTO part VALUES (?)"


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "lab.db")
    database.start(tables)
    yield database
    database.close()


async def commits_of(database: Database) -> list[str]:
    seen: list[str] = []
    raw = await database.read(driver)
    raw.set_trace_callback(lambda text: seen.append(text) if text in ("COMMIT", "ROLLBACK") else None)
    return seen


async def test_in_memory_it_is_stored_at_once(database: Database) -> None:
    commits = await commits_of(database)
    written = database.write(PUT, ("a", 1))
    with pytest.raises(StopIteration):  # without waiting for a turn of the loop
        written.send(None)
    assert await database.read(names) == ["a"]
    assert commits == []  # SQLite's own commit of the statement


@pytest.fixture
def arrived() -> Iterator[Database]:
    """A database in memory, where another request has always arrived."""
    activity = Activity()
    activity.arrived = 1
    database = Database(clock=Clock(rate=0), activity=activity)
    database.start(tables)
    yield database
    database.close()


async def test_where_others_have_arrived_it_is_stored_at_once_and_returns_in_the_next_turn(
    arrived: Database,
) -> None:
    commits = await commits_of(arrived)
    write = asyncio.ensure_future(arrived.write(PUT, ("a", 1)))
    await asyncio.sleep(0)
    assert await arrived.read(names) == ["a"]
    assert not write.done()
    await asyncio.sleep(0)
    assert write.done()
    assert commits == []


async def test_one_that_comes_last_does_not_return_before_those_that_stored_earlier() -> None:
    activity, returned = Activity(), list[str]()
    database = Database(activity=activity)
    database.start(tables)

    async def write(name: str, others: int) -> None:
        activity.arrived = others
        await database.write(PUT, (name, 1))
        returned.append(name)

    await asyncio.gather(write("a", 2), write("b", 1), write("c", 0))
    assert returned == ["a", "b", "c"]
    database.close()


async def test_on_a_driven_clock_it_returns_at_once_whoever_has_arrived() -> None:
    clock, activity = Clock(rate=0), Activity()
    activity.arrived = 1
    database = Database(clock=clock, activity=activity)
    database.start(tables)
    with clock.drive("a fleet"):
        written = database.write(PUT, ("a", 1))
        with pytest.raises(StopIteration):
            written.send(None)
    database.close()


async def test_in_a_turn_with_other_writes_it_shares_their_commit(database: Database) -> None:
    commits = await commits_of(database)
    await asyncio.gather(database.run(put, "a"), database.write(PUT, ("b", 1)), database.run(put, "c"))
    assert await database.read(names) == ["a", "b", "c"]
    assert commits == ["COMMIT"]


async def test_in_a_turn_whose_commit_fails_it_raises(database: Database) -> None:
    results = await asyncio.gather(
        database.run(orphan), database.write(PUT, ("a", 1)), return_exceptions=True
    )
    assert [type(result) for result in results] == [sqlite3.IntegrityError] * 2
    assert await database.read(names) == []


@pytest.mark.parametrize(("statement", "values"), [(PUT, ("there", 2)), (ORPHAN, ("nothing",))])
async def test_a_failing_statement_stores_nothing_and_affects_no_other(
    database: Database, statement: str, values: tuple[object, ...]
) -> None:
    await database.write(PUT, ("there", 1))
    with pytest.raises(sqlite3.IntegrityError):
        await database.write(statement, values)
    await database.write(PUT, ("after", 1))
    assert await database.read(names) == ["after", "there"]


async def test_a_failing_statement_in_a_turn_does_not_affect_other_writes(database: Database) -> None:
    await database.run(put, "there")
    before, failed, after = await asyncio.gather(
        database.run(put, "before"),
        database.write(PUT, ("there", 2)),
        database.write(PUT, ("after", 1)),
        return_exceptions=True,
    )
    assert (before, after) == ("before", 1)
    assert isinstance(failed, sqlite3.IntegrityError)
    assert await database.read(names) == ["after", "before", "there"]


async def test_a_file_has_one_commit_per_turn_and_no_write_returns_before_it(file: Database) -> None:
    commits = await commits_of(file)
    writes = [asyncio.ensure_future(file.write(PUT, (f"t{number}", number))) for number in range(10)]
    for write in writes:
        write.add_done_callback(lambda _: commits.append("returned"))
    await asyncio.gather(*writes)
    assert commits == ["COMMIT", *["returned"] * 10]


async def test_where_others_have_arrived_a_cancelled_caller_finishes_what_follows_from_its_stored_data(
    arrived: Database,
) -> None:
    followed: list[str] = []

    async def write() -> None:
        await arrived.write(PUT, ("a", 1))
        followed.append("a")
        await asyncio.sleep(3600)

    task = asyncio.ensure_future(write())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert followed == await arrived.read(names) == ["a"]


async def test_on_a_file_a_cancelled_caller_has_stored_its_data_or_stops(file: Database) -> None:
    for statement, values, stored in ((PUT, ("a", 1), ["followed"]), (ORPHAN, ("nothing",), [])):
        followed: list[str] = []

        async def write(
            statement: str = statement, values: tuple[object, ...] = values, followed: list[str] = followed
        ) -> None:
            await file.write(statement, values)
            followed.append("followed")
            await asyncio.sleep(3600)

        task = asyncio.ensure_future(write())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert followed == stored
    assert await file.read(names) == ["a"]


async def test_a_closed_database_raises() -> None:
    database = Database()
    with pytest.raises(LabError, match="closed"):
        await database.write(PUT, ("a", 1))
