"""Operations on the journal, the record of all requests, events, calls and runs in a lab."""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Annotated, Any

from pydantic import Field

from labkit.control.bounds import Count, Id, Line, Number
from labkit.control.clock import Moment, seconds_of
from labkit.control.data import Data, in_slices, plain
from labkit.control.following import Followed, Missed, Once
from labkit.control.json_values import JsonValue
from labkit.control.paging import EXAMINED, Cursor, Limit, ListPage, page, read_cursor
from labkit.core.canonical import canonical_number, canonical_text
from labkit.core.errors import LabError, UnknownError, unknown
from labkit.core.records import KINDS, Record
from labkit.platform import Platform

FEW = 200  # records of which the text is made at once, without a thread


@dataclass(
    frozen=True, slots=True, repr=False
)  # there are many, and a pydantic model costs ten times as much
class Entry:
    """Copy of a journal record.

    sequence: number of the record; time: lab time in microseconds; actor: solution, service or `product/identity`;
    count: number of the record among the actor's; cause: sequence number of the record that led to this one.
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
    detail: dict[str, Annotated[Any, JsonValue]] | None

    def __repr__(self) -> str:
        return f"<{self.kind} {self.actor}#{self.count}: {self.summary}>"


class EntryPage(ListPage[Entry]):
    """Page of records."""


class JournalState(Data):
    """Size of the journal. records: number kept; dropped: number of old records that were overwritten."""

    records: int
    dropped: int


class JournalControl:
    """Operations on the journal of a lab."""

    def __init__(self, platform: Platform) -> None:
        self._journal = platform.context.journal
        self._entry = Once(entry)

    async def state(self) -> JournalState:
        """Return the number of records kept and dropped."""
        return JournalState(records=len(self._journal), dropped=self._journal.dropped)

    async def select(self, kind: Id | None = None, actor: Line | None = None) -> list[Entry]:
        """Return the records with this kind and this actor, oldest first. None matches any.

        Raises UnknownError for a kind that no record has.
        """
        _expect_kind(kind)
        return await entries(self._journal.iterate(kind, actor))

    async def search(
        self,
        kind: Id | None = None,
        device: Line | None = None,
        solution: Id | None = None,
        status: Annotated[int, Field(ge=0, le=999)] | None = None,
        text: Line = "",
        since: Moment | None = None,
        until: Moment | None = None,
        before: Number | None = None,
        limit: Limit = 100,
        cursor: Cursor | None = None,
    ) -> EntryPage:
        """Return the records that match all conditions, newest first.

        device: `product/identity`, or solution: the actor; status: of the answer or the run; text: a part of the
        summary, or of a key or a value of the detail; since, until: lab time of the first and the last record, as of
        `clock.advance_to`; before: sequence number that those of all records are below. A cursor leads to earlier
        records. Raises UnknownError for a kind that no record has, LabError for a device without its product.
        """
        _expect_kind(kind)
        if device is not None and "/" not in device:
            raise LabError(f"device: expected product/identity, such as thermostat/t-001, not {device!r:.80}")
        journal = self._journal
        begin = -math.inf if since is None else seconds_of(since, "since") * 1_000_000
        end = math.inf if until is None else seconds_of(until, "until") * 1_000_000
        newest = journal.last + 1
        [below] = read_cursor(EntryPage, cursor, newest)
        numbers = range(journal.dropped + 1, min(below, newest, newest if before is None else before))
        below = journal.dropped + 1 + bisect_right(numbers, end, key=self._time)

        def made(record: Record) -> Entry | None:
            holds = (
                kind in (None, record.kind)
                and device in (None, record.actor)
                and solution in (None, record.actor)
                and status in (None, record.status)
                and (text in record.summary or _contains(record.detail, text))
            )
            return entry(record) if holds else None

        searches = text or any(each is not None for each in (kind, device, solution, status))
        most = EXAMINED if searches else limit
        found = takewhile(lambda each: each.time >= begin, journal.before(below, most + 2))
        return await page(EntryPage, found, limit, lambda each: (each.sequence,), made)

    def _time(self, sequence: int) -> int:
        record = self._journal.find(sequence)
        assert record is not None
        return record.time

    async def follow(
        self, kinds: Annotated[Sequence[Id], Field(max_length=100)] = (), actor: Line | None = None
    ) -> AsyncIterator[Entry | Missed]:
        """Return each record from now on, once it is complete. kinds: only these, any without them; actor: only its.

        A reader that is too slow gets the number of records that it missed.
        """

        def subscribe(add: Callable[[Record], object]) -> Callable[[], None]:
            def look(record: Record) -> None:
                if (not kinds or record.kind in kinds) and actor in (None, record.actor):
                    add(record)

            return self._journal.watch(look, ended=True)

        return Followed(subscribe, self._entry)

    async def last(self, count: Count) -> list[Entry]:
        """Return the newest `count` records, oldest first."""
        return await entries(self._journal.newest(count))

    async def trace(self, sequence: Number) -> list[Entry]:
        """Return a record with its chain of causes and all their consequences, oldest first.

        Empty if there is no record with this sequence number.
        """
        first = found = self._journal.find(int(sequence))
        while found is not None:
            first, found = found, None if found.cause is None else self._journal.find(found.cause)
        return [] if first is None else await entries(self._journal.effects(first.sequence))

    async def canonical(self, since: Number = 0) -> str:
        """Return the records as text; two runs of the same cells with the same seed give the same bytes.

        since: sequence number of a record; only those after it are returned.
        """
        journal, records = self._journal, list[Record]()
        later = journal.newest(len(journal) + journal.dropped - int(since)) if since > 0 else journal
        async for some in in_slices(later):
            records += some
        if len(records) <= FEW:  # it holds the loop no longer than a request does
            return canonical_text(records, self._journal.ports)
        return await asyncio.to_thread(canonical_text, records, self._journal.ports)

    async def canonical_name(self, sequence: Number) -> str | None:
        """Return the name of a record in the canonical text, `acme#12`; None if the journal does not have it.

        sequence: number of the record.
        """
        record = self._journal.find(int(sequence))
        if record is None:
            return None
        earlier, related = 0, dict[int, Record]()
        async for some in in_slices(self._journal.iterate(actor=record.actor)):
            for each in some:
                earlier += each.time < record.time
                cause: Record | None = each if each.time == record.time else None
                while cause is not None and cause.sequence not in related:
                    related[cause.sequence] = cause
                    if cause.cause is None or cause.cause in related:
                        break
                    cause = self._journal.find(cause.cause)
        number = await asyncio.to_thread(canonical_number, record, list(related.values()))
        return f"{record.actor}#{earlier + number}"

    async def clear(self) -> None:
        """Delete all records."""
        self._journal.clear()


def _expect_kind(kind: str | None) -> None:
    if kind is not None and kind not in KINDS:
        raise UnknownError(unknown("kind of record", kind, KINDS))


def _contains(value: object, text: str) -> bool:
    """Return whether a text is a part of a text, a number or a key within a detail."""
    if isinstance(value, str):
        return text in value
    if isinstance(value, Mapping):
        return any(text in str(key) or _contains(each, text) for key, each in value.items())
    if isinstance(value, list | tuple):
        return any(_contains(each, text) for each in value)
    return value is not None and text in str(value)


async def entries(records: Iterable[Record]) -> list[Entry]:
    """Return copies of journal records. Other tasks run in between, since there may be many."""
    made: list[Entry] = []
    async for some in in_slices(records):
        made += map(entry, some)
    return made


def entry(record: Record) -> Entry:
    """Return a copy of a journal record."""
    return Entry(
        sequence=record.sequence,
        time=record.time,
        kind=record.kind,
        actor=record.actor,
        count=record.count,
        summary=record.summary,
        cause=record.cause,
        status=record.status,
        size=record.size,
        detail=None if record.detail is None else plain(record.detail),
    )
