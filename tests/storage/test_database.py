"""The database: one commit per turn of the loop, and no result is returned before its commit."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest
from sqlalchemy import Connection, MetaData

from labkit.core.errors import LabError, SettingsError
from labkit.storage.database import Committed, Database, driver, execute, execute_many
from tests.storage.things import names, orphan, put, tables


@pytest.fixture
async def commits(database: Database) -> list[str]:
    """Record each statement that ends a transaction, as SQLite runs it."""
    seen: list[str] = []
    raw = await database.read(driver)
    raw.set_trace_callback(lambda text: seen.append(text) if text in ("COMMIT", "ROLLBACK") else None)
    return seen


async def test_it_starts_without_tables() -> None:
    database = Database()
    database.start(MetaData())
    assert await database.read(lambda connection: connection.exec_driver_sql("SELECT 1").scalar_one()) == 1
    database.close()


# --- group commit -------------------------------------------------------------------------------------------


async def test_all_calls_of_a_turn_share_one_commit(database: Database, commits: list[str]) -> None:
    written = await asyncio.gather(*(database.run(put, f"t{number}") for number in range(20)))
    assert written == [f"t{number}" for number in range(20)]
    assert commits == ["COMMIT"]
    await database.run(put, "later")
    assert commits == ["COMMIT", "COMMIT"]


async def test_a_call_returns_only_after_its_commit(database: Database, commits: list[str]) -> None:
    write = asyncio.ensure_future(database.run(put, "a"))
    write.add_done_callback(lambda _: commits.append("returned"))
    await write
    assert commits == ["COMMIT", "returned"]


async def test_a_read_in_a_turn_that_has_written_waits_for_the_commit(
    database: Database, commits: list[str]
) -> None:
    async def look() -> list[str]:
        found = await database.read(names)
        commits.append("read")
        return found

    assert (await asyncio.gather(database.run(put, "a"), look()))[1] == ["a"]
    assert commits == ["COMMIT", "read"]


async def test_a_read_without_writes_needs_no_transaction(database: Database, commits: list[str]) -> None:
    assert await database.read(names) == []
    await asyncio.sleep(0)
    assert commits == []


async def test_an_exception_undoes_only_its_own_writes(database: Database) -> None:
    def spoil(connection: Connection) -> None:
        put(connection, "spoilt")
        raise KeyError("mine")

    before, spoilt, after = await asyncio.gather(
        database.run(put, "before"), database.run(spoil), database.run(put, "after"), return_exceptions=True
    )
    assert (before, after) == ("before", "after")
    assert isinstance(spoilt, KeyError)
    assert await database.read(names) == ["after", "before"]


async def test_a_committed_exception_keeps_its_writes(database: Database, commits: list[str]) -> None:
    error = KeyError("mine")

    def refuse(connection: Connection) -> str:
        put(connection, "kept")
        raise Committed(error)

    refused = asyncio.ensure_future(database.run(refuse))
    refused.add_done_callback(lambda _: commits.append("raised"))
    with pytest.raises(KeyError) as raised:
        await refused
    assert raised.value is error
    assert commits == ["COMMIT", "raised"]
    assert await database.read(names) == ["kept"]


async def test_a_committed_exception_is_replaced_by_a_failure_of_the_commit(database: Database) -> None:
    def refuse(connection: Connection) -> None:
        orphan(connection)
        raise Committed(KeyError("mine"))

    with pytest.raises(sqlite3.IntegrityError):
        await database.run(refuse)


async def test_statements_in_plain_sql_are_part_of_the_transaction(database: Database) -> None:
    def spoil(connection: Connection) -> None:
        execute(connection, "INSERT INTO thing VALUES (?, ?)", ("a", 1))
        execute_many(connection, "INSERT INTO thing VALUES (?, ?)", [("b", 2), ("c", 3)])
        assert names(connection) == ["a", "b", "c"]
        raise KeyError("mine")

    with pytest.raises(KeyError):
        await database.run(spoil)
    assert await database.read(names) == []


# --- failures -----------------------------------------------------------------------------------------------


async def test_a_failed_commit_is_raised_by_all_calls_of_the_turn(database: Database) -> None:
    results = await asyncio.gather(
        database.run(put, "a"), database.run(orphan), database.read(names), return_exceptions=True
    )
    assert [type(result) for result in results] == [sqlite3.IntegrityError] * 3
    assert await database.read(names) == []
    assert await database.run(put, "b") == "b"  # the next turn is not affected
    assert await database.read(names) == ["b"]


async def test_a_transaction_that_sqlite_aborts_fails_for_all_its_writers(database: Database) -> None:
    await database.run(put, "there")

    def conflict(connection: Connection) -> None:  # as a full disk does, too
        driver(connection).execute("INSERT OR ROLLBACK INTO thing VALUES ('there', 0)")

    results = await asyncio.gather(
        database.run(put, "before"),
        database.run(conflict),
        database.run(put, "after"),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [sqlite3.IntegrityError] * 3
    assert await database.read(names) == ["there"]


async def test_a_cancelled_caller_completes_what_follows_its_stored_data(database: Database) -> None:
    followed: list[str] = []

    async def write() -> None:
        followed.append(await database.run(put, "a"))
        await asyncio.sleep(3600)

    task = asyncio.ensure_future(write())
    await asyncio.sleep(0)  # its function has run, the commit is pending
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert followed == ["a"]
    assert await database.read(names) == ["a"]


async def test_a_timeout_during_a_commit_is_still_a_timeout(database: Database) -> None:
    async def write() -> None:
        async with asyncio.timeout(0):
            await database.run(put, "a")
            await asyncio.sleep(3600)

    with pytest.raises(TimeoutError):
        await write()
    assert await database.read(names) == ["a"]


async def test_a_cancelled_caller_stops_if_its_commit_failed(database: Database) -> None:
    followed: list[str] = []

    async def write() -> None:
        followed.append(await database.run(orphan))

    task = asyncio.ensure_future(write())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert followed == []


def test_urls_of_other_databases_are_refused() -> None:
    with pytest.raises(SettingsError, match="data: postgresql:// is not supported"):
        Database("postgresql://localhost/lab")


async def test_a_closed_database_raises() -> None:
    database = Database()
    with pytest.raises(LabError, match="closed"):
        await database.run(put, "a")
    database.start(tables)
    database.close()
    database.close()
    with pytest.raises(LabError, match="closed"):
        await database.read(names)
