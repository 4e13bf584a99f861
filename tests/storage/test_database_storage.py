"""Full disks and damaged data files: errors, and the data that remains."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from labkit.core.errors import LabError, SettingsError, StorageError
from labkit.storage.database import Database, execute, execute_many
from labkit.storage.upgrades import VERSION
from tests.storage.things import names, put, setting, tables

PUT = "INSERT INTO thing VALUES (?, 1)"
PAGE = 4096


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lab.db"


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def database(file: Path, reports: list[str]) -> Iterator[Database]:
    opened = Database(file)
    opened.watch(report=reports.append)
    opened.start(tables)
    yield opened
    opened.close()


def limit(connection: Connection, more: int) -> None:
    """Let the file grow by a number of pages and no further, as on a nearly full disk."""
    pages = setting(connection, "page_count")
    assert isinstance(pages, int)
    execute(connection, f"PRAGMA max_page_count={pages + more}")


def put_much(connection: Connection, name: str) -> str:
    return put(connection, name * 10_000)


async def test_on_a_full_disk_nothing_is_stored_and_earlier_data_remains(
    database: Database, file: Path, reports: list[str]
) -> None:
    await database.run(put, "before")
    await database.read(limit, 0)
    for _ in range(2):
        with pytest.raises(
            StorageError, match=f"no room for the data file {file}, nothing was stored"
        ) as raised:
            await database.run(put_much, "a")
        assert raised.value.status == 507
        assert isinstance(raised.value.__cause__, Exception)
        with pytest.raises(StorageError, match="no room for the data file"):
            await database.write(PUT, ("b" * 10_000,))
        assert await database.read(names) == ["before"]
    assert reports == [f"no room for the data file {file}, nothing was stored: database or disk is full"]
    with pytest.raises(StorageError):
        await database.run(put_much, "c")
    await asyncio.sleep(0)  # until the next turn, all writes of this one are refused
    await database.read(limit, 1000)
    await database.run(put_much, "d")
    assert reports[1:] == [f"there is room again for the data file {file}"]
    database.close()
    database.start(tables)
    assert await database.read(names) == ["before", "d" * 10_000]


async def test_writes_of_one_turn_on_a_full_disk_are_all_stored_or_all_refused(database: Database) -> None:
    await database.read(limit, 0)
    results = await asyncio.gather(
        *(database.run(put, "small"), database.run(put_much, "a"), database.write(PUT, ("other",))),
        return_exceptions=True,
    )
    assert isinstance(results[1], StorageError)
    stored = await database.read(names)
    for name, result in (("small", results[0]), ("other", results[2])):
        assert (name in stored) == (not isinstance(result, StorageError))


async def test_a_probe_write_detects_free_space(database: Database, file: Path, reports: list[str]) -> None:
    await database.probe()
    await database.read(limit, 0)
    with pytest.raises(StorageError):
        await database.run(put_much, "a")
    await asyncio.sleep(0)  # until the next turn, all writes of this one are refused
    await database.probe()  # an existing page can still be written
    assert len(reports) == 1
    await database.run(put, "b")
    assert reports[1:] == [f"there is room again for the data file {file}"]


async def fill(database: Database) -> None:
    def many(connection: Connection) -> None:
        execute_many(connection, PUT, ((f"{number:0100}",) for number in range(40_000)))

    await database.run(many)


def contents(file: Path) -> bytes:
    return file.read_bytes()


def spoil(file: Path) -> None:
    """Overwrite pages in the middle of the file."""
    with file.open("r+b") as opened:
        opened.seek(file.stat().st_size // PAGE // 2 * PAGE)
        opened.write(b"\xff" * PAGE * 100)


async def test_a_damaged_file_is_refused_at_the_start_and_unchanged(database: Database, file: Path) -> None:
    await fill(database)
    database.close()
    spoil(file)
    before = contents(file)
    with pytest.raises(
        SettingsError, match=f"data: {file} is damaged: .+; expected an intact file"
    ) as raised:
        database.start(tables)
    assert "\n" not in str(raised.value)
    assert contents(file) == before


async def test_damage_found_later_is_reported(database: Database, file: Path, reports: list[str]) -> None:
    await fill(database)
    database.close()  # so that all data is in the file itself
    database.start(tables)
    spoil(file)
    said = f"the data file {file} is damaged: database disk image is malformed"
    with pytest.raises(StorageError, match=said) as raised:
        await database.read(names)
    assert raised.value.status == 500
    with pytest.raises(StorageError, match=said):
        await database.run(names)
    with pytest.raises(LabError, match=f"sql: {said}") as refused:
        await database.select("select count(name) from thing where size > 5")
    assert isinstance(refused.value.__cause__, sqlite3.Error)
    assert reports == [said]
    assert await database.run(setting, "user_version") == VERSION  # other pages are read
