"""The database schema: its creation, and the check that a file has the columns of this version."""

from __future__ import annotations

import functools
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Column, Integer, MetaData, String
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from labkit.core.errors import SettingsError

metadata = MetaData()
OF_FILES = ("lab_state",)  # tables of a data file alone


def texts(*names: str, key: bool = False) -> list[Column[str]]:
    """Return columns of texts that are never NULL. key: whether they belong to the primary key."""
    return [Column(name, String, primary_key=key, nullable=False) for name in names]


def numbers(*names: str) -> list[Column[int]]:
    """Return columns of whole numbers that are never NULL."""
    return [Column(name, Integer, nullable=False) for name in names]


@functools.cache
def definitions(tables: MetaData, names: tuple[str, ...]) -> list[str]:
    """Return the SQL that creates missing tables and indexes; cached, since it is the slowest part of a lab's start.

    names: the tables declared so far, as a key of the cache, since others may be declared later.
    """
    created: list[ExecutableDDLElement] = []
    for table in tables.sorted_tables:
        created.append(CreateTable(table, if_not_exists=True))
        created += [
            CreateIndex(index, if_not_exists=True)
            for index in sorted(table.indexes, key=lambda index: str(index.name))
        ]
    return [str(each.compile(dialect=sqlite.dialect())) for each in created]


@functools.cache
def empty_database(tables: MetaData, names: tuple[str, ...]) -> bytes:
    """Return an empty database with the tables: copying it is five times as fast as creating one."""
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(";".join(definitions(tables, names)))
        return made.serialize()


def expect_tables(path: Path, raw: sqlite3.Connection, tables: MetaData) -> None:
    """Raise SettingsError where a file has a table that this version does not know, or one with other columns."""
    names = raw.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    if unknown := sorted({name for [name] in names} - {*tables.tables, *OF_FILES}):
        raise _of_another_version(path, f"it has an unknown table {unknown[0]!r}")
    for table in tables.sorted_tables:
        rows = raw.execute("SELECT name FROM pragma_table_info(?)", (table.name,))
        found, expected = {row[0] for row in rows}, {column.name for column in table.columns}
        if found and found != expected:
            wrong = [f"no column {name!r}" for name in sorted(expected - found)]
            wrong += [f"an unknown column {name!r}" for name in sorted(found - expected)]
            raise _of_another_version(path, f"its table {table.name!r} has {' and '.join(wrong)}")


def _of_another_version(path: Path, difference: str) -> SettingsError:
    return SettingsError(
        f"data: {path} is of another version of labkit: {difference}; expected a new file, or one that this version "
        "wrote"
    )


@functools.cache
def secret_columns(tables: MetaData, names: tuple[str, ...]) -> frozenset[tuple[str, str]]:
    """Return table and name of each column that is hidden from queries of users. names: as of `definitions`."""
    return frozenset(
        (table.name, column.name)
        for table in tables.tables.values()
        for column in table.columns
        if column.info.get("secret")
    )
