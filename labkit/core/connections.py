"""Connections of SQLite as a lab uses them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import sqlalchemy


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
