"""Connections of SQLite as a lab uses them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import sqlalchemy
from sqlalchemy import Connection
from sqlalchemy.util import LRUCache

_compiled: Any = LRUCache(
    500
)  # statements, as SQLAlchemy compiles them for SQLite; as many as one engine keeps


def copy_in_memory(raw: sqlite3.Connection) -> sqlite3.Connection:
    """Return a copy of a database, in memory."""
    copy = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    raw.backup(copy)
    copy.execute("PRAGMA foreign_keys=ON")
    return copy


def connection_in_memory(raw: sqlite3.Connection | None = None) -> Connection:
    """Return a connection to a database in memory. raw: that of the driver, by default to a new database.

    All share what SQLAlchemy knows of the driver, and the statements that it has compiled.
    """
    shared = _in_memory()
    made = raw or sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    if (prepare := shared.dialect.on_connect()) is not None:
        prepare(made)
    pool = sqlalchemy.StaticPool(lambda: made, dialect=shared.dialect)  # type: ignore[arg-type]
    engine = sqlalchemy.Engine(pool, shared.dialect, shared.url)
    return engine.connect().execution_options(compiled_cache=_compiled, driver=made)


@cache
def _in_memory() -> sqlalchemy.Engine:
    engine = one_connection("sqlite://")
    with engine.connect():  # which asks the driver
        return engine


def one_connection(url: str) -> sqlalchemy.Engine:
    """Return an engine with one connection."""
    return sqlalchemy.create_engine(
        url,
        poolclass=sqlalchemy.StaticPool,
        isolation_level="AUTOCOMMIT",  # transactions are ours: one for each turn of the loop
        connect_args={"check_same_thread": False, "timeout": 0},  # locks are never released
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
    options = connection.get_execution_options()
    raw = options.get("driver") or connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw
