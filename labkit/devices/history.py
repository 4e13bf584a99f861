"""Datapoints of an alias over time: reading a range of them, counting and deleting them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from sqlalchemy import Connection

from labkit.devices.seen import Key
from labkit.storage.database import execute

RESOURCE = "product = ? AND identity = ? AND alias = ?"
RANGE = f"FROM datapoint WHERE {RESOURCE} AND timestamp BETWEEN ? AND ?"
STORAGE = (
    "SELECT count(*), min(timestamp), max(timestamp), sum(length(CAST(value AS BLOB))) "
    f"FROM datapoint WHERE {RESOURCE}"
)
DELETE = f"DELETE FROM datapoint WHERE {RESOURCE} AND timestamp > ? AND timestamp < ?"
# A value that the cloud set, whose datapoint is gone.
DELETE_SET = f"DELETE FROM set_value WHERE {RESOURCE} AND number NOT IN (SELECT number FROM datapoint WHERE {RESOURCE})"

Selection = Literal["all", "givenwindow", "autowindow"]


class DatapointRange(NamedTuple):
    """Selection of datapoints of an alias.

    start, end: Unix seconds, both inclusive; newest_first: order; limit: most datapoints; selection: all of the range,
    or at most one from each of `limit` equal parts of it (givenwindow) or of the time between the first and the last
    datapoint in it (autowindow).
    """

    start: int
    end: int
    newest_first: bool = True
    limit: int = 1
    selection: Selection = "all"


def read_range(connection: Connection, key: Key, chosen: DatapointRange) -> list[tuple[int, str]]:
    """Return timestamp and value of the selected datapoints of an alias.

    A part of a window is represented by its newest datapoint if the newest comes first, else by its oldest.
    """
    order = "DESC" if chosen.newest_first else "ASC"
    start, end = chosen.start, chosen.end
    if start > end:
        return []
    if chosen.selection == "all":
        query = f"SELECT timestamp, value {RANGE} ORDER BY timestamp {order} LIMIT ?"
        return [(time, value) for time, value in execute(connection, query, (*key, start, end, chosen.limit))]
    if chosen.selection == "autowindow":
        query = f"SELECT min(timestamp), max(timestamp) {RANGE}"
        first, last = execute(connection, query, (*key, start, end)).fetchone()
        if first is None:
            return []
        start, end = first, last
    edge = "max" if chosen.newest_first else "min"  # SQLite takes `value` from the row of the extreme
    query = (
        f"SELECT {edge}(timestamp) AS time, value {RANGE} "
        f"GROUP BY (timestamp - ?) * ? / ? ORDER BY time {order} LIMIT ?"
    )
    parts = (start, chosen.limit, end - start + 1, chosen.limit)
    return [(time, value) for time, value in execute(connection, query, (*key, start, end, *parts))]


def read_storage(connection: Connection, key: Key) -> dict[str, int]:
    """Return what is stored of an alias.

    count: datapoints; first, last: Unix seconds, 0 without datapoints; size: bytes of all values.
    """
    count, first, last, size = execute(connection, STORAGE, key).fetchone()
    return {"count": count, "first": first or 0, "last": last or 0, "size": size or 0}


def delete_between(connection: Connection, key: Key, newer: int, older: int) -> None:
    """Delete the datapoints of an alias that are newer and older than two times, both exclusive (Unix seconds)."""
    execute(connection, DELETE, (*key, newer, older))
    execute(connection, DELETE_SET, (*key, *key))
