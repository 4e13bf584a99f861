"""The tables of a database: what creates them, and whether a file has those of this version."""

from __future__ import annotations

import functools
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, MetaData
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from labkit.core.errors import SettingsError


@functools.cache
def definitions(tables: MetaData, names: tuple[str, ...]) -> list[str]:
    """What creates those tables that are missing, as text: to make it takes longer than all else at a lab's start.

    names: of the tables by now, since others may be declared later.
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
    """A database with those tables and nothing in them: to copy one is five times as quick as to create it."""
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(";".join(definitions(tables, names)))
        return made.serialize()


def expect_columns(path: Path, connection: Connection, tables: MetaData) -> None:
    """Raises SettingsError where a table that is there has other columns than it should."""
    for table in tables.sorted_tables:
        rows = connection.exec_driver_sql("SELECT name FROM pragma_table_info(?)", (table.name,))
        found, expected = {row[0] for row in rows}, {column.name for column in table.columns}
        if found and found != expected:
            wrong = [f"no column {name!r}" for name in sorted(expected - found)]
            wrong += [f"an unknown column {name!r}" for name in sorted(found - expected)]
            raise SettingsError(
                f"data: {path} is of another version of labkit: its table {table.name!r} has {' and '.join(wrong)}; "
                "expected a new file, or one that this version wrote"
            )
