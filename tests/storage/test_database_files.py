"""The database in a file: persistence, ownership, and refused files."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from pathlib import Path

import pytest
from sqlalchemy import MetaData

from labkit.core.errors import SettingsError, StorageError
from labkit.labtime.clock import Clock
from labkit.storage.database import Database, driver
from tests.storage.things import names, put, setting, tables, thing


@pytest.mark.parametrize("url", ["{}", "sqlite:///{}"])
async def test_a_file_keeps_stored_data(tmp_path: Path, url: str) -> None:
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


async def test_committed_data_survives_the_loss_of_unflushed_writes(tmp_path: Path) -> None:
    database = Database(tmp_path / "lab.db")
    database.start(tables)
    settings = [await database.read(setting, name) for name in ("journal_mode", "synchronous")]
    database.close()
    assert settings == ["wal", 2]  # 2: FULL


async def test_a_file_is_locked_by_one_lab_at_a_time(tmp_path: Path) -> None:
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


def delete(*files: Path) -> None:
    for each in files:
        each.unlink()


@pytest.mark.skipif(os.name == "nt", reason="Windows deletes no open files")
async def test_a_deleted_file_is_written_no_more_and_neither_is_its_successor(tmp_path: Path) -> None:
    file, said = tmp_path / "lab.db", list[str]()
    first, second = Database(file), Database(file)
    first.start(tables)
    first.watch(report=said.append)
    await first.run(put, "a")
    delete(file, tmp_path / "lab.db-wal")
    second.start(tables)
    for _ in range(2):
        with pytest.raises(
            StorageError, match=r"lab\.db was deleted or replaced while it is in use, nothing was stored"
        ):
            await first.run(put, "b")
    assert len(said) == 1
    assert await first.read(names) == ["a"]
    await second.run(put, "c")
    first.close()
    shutil.copytree(tmp_path, tmp_path / "killed", ignore=shutil.ignore_patterns("killed"))
    second.close()
    after = Database(tmp_path / "killed" / "lab.db")
    after.start(tables)
    assert await after.read(names) == ["c"]
    after.close()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
@pytest.mark.parametrize("room", [1, 5000])
def test_a_start_without_room_leaves_no_file(tmp_path: Path, room: int) -> None:
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        with pytest.raises(SettingsError, match="cannot use"):
            Database(tmp_path / "lab.db").start(tables)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
async def test_a_file_is_private_to_its_owner(tmp_path: Path) -> None:
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


async def test_missing_tables_are_added_to_a_file(tmp_path: Path) -> None:
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


async def test_a_file_stores_lab_time_with_each_commit(tmp_path: Path) -> None:
    clock = Clock(rate=0, start=1000.0)
    database = Database(tmp_path / "lab.db", clock=clock)
    database.start(tables)
    assert database.ended_at == 0
    await database.run(put, "a")
    clock.continue_from(2000.0)  # an idle lab writes nothing
    await database.read(names)
    killed = Database(copied(tmp_path), clock=clock)
    killed.start(tables)
    assert killed.ended_at == 1000
    killed.close()
    clock.continue_from(3000.5)
    database.close()
    database.start(tables)
    assert database.ended_at == 3000.5
    database.close()


def copied(folder: Path) -> Path:
    """Copy the file in its state when the process is killed."""
    for suffix in ("", "-wal"):
        shutil.copy(folder / f"lab.db{suffix}", folder / f"copy.db{suffix}")
    return folder / "copy.db"
