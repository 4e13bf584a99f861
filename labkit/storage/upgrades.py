"""Steps that upgrade the data file of an earlier labkit, one for each version of its tables.

Every change of a table needs a step at the end of `STEPS`, with a test and a stored file of the version before
(`tests/lab/data/`). A new table needs none: it is created in an older file, and a labkit without it refuses the file.
A step gets a copy of the file within a transaction, and uses SQL alone: the code's own tables change later, a step
never does. An upgrade may be interrupted, so a step has no other effects.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable


def keep_starts_in_a_table(raw: sqlite3.Connection) -> None:
    """Store the count of starts beside the time of the lab, since `user_version` is the version from now on."""
    [starts] = raw.execute("PRAGMA user_version").fetchone()
    raw.execute("CREATE TABLE lab_state (time REAL NOT NULL, starts INTEGER NOT NULL)")
    raw.execute("INSERT INTO lab_state SELECT coalesce(max(time), 0), ? FROM lab_time", (starts,))
    raw.execute("DROP TABLE lab_time")


def add_tags_of_identities(raw: sqlite3.Connection) -> None:
    """Add the table of the tags of devices."""
    raw.execute(
        "CREATE TABLE identity_tag (product VARCHAR NOT NULL, identity VARCHAR NOT NULL, name VARCHAR NOT NULL, "
        "value VARCHAR NOT NULL, PRIMARY KEY (product, identity, name, value)) WITHOUT ROWID"
    )


def add_timers(raw: sqlite3.Connection) -> None:
    """Add the timers of solutions."""
    raw.execute(
        "CREATE TABLE timer (solution VARCHAR NOT NULL, timer_id VARCHAR NOT NULL, message TEXT NOT NULL, "
        "duration INTEGER NOT NULL, repeats INTEGER NOT NULL, due BIGINT NOT NULL, place BIGINT NOT NULL, "
        "cause BIGINT, PRIMARY KEY (solution, timer_id))"
    )


def add_time_series(raw: sqlite3.Connection) -> None:
    """Add the series of Tsdb and Timeseries, and their points."""
    raw.execute(
        "CREATE TABLE series (id INTEGER NOT NULL, owner VARCHAR NOT NULL, solution VARCHAR NOT NULL, "
        "name VARCHAR NOT NULL, field VARCHAR NOT NULL, tags VARCHAR NOT NULL, PRIMARY KEY (id), "
        "UNIQUE (owner, solution, name, field, tags))"
    )
    raw.execute(
        "CREATE TABLE series_point (series INTEGER NOT NULL, time BIGINT NOT NULL, value BLOB NOT NULL, "
        "PRIMARY KEY (series, time)) WITHOUT ROWID"
    )


def add_tags_of_series(raw: sqlite3.Connection) -> None:
    """Add the tags of series, their number in each solution, and to points a checksum of what their series is of."""
    raw.execute("ALTER TABLE series_point RENAME TO point")
    raw.execute(
        "CREATE TABLE series_point (series INTEGER NOT NULL, time BIGINT NOT NULL, value BLOB NOT NULL, "
        "family INTEGER NOT NULL, PRIMARY KEY (series, time)) WITHOUT ROWID"
    )
    for series, *of in raw.execute("SELECT id, owner, solution, name, field FROM series").fetchall():
        family = zlib.crc32("\0".join(of).encode())
        copied = "INSERT INTO series_point SELECT series, time, value, ? FROM point WHERE series = ?"
        raw.execute(copied, (family, series))
    raw.execute("DROP TABLE point")
    raw.execute(
        "CREATE TABLE series_tag (owner VARCHAR NOT NULL, solution VARCHAR NOT NULL, name VARCHAR NOT NULL, "
        "value VARCHAR NOT NULL, series INTEGER NOT NULL, PRIMARY KEY (owner, solution, name, value, series)) "
        "WITHOUT ROWID"
    )
    raw.execute(
        "CREATE TABLE series_count (owner VARCHAR NOT NULL, solution VARCHAR NOT NULL, count INTEGER NOT NULL, "
        "PRIMARY KEY (owner, solution)) WITHOUT ROWID"
    )
    shown = "FROM series WHERE owner NOT LIKE 'deleted %'"
    for *of, tags, series in raw.execute(f"SELECT owner, solution, tags, id {shown}").fetchall():
        rows = [(*of, *tag, series) for tag in json.loads(tags).items()]
        raw.executemany("INSERT INTO series_tag VALUES (?, ?, ?, ?, ?)", rows)
    raw.execute(f"INSERT INTO series_count SELECT owner, solution, count(*) {shown} GROUP BY owner, solution")


STEPS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    keep_starts_in_a_table,  # version 0, of labkit before 1.0, to 1
    add_tags_of_identities,  # version 1, of labkit 1.0, to 2
    add_timers,  # versions 2 and 3, which no release had, to 4
    add_time_series,
    add_tags_of_series,  # version 4, of labkit 1.1 to 1.3, to 5
)
VERSION = len(STEPS)  # of the files that this labkit writes
