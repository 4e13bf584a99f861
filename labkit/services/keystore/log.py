"""Log that makes the embedded store durable: the commands that changed its contents, in order."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TypeAlias

from sqlalchemy import BigInteger, Column, Connection, Integer, Table, Text, delete, select

from labkit.core.errors import StorageError
from labkit.services.keystore.commands import Command
from labkit.storage.database import Database, execute_many
from labkit.storage.schema import metadata

Rows: TypeAlias = list[tuple[int, str]]

keystore_log = Table(
    "keystore_log",
    metadata,
    Column("sequence", Integer, primary_key=True),
    Column("time", BigInteger, nullable=False),  # lab time in milliseconds
    # A JSON list of texts, or a list of such lists; bytes that are not UTF-8 are lone surrogates.
    Column("command", Text, nullable=False, info={"secret": True}),
    # the Keystore deletes its own rows, since it counts them, and its state has the contents
    info={"reset": False, "snapshot": False},
)
# Plain SQL takes a third of the time of an insert by SQLAlchemy Core.
_INSERT = "INSERT INTO keystore_log (time, command) VALUES (?, ?)"
_GROWTH = 20_000  # entries by which the log may always grow before it is compacted


class CommandLog:
    """Log of commands in the lab's database. Every write returns after its commit.

    An entry has all that one call of a script has changed, on one key or on several.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._length = 0
        self._compact_length = 0  # length of the log after the last compaction
        self._pending = 0

    def watch(self, lost: Callable[[], object]) -> None:
        """Call `lost` when added commands are rolled back, before their callers continue."""
        self._database.watch(lost=lost)

    async def probe(self) -> None:
        """Raise StorageError if a command could not be added now."""
        await self._database.probe()

    @property
    def changed(self) -> bool:
        """Whether compacting may shorten the log; True after it is read, since a crash may have left it long."""
        return self._length > self._compact_length

    @property
    def overgrown(self) -> bool:
        """Whether the log has grown enough since the last compaction to be compacted again."""
        return self._length > 5 * self._compact_length + _GROWTH

    async def entries(self) -> list[tuple[int, Command]]:
        """Return the commands of all entries with their lab times in milliseconds, oldest first."""
        return self._decoded(await self._database.run(_read))

    def _decoded(self, rows: Rows) -> list[tuple[int, Command]]:
        self._length = len(rows)
        return [(time, command) for time, entry in rows for command in _commands(entry)]

    def stored(self) -> list[tuple[int, Command]]:
        """Return the entries at once, uncommitted ones included."""
        return self._decoded(self._database.read_now(_read))

    async def append(self, time: int, commands: Sequence[Command]) -> None:
        """Add an entry: the commands that one call ran at `time` (lab time in milliseconds)."""
        self._length += 1
        await self._write(_add, [(time, _entry(commands))])

    async def replace(self, time: int, commands: Sequence[Command]) -> None:
        """Replace the whole log by these commands, each an entry."""
        before, self._compact_length = self._compact_length, len(commands)
        self._length = len(commands)
        try:
            await self._write(_replace, [(time, _entry([each])) for each in commands])
        except StorageError:
            self._compact_length = before
            raise

    async def committed(self) -> None:
        """Wait until all added commands are committed, since no caller may read a value that could still be lost."""
        if self._pending:
            await self._database.run(lambda connection: None)

    async def _write(self, write: Callable[[Connection, Rows], None], rows: Rows) -> None:
        self._pending += 1
        try:
            await self._database.run(write, rows)
        finally:
            self._pending -= 1


def _read(connection: Connection) -> Rows:
    query = select(keystore_log.c.time, keystore_log.c.command).order_by(keystore_log.c.sequence)
    return [(time, command) for time, command in connection.execute(query)]


def _add(connection: Connection, rows: Rows) -> None:
    execute_many(connection, _INSERT, rows)


def _replace(connection: Connection, rows: Rows) -> None:
    connection.execute(delete(keystore_log))
    if rows:
        _add(connection, rows)


def _entry(commands: Sequence[Command]) -> str:
    """Return commands as the text of one entry; a single command needs no list around it."""
    found = [[as_text(item) for item in command] for command in commands]
    return json.dumps(found[0] if len(found) == 1 else found)


def _commands(entry: str) -> list[Command]:
    """Return the commands of an entry."""
    found = json.loads(entry)
    several = found if isinstance(found[0], list) else [found]
    return [tuple(_bytes(item) for item in command) for command in several]


def as_text(item: bytes) -> str:
    """Return bytes as text for JSON; bytes that are not UTF-8 become lone surrogates."""
    return item.decode("utf-8", "surrogateescape")


def _bytes(item: str) -> bytes:
    return item.encode("utf-8", "surrogateescape")
