"""What happened in a lab."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from labkit.control.data import Data, plain
from labkit.core.journal import Record
from labkit.platform import Platform

SLICE = 2_000  # records that are copied before others on the loop have their turn


@dataclass(frozen=True, slots=True, repr=False)  # there are many: a model costs ten times as much
class Entry:
    """A record of the journal.

    time: lab time in microseconds; cause: sequence of the record that led to this one; count: the actor's own.
    """

    sequence: int
    time: int
    kind: str
    actor: str
    count: int
    summary: str
    cause: int | None
    status: int | None
    size: int | None
    detail: dict[str, Any] | None

    def __repr__(self) -> str:
        return f"<{self.kind} {self.actor}#{self.count}: {self.summary}>"


class JournalState(Data):
    """How many records there are, and how many the ring has let go."""

    records: int
    dropped: int


class JournalControl:
    """The journal of a lab."""

    def __init__(self, platform: Platform) -> None:
        self._journal = platform.context.journal

    async def state(self) -> JournalState:
        """How full it is."""
        return JournalState(records=len(self._journal), dropped=self._journal.dropped)

    async def select(self, kind: str | None = None, actor: str | None = None) -> list[Entry]:
        """The records of a kind, of an actor, or of both, oldest first."""
        return await entries(self._journal.select(kind, actor))

    async def last(self, count: int) -> list[Entry]:
        """The newest records, oldest first."""
        return await entries(list(self._journal)[-count:] if count > 0 else [])

    async def trace(self, sequence: int) -> list[Entry]:
        """A record, what led to it and what followed from any of these, oldest first.

        Empty where there is none of this number.
        """
        records = {each.sequence: each for each in self._journal}
        first = records.get(sequence)
        while first is not None and first.cause in records:
            first = records[first.cause]
        if first is None:
            return []
        chain = {first.sequence}
        for each in records.values():
            if each.cause in chain:
                chain.add(each.sequence)
        return await entries(records[each] for each in sorted(chain))

    async def canonical(self) -> str:
        """The records as text that two runs of one seeded story share byte for byte."""
        return self._journal.canonical()

    async def clear(self) -> None:
        """Forget what happened so far."""
        self._journal.clear()


async def entries(records: Iterable[Record]) -> list[Entry]:
    """Copies of records."""
    made = []
    for number, each in enumerate(records, 1):
        made.append(
            Entry(
                sequence=each.sequence,
                time=each.time,
                kind=each.kind,
                actor=each.actor,
                count=each.count,
                summary=each.summary,
                cause=each.cause,
                status=each.status,
                size=each.size,
                detail=None if each.detail is None else plain(each.detail),
            )
        )
        if number % SLICE == 0:
            await asyncio.sleep(0)
    return made
