"""Tables of time series, and the SQL that runs with every call."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, Table, UniqueConstraint

from labkit.storage.schema import metadata, numbers, texts

# owner: the service, or "deleted …" until the points of a deleted series are gone; tags: a JSON object, sorted by name
series_table = Table(
    "series",
    metadata,
    Column("id", Integer, primary_key=True),
    *texts("owner", "solution", "name", "field", "tags"),
    UniqueConstraint("owner", "solution", "name", "field", "tags"),
)
# time: microseconds since 1970; value: a number, a text, or TRUE or FALSE. LargeBinary: SQLite converts nothing.
# family: checksum of owner, solution, name and field, so that an index has the points of all their series by time.
point_table = Table(
    "series_point",
    metadata,
    Column("series", Integer, primary_key=True),
    Column("time", BigInteger, primary_key=True),
    Column("value", LargeBinary, nullable=False),
    *numbers("family"),
    Index("series_point_by_time", "family", "time"),
    sqlite_with_rowid=False,
)
# Tags of the series that are not deleted, and their numbers: what needs them reads no other series.
tag_table = Table(
    "series_tag",
    metadata,
    *texts("owner", "solution", "name", "value", key=True),
    Column("series", Integer, primary_key=True),
    sqlite_with_rowid=False,
)
count_table = Table(
    "series_count",
    metadata,
    *texts("owner", "solution", key=True),
    *numbers("count"),
    sqlite_with_rowid=False,
)

FIND = "SELECT id FROM series WHERE owner = ? AND solution = ? AND name = ? AND field = ? AND tags = ?"
HAS_FIELD = "SELECT 1 FROM series WHERE owner = ? AND solution = ? AND name = ? AND field = ? LIMIT 1"
AFTER = (
    "SELECT id, name, field, tags FROM series WHERE owner = ? AND solution = ? AND (name, field, tags) > (?, ?, ?) "
    "ORDER BY name, field, tags LIMIT ?"
)
FEW = 100  # rows that a step of DISTINCT reads, of which one at least is new
DISTINCT = (
    "SELECT {columns} FROM {table} WHERE owner = ? AND solution = ? AND ({columns}) > ({marks}) "
    f"ORDER BY {{columns}} LIMIT {FEW}"
)
COUNT = "SELECT count FROM series_count WHERE owner = ? AND solution = ?"
SET_COUNT = "INSERT OR REPLACE INTO series_count (owner, solution, count) VALUES (?, ?, ?)"
TAG = "INSERT INTO series_tag (owner, solution, name, value, series) VALUES (?, ?, ?, ?, ?)"
UNTAG = "DELETE FROM series_tag WHERE owner = ? AND solution = ? AND name = ? AND value = ? AND series = ?"
TAGGED = "SELECT series FROM series_tag WHERE owner = ? AND solution = ? AND name = ? AND value IN ({marks}) LIMIT ?"
ADD = "INSERT INTO series (owner, solution, name, field, tags) VALUES (?, ?, ?, ?, ?)"
STORE = "INSERT OR REPLACE INTO series_point (series, time, value, family) VALUES (?, ?, ?, ?)"
NEWEST = "SELECT time, value FROM series_point WHERE series = ? AND time BETWEEN ? AND ? ORDER BY time DESC LIMIT ?"
OLDEST = NEWEST.replace("DESC", "ASC")
# The newest points of several series: those from the time of the last one wanted on, if there are as many.
NEWEST_OF_EACH = (
    "SELECT each.value, point.time, point.value FROM json_each(?1) AS each CROSS JOIN series_point AS point "
    "ON point.series = each.value AND point.time BETWEEN coalesce((SELECT time FROM series_point "
    "WHERE series = each.value AND time BETWEEN ?2 AND ?3 ORDER BY time DESC LIMIT 1 OFFSET ?4), ?2) AND ?3 "
    "ORDER BY each.key, point.time DESC"
)
OLDEST_OF_EACH = (
    "SELECT each.value, point.time, point.value FROM json_each(?1) AS each CROSS JOIN series_point AS point "
    "ON point.series = each.value AND point.time BETWEEN ?2 AND coalesce((SELECT time FROM series_point "
    "WHERE series = each.value AND time BETWEEN ?2 AND ?3 ORDER BY time LIMIT 1 OFFSET ?4), ?3) "
    "ORDER BY each.key, point.time"
)
# The time of the last point wanted of a family, and all points up to it. Several families may have one checksum.
NEWEST_TIME = (
    "SELECT time FROM series_point WHERE family = ? AND time BETWEEN ? AND ? "
    "ORDER BY time DESC LIMIT 1 OFFSET ?"
)
OLDEST_TIME = NEWEST_TIME.replace("DESC", "ASC")
OF_ALL = (
    "SELECT time, value, tags, id FROM series_point CROSS JOIN series ON id = series WHERE family = ? "
    "AND (time, series) > (?, ?) AND time <= ? AND (owner, solution, name, field) = (?, ?, ?, ?) "
    "ORDER BY time, series LIMIT ?"
)
HIDE = "UPDATE series SET owner = 'deleted ' || id WHERE id = ?"
HIDE_ALL = [
    f"{change} WHERE owner = ? AND solution = ?"
    for change in (
        "UPDATE series SET owner = 'deleted ' || id",
        "DELETE FROM series_tag",
        "DELETE FROM series_count",
    )
]
HIDDEN = "SELECT id FROM series WHERE owner > 'deleted ' AND owner < 'deleted!' ORDER BY id"
DELETE_PAGE = (
    "DELETE FROM series_point WHERE series = ? AND time <= coalesce("
    "(SELECT time FROM series_point WHERE series = ? ORDER BY time LIMIT 1 OFFSET ?), 9223372036854775807)"
)
DELETE_BEFORE = (  # a page of points before a time
    "DELETE FROM series_point WHERE series = ?1 AND time < ?2 AND time <= coalesce("
    "(SELECT time FROM series_point WHERE series = ?1 AND time < ?2 ORDER BY time LIMIT 1 OFFSET ?3), ?2)"
)
DELETE_SERIES = "DELETE FROM series WHERE id = ?"
