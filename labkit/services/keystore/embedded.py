"""Embedded store: Redis within the process, on lab time, durable through the lab's database."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from labkit.core.errors import StorageError
from labkit.core.identifiers import Identifiers
from labkit.labtime.clock import Clock
from labkit.services.keystore.commands import SLICE, WRITE_COMMANDS, Command, Reply
from labkit.services.keystore.contents import read_command, write_command
from labkit.services.keystore.log import CommandLog
from labkit.services.keystore.rewrites import REWRITES
from labkit.services.keystore.scans import page

if TYPE_CHECKING:
    from labkit.services.keystore.fakeredis_socket import Socket


class Embedded:
    """Redis within the process. Without a data file commands complete at once, with one when it is committed.

    now: lab time of the running command, in milliseconds; log: None without a data file; cursors: last name of a page
    of a scan, by what is scanned and the cursor of the next page. loaded: called once fakeredis is imported.
    """

    def __init__(
        self,
        clock: Clock,
        identifiers: Identifiers,
        log: CommandLog | None,
        loaded: Callable[[], object] = lambda: None,
    ) -> None:
        self._clock = clock
        self._identifiers = identifiers
        self._log = log
        self._loaded = loaded
        self._rollbacks = 0  # how often the contents were restored from the log
        self.now = 0
        self.cursors: OrderedDict[tuple[bytes, int], bytes] = OrderedDict()

    @cached_property
    def _socket(self) -> Socket:
        # With the first command: fakeredis takes an eighth of the time to the first write of a new process.
        from labkit.services.keystore.fakeredis_socket import Socket

        self._loaded()
        return Socket(self)

    def members(self, key: bytes) -> Sequence[bytes]:
        """Return the members of a set, the fields of a hash or the members of a sorted set, sorted by their bytes."""
        return self._socket.members(key)

    def scores(self, key: bytes) -> Any:
        """Return the pairs of score and member of a sorted set, in their order."""
        return self._socket.scores(key)

    @property
    def is_used(self) -> bool:
        """Whether a command was run, so that there may be contents."""
        return "_socket" in vars(self)

    async def start(self) -> None:
        """Restore the contents: run every logged command again, at its own time."""
        if self._log is not None:
            self._replay(await self._log.entries())
            self._log.watch(self._roll_back)

    def _roll_back(self) -> None:
        """Restore the contents from the log, after commands of this iteration of the event loop were rolled back."""
        assert self._log is not None
        self._rollbacks += 1
        self.run(b"FLUSHALL")
        self._replay(self._log.stored())

    def _replay(self, entries: Sequence[tuple[int, Command]]) -> None:
        for time, command in entries:
            self.now = time
            self.run(*command)

    def snapshot(self) -> list[tuple[bytes, ...]]:
        """Return the commands that restore the contents at the present lab time."""
        self._moment()
        return list(self._dump()) if self.is_used else []

    def restore(self, commands: Sequence[Command]) -> None:
        """Replace the contents by what these commands make, at the present lab time. For a store without a log."""
        self._moment()
        self.run(b"FLUSHALL")
        for command in commands:
            self.run(*command)

    async def stop(self) -> None:
        """Compact the log: replace it by the commands that restore the current contents."""
        if self._log is not None and self._log.changed:
            await self._compact(self._log)

    async def execute(self, command: Command) -> Reply:
        """Run a command, with a data file until it is committed.

        Raises ServiceError 400 with Redis' own error text if it is refused, StorageError if the data file is full; in
        both cases nothing is changed.
        """
        changes = command[0] in WRITE_COMMANDS
        if changes and self._log is not None:
            await self._log.probe()
        reply, effects = self.answer(command)
        if self._log is not None:
            if not changes:
                await self._committed()
            elif effects:
                rollbacks = self._rollbacks
                try:
                    await self._log.append(self.now, effects)
                except StorageError:
                    if self._rollbacks == rollbacks:  # append failed before a rollback restored the contents
                        self._roll_back()
                    raise
                if self._log.overgrown:
                    await self._compact(self._log)
        return reply

    async def _committed(self) -> None:
        """Wait until what was read is committed."""
        if self._log is not None:
            await self._log.committed()

    def is_long(self, namespace: bytes) -> bool:
        """Return whether a walk over a solution's keys needs several turns of the event loop."""
        self._moment()
        return self._socket.due > SLICE or len(self._socket.solution_keys(namespace).names) > SLICE

    async def usage(self, namespace: bytes) -> tuple[int, int]:
        """Return number and bytes of a solution's keys."""
        await self._sweep()
        while self._socket.settle(keys := self._socket.solution_keys(namespace)):  # noqa: ASYNC110  a part each
            await asyncio.sleep(0)
        found = len(keys.names), keys.size
        await self._committed()
        return found

    async def count(self, namespace: bytes) -> int:
        """Return the number of a solution's keys."""
        await self._sweep()
        number = len(self._socket.solution_keys(namespace).names)
        await self._committed()
        return number

    async def scan(self, namespace: bytes, cursor: int, count: int) -> tuple[int, Sequence[bytes]]:
        """Return the next cursor, 0 at the end, and at most so many of a solution's keys."""
        await self._sweep()
        found = page(self, namespace, self._socket.solution_keys(namespace).names, cursor, count)
        await self._committed()
        return found

    async def _sweep(self) -> None:
        """Remove expired keys."""
        self._moment()
        while self._socket.sweep():  # noqa: ASYNC110  a part each
            await asyncio.sleep(0)

    def answer(self, command: Command) -> tuple[Reply, tuple[Command, ...]]:
        """Run a command at the current lab time, without storing it.

        Returns the reply, and the commands that have its effects. Raises ServiceError 400 as `execute` does.
        """
        self.now = round(self._clock.now() * 1e6) // 1000  # the same as `_moment`, in line for speed
        if command[0] in REWRITES:
            return REWRITES[command[0]](self, command)
        return self._socket.answer(command), (command,)

    def run(self, *command: bytes) -> Reply:
        """Run a command unchanged, at the time of the last `execute`."""
        return self._socket.answer(command)

    def draw(self, key: bytes, count: int) -> list[int]:
        """Return `count` random numbers of 64 bits from the key's own stream, which the lab's seed repeats."""
        digits = self._identifiers.hex(f"keystore {key.decode('utf-8', 'replace')}", 16 * count)
        return [int(digits[start : start + 16], 16) for start in range(0, len(digits), 16)]

    def _moment(self) -> int:
        """Update `now` and return it."""
        self.now = round(self._clock.now() * 1e6) // 1000  # Redis' clock ticks in milliseconds
        return self.now

    async def _compact(self, log: CommandLog) -> None:
        with suppress(StorageError):  # a full data file keeps the longer log
            await log.replace(self._moment(), list(self._dump()))

    def _dump(self) -> Iterator[Command]:
        """Return the commands that restore the contents."""
        for key in _bytes(self.run(b"KEYS", b"*")):
            kind = self.run(b"TYPE", key)
            assert isinstance(kind, bytes)
            yield write_command(kind, key, self.run(*read_command(kind, key)))
            left = self.run(b"PTTL", key)
            if isinstance(left, int) and left >= 0:
                yield b"PEXPIREAT", key, str(self.now + left).encode()


def _bytes(reply: Reply) -> list[bytes]:
    return [item for item in reply if isinstance(item, bytes)] if isinstance(reply, list) else []
