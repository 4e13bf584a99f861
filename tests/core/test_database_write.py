"""Writes of one statement: in memory, in a turn with other writes, and in a file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from labkit.core.database import Database, driver
from labkit.core.errors import LabError
from tests.core.things import names, orphan, put, tables

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
    assert (before, after) == ("before", None)
    assert isinstance(failed, sqlite3.IntegrityError)
    assert await database.read(names) == ["after", "before", "there"]


async def test_a_file_has_one_commit_per_turn_and_no_write_returns_before_it(file: Database) -> None:
    commits = await commits_of(file)
    writes = [asyncio.ensure_future(file.write(PUT, (f"t{number}", number))) for number in range(10)]
    for write in writes:
        write.add_done_callback(lambda _: commits.append("returned"))
    await asyncio.gather(*writes)
    assert commits == ["COMMIT", *["returned"] * 10]


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
