"""Data files of other versions, of other programs, and half written ones: opened, upgraded, or refused unchanged."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from labkit import __version__
from labkit.core.errors import SettingsError
from labkit.storage import data_file
from labkit.storage.data_file import APPLICATION
from labkit.storage.database import Database
from labkit.storage.upgrades import STEPS, VERSION
from tests.storage.things import names, put, tables

ROOT = Path(__file__).parent.parent.parent
OLD = """
CREATE TABLE lab_time (time REAL NOT NULL);
INSERT INTO lab_time VALUES (1234.5);
CREATE TABLE thing (name VARCHAR NOT NULL, size INTEGER, PRIMARY KEY (name));
INSERT INTO thing VALUES ('a', 1), ('b', 2);
PRAGMA user_version = 6;
"""  # as labkit wrote it before 1.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lab.db"


def write(file: Path, sql: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(sql)


def read(file: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(query).fetchall()


def versions(file: Path) -> list[object]:
    return [read(file, f"PRAGMA {each}")[0][0] for each in ("application_id", "user_version")]


def contents(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def refused(file: Path) -> str:
    """Return the one line that refuses a file, and expect that neither the file nor its folder have changed."""
    before = contents(file.parent)
    with pytest.raises(SettingsError) as caught:
        Database(file).start(tables)
    assert contents(file.parent) == before
    text = str(caught.value)
    assert "\n" not in text
    return text


def add_step(monkeypatch: pytest.MonkeyPatch, step: Callable[[sqlite3.Connection], None]) -> None:
    """Add a version, to which `step` leads."""
    monkeypatch.setattr(data_file, "STEPS", (*STEPS, step))
    monkeypatch.setattr(data_file, "VERSION", VERSION + 1)


def test_a_new_file_has_the_version(file: Path) -> None:
    file.touch()  # an empty file counts as new
    database = Database(file)
    database.start(tables)
    database.close()
    assert versions(file) == [APPLICATION, VERSION]
    assert read(file, "SELECT starts FROM lab_state") == [(1,)]


def test_a_file_of_a_newer_labkit_is_refused(file: Path) -> None:
    write(file, f"CREATE TABLE thing (colour); PRAGMA application_id={APPLICATION}; PRAGMA user_version=99")
    assert refused(file) == (
        f"data: {file} is of version 99, and labkit {__version__} opens files up to version {VERSION}; "
        "expected an older file, or a newer labkit"
    )


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE bookmark (url TEXT)",
        "CREATE TABLE thing (name VARCHAR NOT NULL, size INTEGER, PRIMARY KEY (name))",  # and has no lab_time
        "PRAGMA user_version = 3",
        f"{OLD} PRAGMA application_id = 1234",
    ],
)
def test_a_file_of_another_program_is_refused(file: Path, sql: str) -> None:
    write(file, sql)
    file.chmod(0o644)
    expected = f"data: {file} is not a data file of labkit; expected a new file, or one that labkit wrote"
    assert refused(file) == expected
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_a_short_text_is_refused(file: Path) -> None:
    file.write_text("milk, bread")
    assert refused(file).startswith(f"data: {file} is not a data file of labkit;")


@pytest.mark.parametrize("part", [0.001, 0.5, 0.9])
def test_a_half_written_file_is_refused(file: Path, part: float) -> None:
    database = Database(file)
    database.start(tables)
    database.close()
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * part)])
    assert refused(file).startswith(
        (f"data: {file} is damaged: ", f"data: {file} is not a data file of labkit;")
    )


def test_a_file_whose_second_half_is_empty_is_refused(file: Path) -> None:
    database = Database(file)
    database.start(tables)
    database.close()
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] + bytes(len(whole) // 2))
    assert refused(file).startswith(f"data: {file} is damaged: ")


async def test_an_older_file_is_upgraded(file: Path) -> None:
    write(file, OLD)
    database = Database(file)
    database.start(tables)
    assert (database.starts, database.ended_at) == (7, 1234.5)
    assert await database.read(names) == ["a", "b"]
    assert await database.run(put, "c") == "c"
    database.close()
    assert versions(file) == [APPLICATION, VERSION]
    assert [each.name for each in file.parent.iterdir()] == ["lab.db"]
    database.start(tables)
    assert (database.starts, await database.read(names)) == (8, ["a", "b", "c"])
    database.close()


def test_an_older_file_whose_last_commits_are_in_its_log_is_upgraded(file: Path) -> None:
    """As after a power cut, when `lab.db-wal` has what the file itself lacks."""
    write(file, OLD)
    source = file.with_name("source.db")
    write(source, f"{OLD} PRAGMA journal_mode=WAL")
    with closing(sqlite3.connect(source)) as connection:
        connection.executescript("PRAGMA wal_autocheckpoint=0; INSERT INTO thing VALUES ('late', 3)")
        for suffix in ("", "-wal"):
            Path(f"{file}{suffix}").write_bytes(Path(f"{source}{suffix}").read_bytes())
    assert b"late" not in file.read_bytes()
    database = Database(file)
    database.start(tables)
    assert database.read_now(names) == ["a", "b", "late"]
    database.close()


def test_an_older_file_with_other_columns_is_refused(file: Path) -> None:
    write(file, f"{OLD} ALTER TABLE thing RENAME COLUMN size TO colour")
    assert refused(file) == (
        f"data: {file} is of another version of labkit: its table 'thing' has no column 'size' and an unknown column "
        "'colour'; expected a new file, or one that this version wrote"
    )


def test_a_file_with_a_table_of_a_newer_labkit_is_refused(file: Path) -> None:
    database = Database(file)
    database.start(tables)
    database.close()
    write(file, "CREATE TABLE meter (name VARCHAR)")
    assert refused(file) == (
        f"data: {file} is of another version of labkit: it has an unknown table 'meter'; "
        "expected a new file, or one that this version wrote"
    )


def test_a_step_that_fails_leaves_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def step(raw: sqlite3.Connection) -> None:
        raw.execute("DELETE FROM thing")
        raw.execute("INSERT INTO nowhere VALUES (1)")

    add_step(monkeypatch, step)
    write(file, OLD)
    assert refused(file) == (
        f"data: cannot upgrade {file} from version 0 to {VERSION + 1}: no such table: nowhere; the file is unchanged"
    )


def test_a_disk_without_room_leaves_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def step(raw: sqlite3.Connection) -> None:
        raw.execute(f"PRAGMA max_page_count={raw.execute('PRAGMA page_count').fetchone()[0]}")
        raw.execute("INSERT INTO thing VALUES (?, 1)", ("x" * 100_000,))

    add_step(monkeypatch, step)
    write(file, OLD)
    assert refused(file).endswith(": database or disk is full; the file is unchanged")


OPEN = """
import sys
from labkit.storage.database import Database
from labkit.core.errors import SettingsError
from tests.storage.things import tables

try:
    Database(sys.argv[1]).start(tables)
except SettingsError as error:
    print(error)
"""


def test_a_refused_second_lab_leaves_the_lock_of_the_first(file: Path) -> None:
    """A process loses all its locks of a file when it closes any descriptor of that file."""
    first = Database(file)
    first.start(tables)
    assert refused_while_open(file) == opened_elsewhere(file).strip()
    first.close()


def refused_while_open(file: Path) -> str:
    with pytest.raises(SettingsError) as caught:
        Database(file).start(tables)
    return str(caught.value)


def opened_elsewhere(file: Path) -> str:
    """Return what another process that opens the file says."""
    return subprocess.check_output([sys.executable, "-c", OPEN, file], cwd=ROOT, text=True)


def test_a_second_process_cannot_open_a_file_that_is_upgraded(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor can it just after the take-over: one lock holds from before the copy until the lab closes."""
    said: list[str] = []
    add_step(monkeypatch, lambda raw: said.append(opened_elsewhere(file)))
    write(file, OLD)
    database = Database(file)
    database.start(tables)
    said.append(opened_elsewhere(file))
    database.close()
    assert said == [f"data: cannot use {file}: another lab has it open\n"] * 2
    newer = f"data: {file} is of version {VERSION + 1}, and labkit {__version__} opens files up to version {VERSION}"
    assert opened_elsewhere(file).startswith(newer)


KILLED = """
import os, resource, signal, sys
from labkit.storage.database import Database
from tests.storage.things import tables

for file in sys.argv[1:]:
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    size = int(os.path.basename(os.path.dirname(file)))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    Database(file).start(tables)
    os._exit(0)
"""  # the kernel kills a process that writes beyond the limit of any file


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_a_kill_at_any_write_leaves_the_old_file_or_the_new_one(file: Path, journal: str) -> None:
    """The copy and SQLite's log grow page by page, so that each limit kills at another page of one of the two."""
    write(file, OLD)
    write(file, f"INSERT INTO thing VALUES ('{'x' * 60_000}', 3); PRAGMA journal_mode={journal}")
    files = [file.parent / str(size) / "lab.db" for size in range(0, 250_000, 6_001)]
    for each in files:
        each.parent.mkdir()
        shutil.copy(file, each)
    subprocess.run([sys.executable, "-c", KILLED, *files], cwd=ROOT, check=True)
    outcomes = Counter(after_kill(each) for each in files)
    # The third: killed between the upgrade and the count of this start.
    assert set(outcomes) <= {(0, 7), (VERSION, 8), (VERSION, 7)}, outcomes
    assert min(outcomes[0, 7], outcomes[VERSION, 8]) > 5, outcomes


def after_kill(file: Path) -> tuple[object, int]:
    """Return the version of the file, and the count of starts once it is open again, with all in it."""
    shutil.copytree(file.parent, file.parent / "left")
    application, version = versions(file.parent / "left" / "lab.db")
    shutil.rmtree(file.parent / "left")
    assert (application, version) in ((0, 6), (APPLICATION, VERSION))
    database = Database(file)
    database.start(tables)
    assert [len(name) for name in database.read_now(names)] == [1, 1, 60_000]
    database.close()
    assert [each.name for each in file.parent.iterdir()] == ["lab.db"]
    return version if application else 0, database.starts
