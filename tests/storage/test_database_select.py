"""Queries of the database: only SELECT, and no secrets."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Connection

from labkit.core.errors import LabError
from labkit.storage.database import Database, execute
from tests.cases import cases
from tests.storage.things import names, put


async def test_it_returns_columns_and_rows(database: Database) -> None:
    await database.run(put, "a", 7)
    found = await database.select("with two(n) as (select 2) select name, size * n as double from thing, two")
    assert found == (("name", "double"), (("a", 14),), ())
    assert await database.select("select name from thing where size < 0") == (("name",), (), ())


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
        "select * from pragma_user_version, thing",
        "with new(n) as (select 'b') insert into thing select n, 1 from new",
        "with old(n) as (select 'a') delete from thing where name in (select n from old)",
        "with new(n) as (select 9) update thing set size = (select n from new) returning name",
        "insert into thing values ('b', 1) returning name",
        "vacuum",
        "vacuum into '{}/other.db'",
        "reindex",
        "analyze",
        "savepoint a",
        "detach main",
        "begin",
        "commit",
    ],
)
async def test_it_changes_nothing(database: Database, query: str, tmp_path: Path) -> None:
    await database.run(put, "a")
    with pytest.raises(LabError, match="sql: the data is read-only here, expected a SELECT"):
        await database.select(query.format(tmp_path))
    await database.run(put, "still writable")
    assert await database.read(names) == ["a", "still writable"]
    assert not (tmp_path / "other.db").exists()


@cases(
    ("query", "reason"),
    [
        ("select * from nowhere", "no table .nowhere., there are: "),
        ("select 1; delete from thing", "one statement at a time"),
        ("selec", "syntax error"),
        ("", "does not return rows"),
        ("select 'a\0b'", "null character"),
        ("select '\ud800'", "surrogates not allowed"),
        ("select cast(x'ff' as text)", "Could not decode to UTF-8"),
        ("select load_extension('x')", "the data is read-only here"),
    ],
)
async def test_an_invalid_query_is_refused_with_the_reason(
    database: Database, query: str, reason: str
) -> None:
    with pytest.raises(LabError, match=f"sql: .*{reason}"):
        await database.select(query)


async def test_it_shows_no_secret(database: Database) -> None:
    def keep(connection: Connection) -> None:
        execute(connection, "INSERT INTO key VALUES ('acme', 's3cret')")

    await database.run(keep)
    found = await database.select("select * from key")
    assert found == (("owner", "secret"), (("acme", None),), ("key.secret",))
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
        found = await database.select(query)
        assert {row[0] for row in found.rows} <= {None, ""}, query
        assert found.hidden == ("key.secret",)
    assert (await database.select("select owner from key")).hidden == ()


@cases(
    "join",
    [
        "key FULL JOIN other USING (secret)",
        "other natural full join key",
        "key natural full outer join other",
    ],
)
async def test_full_joins_need_on(database: Database, join: str) -> None:
    with pytest.raises(LabError, match="sql: a FULL JOIN needs ON here"):
        await database.select(f"with other as (select 'x' secret) select * from {join}")
    found = await database.select("select * from key full join thing on owner = name")
    assert found.columns == ("owner", "secret", "name", "size")


async def test_the_lab_itself_reads_hidden_columns(database: Database) -> None:
    query = "SELECT secret FROM key"

    def keep(connection: Connection) -> None:
        execute(connection, "INSERT INTO key VALUES ('acme', 's3cret')")

    def look(connection: Connection) -> object:
        return execute(connection, query).fetchone()

    await database.run(keep)
    for _ in range(2):  # before and after the lab has compiled the same statement
        assert (await database.select(query)).rows == ((None,),)
        assert await database.read(look) == ("s3cret",)
