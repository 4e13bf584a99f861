"""Connections of SQLite as a lab uses them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence

import sqlalchemy
from sqlalchemy import Connection


def copy_in_memory(raw: sqlite3.Connection) -> sqlite3.Connection:
    """Return a copy of a database, in memory."""
    copy = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    raw.backup(copy)
    copy.execute("PRAGMA foreign_keys=ON")
    return copy


def one_connection(url: str, creator: Callable[[], sqlite3.Connection] | None = None) -> sqlalchemy.Engine:
    """Return an engine with one connection. creator: returns that connection, instead of a new one of the URL."""
    return sqlalchemy.create_engine(
        url,
        poolclass=sqlalchemy.StaticPool,
        isolation_level="AUTOCOMMIT",  # transactions are ours: one for each turn of the loop
        connect_args={"check_same_thread": False, "timeout": 0},  # locks are never released
        **({} if creator is None else {"creator": creator}),
    )


def execute(connection: Connection, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
    """Run handwritten SQL on the driver's connection, for statements that run with every request.

    For such a statement SQLAlchemy's own objects cost several times what SQLite does. values: for its `?`, in
    order.
    """
    return driver(connection).execute(statement, values)


def execute_many(connection: Connection, statement: str, rows: Iterable[Sequence[object]]) -> None:
    """Run handwritten SQL once for each row."""
    driver(connection).executemany(statement, rows)


def driver(connection: Connection) -> sqlite3.Connection:
    """Return the driver's own connection below `connection`."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw
