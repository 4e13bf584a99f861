"""The database: one commit for each turn of the loop, and nobody is told what is not stored."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Column, Connection, ForeignKey, Integer, MetaData, String, Table

from labkit.core.database import Committed, Database, driver, execute, execute_many
from labkit.core.errors import LabError, SettingsError

tables = MetaData()
Table("key", tables, Column("owner", String), Column("secret", String, info={"secret": True}))
thing = Table("thing", tables, Column("name", String, primary_key=True), Column("size", Integer))
Table(
    "part",
    tables,
    # Judged when the transaction commits: the way to a COMMIT that fails.
    Column("of", String, ForeignKey("thing.name", deferrable=True, initially="DEFERRED")),
)


def put(connection: Connection, name: str, size: int = 0) -> str:
    connection.exec_driver_sql("INSERT INTO thing VALUES (?, ?)", (name, size))
    return name


def names(connection: Connection) -> list[str]:
    return [row[0] for row in connection.exec_driver_sql("SELECT name FROM thing ORDER BY name")]


def orphan(connection: Connection) -> str:
    connection.exec_driver_sql("INSERT INTO part VALUES ('nothing')")
    return "orphan"


def setting(connection: Connection, name: str) -> object:
    return connection.exec_driver_sql(f"PRAGMA {name}").scalar()


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    opened = Database()
    opened.start(tables)
    yield opened
    opened.close()


@pytest.fixture
async def commits(database: Database) -> list[str]:
    """Each statement that ends a transaction, as SQLite runs it."""
    seen: list[str] = []
    raw = await database.read(driver)
    raw.set_trace_callback(lambda text: seen.append(text) if text in ("COMMIT", "ROLLBACK") else None)
    return seen


# --- group commit -------------------------------------------------------------------------------------------


async def test_all_calls_of_a_turn_share_one_commit(database: Database, commits: list[str]) -> None:
    written = await asyncio.gather(*(database.run(put, f"t{number}") for number in range(20)))
    assert written == [f"t{number}" for number in range(20)]
    assert commits == ["COMMIT"]
    await database.run(put, "later")
    assert commits == ["COMMIT", "COMMIT"]


async def test_a_call_returns_after_its_commit_only(database: Database, commits: list[str]) -> None:
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


async def test_a_read_alone_needs_no_transaction(database: Database, commits: list[str]) -> None:
    assert await database.read(names) == []
    await asyncio.sleep(0)
    assert commits == []


async def test_what_raises_undoes_itself_alone(database: Database) -> None:
    def spoil(connection: Connection) -> None:
        put(connection, "spoilt")
        raise KeyError("mine")

    before, spoilt, after = await asyncio.gather(
        database.run(put, "before"), database.run(spoil), database.run(put, "after"), return_exceptions=True
    )
    assert (before, after) == ("before", "after")
    assert isinstance(spoilt, KeyError)
    assert await database.read(names) == ["after", "before"]


async def test_what_raises_committed_keeps_what_it_wrote(database: Database, commits: list[str]) -> None:
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


async def test_what_raises_committed_is_told_when_the_commit_fails(database: Database) -> None:
    def refuse(connection: Connection) -> None:
        orphan(connection)
        raise Committed(KeyError("mine"))

    with pytest.raises(sqlite3.IntegrityError):
        await database.run(refuse)


async def test_statements_written_by_hand_are_part_of_the_transaction(database: Database) -> None:
    def spoil(connection: Connection) -> None:
        execute(connection, "INSERT INTO thing VALUES (?, ?)", ("a", 1))
        execute_many(connection, "INSERT INTO thing VALUES (?, ?)", [("b", 2), ("c", 3)])
        assert names(connection) == ["a", "b", "c"]
        raise KeyError("mine")

    with pytest.raises(KeyError):
        await database.run(spoil)
    assert await database.read(names) == []


# --- failures -----------------------------------------------------------------------------------------------


async def test_when_the_commit_fails_everybody_of_the_turn_is_told(database: Database) -> None:
    results = await asyncio.gather(
        database.run(put, "a"), database.run(orphan), database.read(names), return_exceptions=True
    )
    assert [type(result) for result in results] == [sqlite3.IntegrityError] * 3
    assert await database.read(names) == []
    assert await database.run(put, "b") == "b"  # the next turn is not touched by it
    assert await database.read(names) == ["b"]


async def test_a_transaction_that_sqlite_gives_up_fails_for_all_that_wrote_in_it(database: Database) -> None:
    await database.run(put, "there")

    def conflict(connection: Connection) -> None:  # what a full disk does, too
        driver(connection).execute("INSERT OR ROLLBACK INTO thing VALUES ('there', 0)")

    results = await asyncio.gather(
        database.run(put, "before"),
        database.run(conflict),
        database.run(put, "after"),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [sqlite3.IntegrityError] * 3
    assert await database.read(names) == ["there"]


async def test_a_cancelled_caller_finishes_what_follows_from_its_stored_data(database: Database) -> None:
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


async def test_a_time_limit_that_ends_during_a_commit_still_ends_as_one(database: Database) -> None:
    async def write() -> None:
        async with asyncio.timeout(0):
            await database.run(put, "a")
            await asyncio.sleep(3600)

    with pytest.raises(TimeoutError):
        await write()
    assert await database.read(names) == ["a"]


async def test_a_cancelled_caller_whose_commit_failed_goes_no_further(database: Database) -> None:
    followed: list[str] = []

    async def write() -> None:
        followed.append(await database.run(orphan))

    task = asyncio.ensure_future(write())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert followed == []


# --- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["{}", "sqlite:///{}"])
async def test_a_file_keeps_what_was_stored(tmp_path: Path, url: str) -> None:
    file = tmp_path / "lab.db"
    first = Database(url.format(file))
    first.start(tables)
    await first.run(put, "a")
    pending = asyncio.ensure_future(first.run(put, "b"))
    await asyncio.sleep(0)
    first.close()  # with a commit pending
    assert await pending == "b"
    second = Database(file)
    second.start(tables)
    assert await second.read(names) == ["a", "b"]
    assert (first.starts, second.starts) == (1, 2)
    second.close()
    assert (first.durable, Database().durable) == (True, False)


async def test_a_file_survives_losing_all_that_the_process_had_not_written(tmp_path: Path) -> None:
    database = Database(tmp_path / "lab.db")
    database.start(tables)
    settings = [await database.read(setting, name) for name in ("journal_mode", "synchronous")]
    database.close()
    assert settings == ["wal", 2]  # 2: FULL


async def test_a_file_belongs_to_one_lab_at_a_time(tmp_path: Path) -> None:
    first = Database(tmp_path / "lab.db")
    first.start(tables)
    with pytest.raises(SettingsError, match="another lab has it open"):
        Database(tmp_path / "lab.db").start(tables)
    await first.run(put, "a")
    first.close()
    second = Database(tmp_path / "lab.db")
    second.start(tables)
    assert await second.read(names) == ["a"]
    second.close()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
async def test_a_file_is_its_owners_alone(tmp_path: Path) -> None:
    def modes() -> dict[str, int]:
        return {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}

    file, before = tmp_path / "lab.db", os.umask(0)
    try:
        database = Database(file)
        database.start(tables)
        await database.run(put, "a")
        assert modes() == {"lab.db": 0o600, "lab.db-wal": 0o600}
        database.close()
        file.chmod(0o644)  # as earlier versions made it
        database.start(tables)
        assert modes()["lab.db"] == 0o600
        assert await database.read(names) == ["a"]
        database.close()
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    ("name", "reason"), [("no.db", "file is not a database"), ("no/lab.db", "unable to open database file")]
)
def test_a_bad_file_is_a_settings_error(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "no.db").write_text("this is no database, " * 100)
    with pytest.raises(SettingsError, match=f"data: cannot use .*{name}: {reason}"):
        Database(tmp_path / name).start(tables)


def test_a_file_of_another_version_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "lab.db"
    connection = sqlite3.connect(file)
    connection.executescript(
        "CREATE TABLE thing (name TEXT PRIMARY KEY, colour TEXT); PRAGMA user_version = 3"
    )
    connection.close()
    before = file.read_bytes()
    with pytest.raises(SettingsError) as caught:
        Database(file).start(tables)
    assert str(caught.value) == (
        f"data: {file} is of another version of labkit: its table 'thing' has no column 'size' and an unknown column "
        "'colour'; expected a new file, or one that this version wrote"
    )
    assert file.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["lab.db"]


async def test_tables_that_a_file_lacks_are_added(tmp_path: Path) -> None:
    fewer = MetaData()
    thing.to_metadata(fewer)
    database = Database(tmp_path / "lab.db")
    database.start(fewer)
    await database.run(put, "a")
    database.close()
    database = Database(tmp_path / "lab.db")
    database.start(tables)
    assert await database.read(names) == ["a"]
    assert (
        await database.read(lambda connection: driver(connection).execute("SELECT * FROM part").fetchall())
        == []
    )
    database.close()


def test_other_databases_are_refused() -> None:
    with pytest.raises(SettingsError, match="data: postgresql:// is not supported"):
        Database("postgresql://localhost/lab")


async def test_a_closed_database_says_so() -> None:
    database = Database()
    with pytest.raises(LabError, match="closed"):
        await database.run(put, "a")
    database.start(tables)
    database.close()
    database.close()
    with pytest.raises(LabError, match="closed"):
        await database.read(names)


# --- frames -------------------------------------------------------------------------------------------------


async def test_a_frame_holds_the_rows_of_a_select(database: Database) -> None:
    await database.run(put, "a", 7)
    frame = await database.frame("with two(n) as (select 2) select name, size * n as double from thing, two")
    assert list(frame.columns) == ["name", "double"]
    assert frame.to_dict("records") == [{"name": "a", "double": 14}]
    assert (await database.frame("select name from thing where size < 0")).shape == (0, 1)


@pytest.mark.parametrize(
    "query",
    [
        "insert into thing values ('b', 1)",
        "update thing set size = 9",
        "delete from thing",
        "drop table thing",
        "create table other (a)",
        "attach database '{}/other.db' as other",
        "pragma query_only = off",
        "begin",
        "commit",
    ],
)
async def test_a_frame_changes_nothing(database: Database, query: str, tmp_path: Path) -> None:
    await database.run(put, "a")
    with pytest.raises(LabError, match="sql: the data is read-only here, expected a SELECT"):
        await database.frame(query.format(tmp_path))
    await database.run(put, "still writable")
    assert await database.read(names) == ["a", "still writable"]
    assert not (tmp_path / "other.db").exists()


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select * from nowhere", "no such table: nowhere"),
        ("select 1; delete from thing", "one statement at a time"),
        ("selec", "syntax error"),
        ("", "does not return rows"),
    ],
)
async def test_a_frame_says_what_is_wrong_with_a_query(database: Database, query: str, reason: str) -> None:
    with pytest.raises(LabError, match=f"sql: .*{reason}"):
        await database.frame(query)


async def test_a_frame_shows_no_secret(database: Database) -> None:
    def keep(connection: Connection) -> None:
        execute(connection, "INSERT INTO key VALUES ('acme', 's3cret')")

    await database.run(keep)
    frame = await database.frame("select * from key")
    assert frame.to_dict("records") == [{"owner": "acme", "secret": None}]
    assert frame.attrs["hidden"] == ["key.secret"]
    for query in (
        "select secret || '' s from key",
        "select hex(secret) s from key as k",
        "select s from (select owner, secret as s from key)",
        "with k(s) as (select secret from key) select s from k",
        "select group_concat(secret) s from key",
        "select (select max(secret) from key) s",
        "select owner s from key where secret like 's%'",
        "select owner s from key where length(secret) = 6",
        "select owner s from key where rowid in (select rowid from key where secret >= 'a')",
    ):
        frame = await database.frame(query)
        assert frame["s"].dropna().isin([""]).all(), query
        assert frame.attrs["hidden"] == ["key.secret"]
    assert (await database.frame("select owner from key")).attrs["hidden"] == []


@pytest.mark.parametrize(
    "join",
    [
        "key FULL JOIN other USING (secret)",
        "other natural full join key",
        "key natural full outer join other",
    ],
)
async def test_a_frame_joins_fully_by_on_alone(database: Database, join: str) -> None:
    with pytest.raises(LabError, match="sql: a FULL JOIN needs ON here"):
        await database.frame(f"with other as (select 'x' secret) select * from {join}")
    frame = await database.frame("select * from key full join thing on owner = name")
    assert list(frame.columns) == ["owner", "secret", "name", "size"]


async def test_what_a_frame_hides_the_lab_still_reads(database: Database) -> None:
    query = "SELECT secret FROM key"

    def keep(connection: Connection) -> None:
        execute(connection, "INSERT INTO key VALUES ('acme', 's3cret')")

    def look(connection: Connection) -> object:
        return execute(connection, query).fetchone()

    await database.run(keep)
    for _ in range(2):  # before and after the lab has compiled the same statement
        assert (await database.frame(query))["secret"].tolist() == [None]
        assert await database.read(look) == ("s3cret",)
