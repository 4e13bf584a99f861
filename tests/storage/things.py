"""Tables for tests of the database, and statements on them."""

from __future__ import annotations

from sqlalchemy import Column, Connection, ForeignKey, Integer, MetaData, String, Table, create_engine

from labkit.storage.connections import driver
from labkit.storage.upgrades import STEPS

tables = MetaData()
Table("key", tables, Column("owner", String), Column("secret", String, info={"secret": True}))
thing = Table("thing", tables, Column("name", String, primary_key=True), Column("size", Integer))
Table(
    "part",
    tables,
    # Checked when the transaction commits, so that a COMMIT can fail.
    Column("of", String, ForeignKey("thing.name", deferrable=True, initially="DEFERRED")),
)

_engine = create_engine("sqlite://")
with _engine.connect() as _connection:
    for _step in STEPS[1:]:  # the first one needs a table of earlier files
        _step(driver(_connection))
    tables.reflect(_connection)  # the tables that upgrades create
_engine.dispose()


def put(connection: Connection, name: str, size: int = 0) -> str:
    connection.exec_driver_sql("INSERT INTO thing VALUES (?, ?)", (name, size))
    return name


def names(connection: Connection) -> list[str]:
    return [row[0] for row in connection.exec_driver_sql("SELECT name FROM thing ORDER BY name")]


def orphan(connection: Connection) -> str:
    connection.exec_driver_sql("INSERT INTO part VALUES ('nothing')")
    return "orphan"


def setting(connection: Connection, name: str) -> object:
    return connection.exec_driver_sql(f"PRAGMA {name}").scalar()
