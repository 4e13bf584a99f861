"""Tables of time series, and the SQL that runs with every call."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, Table, UniqueConstraint

from labkit.storage.schema import metadata, texts

# owner: the service, or "deleted …" until the points of a deleted series are gone; tags: a JSON object, sorted by name
series_table = Table(
    "series",
    metadata,
    Column("id", Integer, primary_key=True),
    *texts("owner", "solution", "name", "field", "tags"),
    UniqueConstraint("owner", "solution", "name", "field", "tags"),
)
# time: microseconds since 1970; value: a number, a text, or TRUE or FALSE. LargeBinary: SQLite converts nothing.
point_table = Table(
    "series_point",
    metadata,
    Column("series", Integer, primary_key=True),
    Column("time", BigInteger, primary_key=True),
    Column("value", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

FIND = "SELECT id FROM series WHERE owner = ? AND solution = ? AND name = ? AND field = ? AND tags = ?"
DISTINCT = "SELECT DISTINCT {column} FROM series WHERE owner = ? AND solution = ? ORDER BY {column}"
COUNT = "SELECT count(*) FROM series WHERE owner = ? AND solution = ?"
ADD = "INSERT INTO series (owner, solution, name, field, tags) VALUES (?, ?, ?, ?, ?)"
STORE = "INSERT OR REPLACE INTO series_point (series, time, value) VALUES (?, ?, ?)"
NEWEST = "SELECT time, value FROM series_point WHERE series = ? AND time BETWEEN ? AND ? ORDER BY time DESC LIMIT ?"
OLDEST = NEWEST.replace("DESC", "ASC")
HIDE = "UPDATE series SET owner = 'deleted ' || id WHERE id = ?"
HIDDEN = "SELECT id FROM series WHERE owner LIKE 'deleted %' ORDER BY id"
DELETE_PAGE = (
    "DELETE FROM series_point WHERE series = ? AND time <= coalesce("
    "(SELECT time FROM series_point WHERE series = ? ORDER BY time LIMIT 1 OFFSET ?), 9223372036854775807)"
)
DELETE_SERIES = "DELETE FROM series WHERE id = ?"
