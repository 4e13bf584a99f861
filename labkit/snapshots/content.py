"""Content of a snapshot: an SQLite database with the lab's tables, and one more with the rest of its state as JSON.

A file may come from a stranger. So it is bounded before it is read, nothing in it is code, and its tables have to be
exactly those of this labkit, without triggers and views.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from labkit.core import __version__
from labkit.core.errors import LabError
from labkit.core.words import counted
from labkit.storage.schema import OF_FILES, metadata
from labkit.storage.upgrades import VERSION

APPLICATION = int.from_bytes(b"LABS")
FORMAT = 1  # of the JSON, and of what belongs to it
MOST = 4 * 1024**3  # bytes of a snapshot
SMALLEST = 512  # bytes of a database of one page
TABLE = "CREATE TABLE labkit_snapshot (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
SCHEMA = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
NAME = "labkit_snapshot"
DIGEST = slice(
    72, 92
)  # of the file's header, which SQLite does not use; zeros in snapshots before labkit 1.4


@dataclass(frozen=True)
class SnapshotParts:
    """A snapshot that is open. database: with the lab's tables alone; journal: records, None if it has none."""

    database: sqlite3.Connection
    state: dict[str, Any]
    journal: list[Any] | None


def pack(copy: sqlite3.Connection, state: dict[str, Any], journal: Iterable[Any] | None) -> bytes:
    """Return the content of a snapshot. copy: of the lab's database, which is changed. Raises LabError.

    It takes long for a large journal; each record is encoded on its own, so that other threads may run in between.
    """
    if not hasattr(copy, "serialize"):
        raise LabError("snapshot: the SQLite of this Python cannot return a database as bytes")
    for name in OF_FILES:
        copy.execute(f"DROP TABLE IF EXISTS {name}")
    for table in metadata.sorted_tables:
        if not table.info.get("snapshot", True):
            copy.execute(f"DELETE FROM {table.name}")
    copy.execute(TABLE)
    try:
        rows = [("state", json.dumps({**state, "labkit": __version__, "tables": VERSION}))]
        if journal is not None:
            rows.append(("journal", f"[{', '.join(map(json.dumps, journal))}]"))
        copy.executemany(f"INSERT INTO {NAME} VALUES (?, ?)", rows)
    except (TypeError, ValueError, sqlite3.DataError) as error:
        raise LabError(f"snapshot: the state cannot be written as JSON: {error}; try journal=False") from None
    copy.execute(f"PRAGMA application_id={APPLICATION}")
    copy.execute(f"PRAGMA user_version={FORMAT}")
    content = bytearray(copy.serialize())
    content[18:20] = (
        b"\x01\x01"  # a copy of a data file is else marked as one with a log (WAL), which has a file
    )
    content[DIGEST] = _digest(content)
    return bytes(content)


def _digest(content: bytes | bytearray) -> bytes:
    """Return the digest of everything in a snapshot but the digest itself."""
    made = blake2b(content[: DIGEST.start], digest_size=DIGEST.stop - DIGEST.start)
    made.update(memoryview(content)[DIGEST.stop :])
    return made.digest()


def seed_of(content: bytes) -> int | None:
    """Return the seed of the lab of a snapshot, None if it had none. Raises LabError for content that is no snapshot.

    The rest of the snapshot is not checked.
    """
    if not SMALLEST <= len(content) <= MOST:
        raise LabError(f"restore: expected a snapshot of labkit, not {counted(len(content), 'byte')}")
    with closing(sqlite3.connect(":memory:")) as raw:
        try:
            raw.deserialize(content)
            raw.execute("PRAGMA trusted_schema=OFF")
            [text] = raw.execute(f"SELECT value FROM {NAME} WHERE key = 'state'").fetchone()
            seed = json.loads(text)["seed"]
        except (sqlite3.Error, ValueError, TypeError, LookupError, RecursionError):
            raise LabError(
                "restore: this is no snapshot of labkit; expected one that lab.save(path) wrote"
            ) from None
    return seed if type(seed) is int else None


def unpack(content: bytes, own: Iterable[Any]) -> SnapshotParts:
    """Return the parts of a snapshot. own: rows of SCHEMA in the lab that restores it.

    Raises LabError for content that is none, of another version, damaged, or with other tables.
    """
    if not SMALLEST <= len(content) <= MOST:
        raise LabError(f"restore: expected a snapshot of labkit, not {counted(len(content), 'byte')}")
    raw = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    try:
        return _unpacked(raw, content, own)
    except LabError:
        raw.close()
        raise
    except (sqlite3.Error, ValueError, RecursionError, OverflowError) as error:
        raw.close()
        raise LabError(
            f"restore: this snapshot is damaged: {error}; expected one that labkit wrote"
        ) from None


def _unpacked(raw: sqlite3.Connection, content: bytes, own: Iterable[Any]) -> SnapshotParts:
    raw.deserialize(content)
    raw.execute("PRAGMA trusted_schema=OFF")
    application, version = (
        raw.execute(f"PRAGMA {each}").fetchone()[0] for each in ("application_id", "user_version")
    )
    if application != APPLICATION:
        raise LabError("restore: this is no snapshot of labkit; expected one that lab.save(path) wrote")
    if version != FORMAT:
        raise _other_version(version)
    size, count = (raw.execute(f"PRAGMA {each}").fetchone()[0] for each in ("page_size", "page_count"))
    if size * count != len(content):
        raise LabError(
            "restore: this snapshot is damaged: its end is missing; expected one that labkit wrote"
        )
    if any(content[DIGEST]) and content[DIGEST] != _digest(content):
        raise LabError(
            "restore: this snapshot is damaged: its bytes have changed; expected one that labkit wrote"
        )
    found = raw.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise LabError(f"restore: this snapshot is damaged: {found}; expected one that labkit wrote")
    schema = {tuple(row) for row in raw.execute(SCHEMA)}
    if ("table", NAME, TABLE) not in schema:
        raise LabError("restore: this is no snapshot of labkit: it has no state")
    rows = dict(raw.execute(f"SELECT key, value FROM {NAME}"))
    state = json.loads(rows.get("state", "null"))
    journal = None if "journal" not in rows else _items(rows["journal"])
    if not isinstance(state, dict):
        raise LabError("restore: this snapshot is damaged: its state is no JSON object")
    if state.get("tables") != VERSION:
        raise _other_version(f"{version}.{state.get('tables')}")
    if schema - {("table", NAME, TABLE)} != {tuple(row) for row in own}:
        raise LabError(
            "restore: this snapshot has other tables than a lab; expected one that this labkit wrote"
        )
    raw.execute(f"DROP TABLE {NAME}")
    return SnapshotParts(raw, state, journal)


def _items(text: object) -> list[Any]:
    """Return the items of a list in JSON, each decoded on its own, so that other threads may run in between.

    Raises ValueError for another text.
    """
    if not isinstance(text, str):
        raise ValueError("expected a list of records")
    if text == "[]":
        return []
    decode, at, found = json.JSONDecoder().raw_decode, 0, list[Any]()
    while True:
        if not text.startswith(", " if at else "[", at):
            raise ValueError(f"expected a list of records at character {at}")
        item, at = decode(text, at + (2 if at else 1))
        found.append(item)
        if text.startswith("]", at) and at == len(text) - 1:
            return found


def _other_version(version: object) -> LabError:
    return LabError(
        f"restore: this snapshot is of version {version}, and labkit {__version__} reads version {FORMAT}; "
        "expected one that this labkit wrote"
    )
