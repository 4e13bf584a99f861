"""Long SELECTs: they run on a copy in a thread, with limits, while the loop runs on."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from labkit.core.errors import LabError
from labkit.storage.copies import Copy
from labkit.storage.database import Database, driver, execute_many
from labkit.storage.selects import AT_ONCE, Query, Selected, SelectLimits
from tests.storage.things import names, put, setting, tables

NUMBERS = "with recursive c(n) as (select 1 union all select n + 1 from c"
ENDLESS = f"{NUMBERS}) select count(*) from c"
LONG = f"{NUMBERS} limit 300000) select max(n) n, (select count(*) from thing) things from c"
ROWS = f"{NUMBERS}) select n from c"
Make = Callable[..., Database]


@pytest.fixture(params=["memory", "file"])
async def make(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Make]:
    made: list[Database] = []

    def make(seconds: float = 60, size: int = 2**30) -> Database:
        url = tmp_path / "lab.db" if request.param == "file" else None
        database = Database(url, SelectLimits(seconds, size))
        database.start(tables)
        made.append(database)
        return database

    yield make
    for each in made:
        each.close()


def fill(connection: Connection, count: int) -> None:
    execute_many(connection, "INSERT INTO thing VALUES (?, ?)", ((f"thing {n}", n) for n in range(count)))


async def test_it_sees_stored_data_and_hides_the_same_columns(make: Make) -> None:
    database = make()
    await database.run(put, "a")
    for expected in (1, 2):
        assert (await database.select(LONG)).rows == ((300_000, expected),)
        await database.run(put, f"{expected}")
    await database.run(lambda connection: driver(connection).execute("INSERT INTO key VALUES ('acme', 's')"))
    for _ in range(2):  # also on the copy that the first one created
        found = await database.select(f"select secret, n from key, ({LONG})")
        assert found == (("secret", "n"), ((None, 300_000),), ("key.secret",))


async def test_an_endless_query_ends_with_a_reason(make: Make) -> None:
    database = make(seconds=0.2)
    with pytest.raises(LabError, match=r"sql: it was ended after 0\.2 s \(guard\.sql\)"):
        await database.select(ENDLESS)
    assert (await database.select("select 1 one")).rows == ((1,),)


async def test_a_query_whose_caller_is_cancelled_ends(make: Make) -> None:
    database = make()
    ended = [asyncio.ensure_future(database.select(ENDLESS)) for _ in range(AT_ONCE)]
    waits = asyncio.ensure_future(database.select(LONG))
    assert (await database.select("select 1 one")).rows == ((1,),)  # a short query waits for none of them
    for each in ended:
        each.cancel()
    assert (await waits).rows == ((300_000, 0),)
    await asyncio.wait(ended)
    assert all(each.cancelled() for each in ended)


async def test_the_loop_runs_during_a_long_query(make: Make) -> None:
    database = make()
    endless = asyncio.ensure_future(database.select(ENDLESS))
    for number in range(20):
        assert await database.run(put, f"{number}") == f"{number}"
    assert len(await database.read(names)) == 20
    assert not endless.done()
    endless.cancel()


async def test_a_copy_is_made_in_pieces_while_others_write(make: Make) -> None:
    database = make()
    await database.run(fill, 50_000)
    written = 0
    found = asyncio.ensure_future(database.select(LONG))
    while not found.done():
        await database.run(put, f"{written}")
        written += 1
        await asyncio.sleep(0)
    ((_, counted),) = found.result().rows
    assert 50_000 <= counted <= 50_000 + written
    assert written > 5


async def test_the_copy_is_reused_until_the_next_write(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[Copy] = []
    closed: list[Copy] = []

    class Counted(Copy):
        def __init__(self, in_memory: bool) -> None:
            super().__init__(in_memory)
            copies.append(self)

        def close(self) -> None:
            closed.append(self)
            super().close()

    monkeypatch.setattr("labkit.storage.selects.Copy", Counted)
    database = make()
    await database.run(put, "a")
    for _ in range(3):
        await database.select(LONG)
    assert (len(copies), closed) == (1, [])
    await database.write("INSERT INTO thing VALUES (?, ?)", ("b", 1))
    assert closed == copies
    assert (await database.select(LONG)).rows == ((300_000, 2),)
    await database.run(put, "c")
    assert closed == copies
    assert len(copies) == 2


async def test_the_rows_of_a_large_table_are_counted_on_a_copy(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = make()
    await database.run(fill, 200_000)
    threads: set[str] = set()
    run = Query.run

    def watched(*args: Any, **kwargs: Any) -> Selected:
        found = run(*args, **kwargs)
        threads.add(threading.current_thread().name)
        return found

    monkeypatch.setattr(Query, "run", watched)
    assert (await database.select("select count(*) from thing")).rows == ((200_000,),)
    assert threads == {"labkit copy"}
    with pytest.raises(LabError, match="read-only"):
        await database.select("pragma foreign_keys = off")
    assert await database.read(setting, "foreign_keys") == 1


async def test_a_result_above_the_limit_is_refused(make: Make) -> None:
    database = make(size=10_000_000)
    with pytest.raises(
        LabError, match=r"sql: the result is larger than 10,000,000 bytes \(guard\.sql_size\)"
    ):
        await database.select(ROWS)
    with pytest.raises(LabError, match=r"guard\.sql_size"):
        await database.select(
            "select hex(zeroblob(10000000))"
        )  # one value, so that the loop does not compute it
    with pytest.raises(LabError, match=r"a value is larger than a sixth of guard\.sql_size"):
        await database.select("select randomblob(2000000)")


async def test_an_error_in_a_long_query_is_reported(make: Make) -> None:
    database = make()
    with pytest.raises(LabError, match="sql: malformed JSON") as raised:
        await database.select(f"select json_extract('[' || n, '$') from ({LONG})")
    assert isinstance(raised.value.__cause__, sqlite3.Error)


async def test_closing_ends_running_and_waiting_queries(make: Make) -> None:
    database = make()
    await database.run(fill, 50_000)
    asked = [asyncio.ensure_future(database.select(ENDLESS)) for _ in range(AT_ONCE + 2)]
    await asyncio.sleep(0)
    database.close()
    assert [str(each) for each in await asyncio.gather(*asked, return_exceptions=True)] == [
        "the lab is closed"
    ] * (AT_ONCE + 2)
    database.start(tables)  # a file has no other user left
    assert (await database.select(LONG)).rows[0][0] == 300_000
