"""Creation of tables, also of tables declared after the first lab has started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import Boolean, Column, Connection, ForeignKey, Index, Integer, MetaData, String, Table

from labkit.storage.database import Database

Described = dict[str, list[tuple[Any, ...]]]


def described(connection: Connection) -> Described:
    """Return SQLite's description of all tables and indexes, without the one that each data file has."""
    listed = connection.exec_driver_sql(
        "SELECT type, name, tbl_name FROM sqlite_master WHERE name != 'lab_state' ORDER BY 1, 2"
    )
    found: Described = {"": [tuple(row) for row in listed]}
    for kind, name, _ in found[""]:
        pragmas = ("table_xinfo", "foreign_key_list", "index_list") if kind == "table" else ("index_xinfo",)
        for pragma in pragmas:
            rows = connection.exec_driver_sql(f"PRAGMA {pragma}('{name}')")
            # an index's number follows the order of a set, which is not fixed
            found[f"{pragma} {name}"] = sorted(tuple(row)[pragma == "index_list" :] for row in rows)
    return found


def made_by_sqlalchemy(tables: MetaData) -> Described:
    engine = sqlalchemy.create_engine("sqlite://")
    tables.create_all(engine)
    with engine.connect() as connection:
        found = described(connection)
    engine.dispose()
    return found


@pytest.mark.parametrize("file", [None, "lab.db"])
async def test_tables_equal_their_declarations(tmp_path: Path, file: str | None) -> None:
    tables = MetaData()
    thing = Table(
        "thing",
        tables,
        Column("name", String, primary_key=True),
        Column("size", Integer, nullable=False, index=True),
        Column("other", Integer, server_default="7", unique=True),
    )
    Index("by_two", thing.c.size, thing.c.other, unique=True)
    for later in (False, True):
        if later:  # the file has the first table already
            Table("part", tables, Column("of", ForeignKey("thing.name"), index=True), Column("on", Boolean))
        database = Database(None if file is None else tmp_path / file)
        database.start(tables)
        try:
            found = await database.read(described)
        finally:
            database.close()
        assert found == made_by_sqlalchemy(tables)
