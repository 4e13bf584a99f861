"""Opening of a lab's data file: whether it is one, its version, its upgrade, and its missing parts.

A data file has `APPLICATION` as SQLite's `application_id`, and the version of its tables as `user_version`. Files of
labkit before 1.0 have neither, and count as version 0.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import MetaData

from labkit.core import __version__
from labkit.core.errors import SettingsError
from labkit.storage.schema import definitions, expect_tables
from labkit.storage.storage import expect_intact, keep_private
from labkit.storage.upgrades import STEPS, VERSION

APPLICATION = int.from_bytes(b"LABK")
SMALLEST = 512  # bytes of a database of one page
STATE = "CREATE TABLE lab_state (time REAL NOT NULL, starts INTEGER NOT NULL)"
KEEP_TIME = "UPDATE lab_state SET time = ?"


def open_data_file(path: Path, raw: sqlite3.Connection, tables: MetaData) -> tuple[float, int]:
    """Check the file, upgrade it, create its missing parts, and count this start.

    Returns the time of the lab at its last commit, and the number of starts. Raises SettingsError where the file is
    not one of labkit, is of a newer labkit, is damaged, or cannot be upgraded: then nothing in it has changed.
    """
    if 0 < path.stat().st_size < SMALLEST:  # SQLite would count it as empty, and overwrite it
        raise _not_ours(path)
    raw.execute("PRAGMA locking_mode=EXCLUSIVE")
    raw.execute("BEGIN EXCLUSIVE")  # SQLite keeps the lock from here on, until the connection is closed
    raw.execute("COMMIT")
    version = _version(path, raw)
    keep_private(path)
    expect_intact(path, raw)
    if version is not None and version < VERSION:
        _upgrade(path, raw, version, tables)
    expect_tables(path, raw, tables)
    raw.execute("PRAGMA journal_mode=WAL")
    raw.execute("PRAGMA synchronous=FULL")
    raw.execute("BEGIN")  # one transaction: a file that was begun is complete, or still empty
    for statement in definitions(tables, tuple(tables.tables)):
        raw.execute(statement)
    if version is None:
        raw.execute(STATE)
        raw.execute("INSERT INTO lab_state VALUES (0, 0)")
        _mark(raw)
    raw.execute("UPDATE lab_state SET starts = starts + 1")
    [time, starts] = raw.execute("SELECT time, starts FROM lab_state").fetchone()
    raw.execute("COMMIT")
    return time, starts


def _version(path: Path, raw: sqlite3.Connection) -> int | None:
    """Return the version of a data file; None for a new one. Raises SettingsError for any other file."""
    application, version = (
        raw.execute(f"PRAGMA {each}").fetchone()[0] for each in ("application_id", "user_version")
    )
    if application == APPLICATION:
        if version > VERSION:
            raise SettingsError(
                f"data: {path} is of version {version}, and labkit {__version__} opens files up to version {VERSION}; "
                "expected an older file, or a newer labkit"
            )
        return int(version)
    names = {name for [name] in raw.execute("SELECT name FROM sqlite_master")}
    if application == version == 0 and not names:
        return None
    if application == 0 and "lab_time" in names:
        return 0
    raise _not_ours(path)


def _not_ours(path: Path) -> SettingsError:
    return SettingsError(
        f"data: {path} is not a data file of labkit; expected a new file, or one that labkit wrote"
    )


def _upgrade(path: Path, raw: sqlite3.Connection, version: int, tables: MetaData) -> None:
    """Run the missing steps on a copy; if all succeed, replace the file's content by that of the copy.

    The copy is an unnamed temporary file, of which a killed process leaves nothing behind. SQLite replaces the content
    in one transaction, which a kill, a power cut or a full disk undoes. A renamed copy would not do: a second process
    could open the old file just before, and SQLite would apply the old file's log (`-wal`) to the new one.
    """
    try:
        with closing(sqlite3.connect("", isolation_level=None)) as copy:
            raw.backup(copy)
            copy.execute("BEGIN")
            for step in STEPS[version:]:
                step(copy)
            _mark(copy)
            copy.execute("COMMIT")
            expect_tables(path, copy, tables)
            expect_intact(path, copy)
            copy.backup(raw)
    except sqlite3.Error as error:
        raise SettingsError(
            f"data: cannot upgrade {path} from version {version} to {VERSION}: {error}; the file is unchanged"
        ) from error


def _mark(raw: sqlite3.Connection) -> None:
    """Write the version into the file."""
    raw.execute(f"PRAGMA application_id={APPLICATION}")
    raw.execute(f"PRAGMA user_version={VERSION}")
