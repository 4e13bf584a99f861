"""The journal: one record for each request, refusal, event, script run and service call of a lab.

Records are stored unformatted and formatted when read; but large values are truncated at once, and the omitted
part is counted. The journal is a ring: when it is full the oldest record is dropped, and `dropped` counts it.
So it has a bound in bytes.

An entry of the ring is a record, or a batch that represents several: the events of a write, which are often
never read. A batch counts as its records everywhere; they are made when somebody reads them.
"""

from __future__ import annotations

import traceback
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from pathlib import PurePath

from labkit.core.canonical import canonical_text
from labkit.core.marks import Marks
from labkit.core.records import FIELD, Detail, Entry, Record, RecordBatch

DEEPEST = 20  # frames


def trace_of(error: BaseException) -> list[str]:
    """Return the frames of an error's traceback without folders; the innermost one is last."""
    frames = traceback.extract_tb(error.__traceback__)[-DEEPEST:]
    return [f"{PurePath(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in frames]


CAPACITY = 200_000
PER_RUN = 10_000


class RunRecords:
    """Counts of a running handler: records that it caused, and records left out. sequence: of its own record."""

    __slots__ = ("left_out", "records", "sequence")

    def __init__(self, sequence: int) -> None:
        self.sequence = sequence
        self.records = 0
        self.left_out = 0


class Journal:
    """The records of a lab, in order."""

    def __init__(
        self, micros: Callable[[], int], capacity: int = CAPACITY, field: int = FIELD, per_run: int = PER_RUN
    ) -> None:
        """Make an empty journal.

        capacity: records; field: characters of a summary or of a text in a detail; per_run: records that one
        run of a handler may cause while it is running.
        """
        self._per_run = per_run
        self._runs: dict[int, RunRecords] = {}  # under way, by the sequence numbers of their records
        self._micros = micros
        self.time = 0  # lab time of the last `record` in microseconds
        self._field = field
        self._capacity = capacity
        # With consecutive sequence numbers. The first ones may have left the ring: batches count as several.
        self._entries: deque[Record | RecordBatch] = deque(maxlen=capacity)
        self._sequence = 0
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._absent = 0  # number of the first records that another lab had, of which this one continues
        self._watchers: tuple[Callable[[Record], object], ...] = ()
        self._kind_watchers: dict[str, tuple[Callable[[Record], object], ...]] = {}
        self._end_watchers: tuple[Callable[[Record], object], ...] = ()
        self._clear_watchers: tuple[Callable[[], object], ...] = ()
        self.marks = Marks(lambda: micros() / 1_000_000)  # for charts, and no records
        self.ports: tuple[int, ...] = ()  # of the lab, which the canonical form leaves out of URLs

    def record(
        self,
        kind: str,
        actor: str,
        summary: str,
        *,
        cause: int | None = None,
        status: int | None = None,
        size: int | None = None,
        detail: Detail | Callable[[], Detail] | None = None,
        holds: int | None = None,
    ) -> int:
        """Add a record and return its sequence number, for use as the cause of others."""
        if cause is not None:
            if cause in self._runs:  # as in `_leaves_out`, in line for speed: a handler makes many
                run = self._runs[cause]
                if run.records >= self._per_run:
                    run.left_out += 1
                    return cause
                run.records += 1
            elif cause > self._sequence:  # as in `open`
                cause = None
        sequence = self._sequence = self._sequence + 1
        count = self._counts[actor] = self._counts[actor] + 1
        time, field = self._micros(), self._field
        self.time = time
        entry = Record(sequence, time, kind, actor, count, summary, cause, status, size, detail, field, holds)
        self._entries.append(entry)
        if self._watchers or self._end_watchers or kind in self._kind_watchers:
            self._notify(entry)
            self.end(entry)
        return sequence

    def record_all(
        self,
        kind: str,
        actor: str,
        entries: Sequence[tuple[str, Detail | Callable[[], Detail], int | None]],
        cause: int | None,
    ) -> Sequence[int]:
        """Add several records with one cause and time, and return their sequence numbers.

        entries: summary, detail and `holds` of each, as in `record`, which costs more for each of them.
        """
        if self._watchers or self._end_watchers or kind in self._kind_watchers:
            return [
                self.record(kind, actor, summary, cause=cause, detail=detail, holds=holds)
                for summary, detail, holds in entries
            ]
        if cause is not None and cause in self._runs and self._leaves_out(cause, len(entries)):
            return [cause] * len(entries)
        first = self._sequence + 1
        sequence, count = self._sequence, self._counts[actor]
        time, field = self._micros(), self._field
        for summary, detail, holds in entries:
            sequence += 1
            count += 1
            led = cause if cause is not None and cause < sequence else None
            self._entries.append(
                Record(sequence, time, kind, actor, count, summary, led, None, None, detail, field, holds)
            )
        self._sequence, self._counts[actor] = sequence, count
        return range(first, first + len(entries))

    def record_batch(
        self,
        kind: str,
        actor: str,
        count: int,
        describe: Callable[[], Sequence[Entry]],
        holds: int,
        cause: int | None,
    ) -> None:
        """Add several records with one cause and time, which are made when they are read.

        count: of the records; describe: returns their entries, as of `record_all`; holds: maximum number of
        characters that it keeps in memory. Where the records are watched, or that is too much, they are made at
        once.
        """
        if holds > self._field or self._watchers or self._end_watchers or kind in self._kind_watchers:
            self.record_all(kind, actor, describe(), cause)
            return
        if cause is not None and cause in self._runs and self._leaves_out(cause, count):
            return
        sequence = self._sequence = self._sequence + count
        total = self._counts[actor] = self._counts[actor] + count
        time, field = self._micros(), self._field
        self._entries.append(RecordBatch(sequence, time, kind, actor, total, cause, describe, field))
        if sequence > self._capacity:
            self._free_dropped()

    def open(
        self,
        kind: str,
        actor: str,
        summary: str,
        cause: int | None = None,
        status: int | None = None,
        size: int | None = None,
        detail: Detail | Callable[[], Detail] | None = None,
        holds: int | None = None,
    ) -> Record:
        """Add a record of something that begins; `end` it once its status, size and detail are set."""
        if cause is not None and cause in self._runs and self._leaves_out(cause):  # it is not stored
            return Record(
                cause, self._micros(), kind, actor, 0, summary, cause, status, size, None, self._field
            )
        sequence = self._sequence = self._sequence + 1
        if cause is not None and cause >= sequence:  # a client's claim, or from before a clear: no cycles
            cause = None
        count = self._counts[actor] = self._counts[actor] + 1
        time, field = self._micros(), self._field
        entry = Record(sequence, time, kind, actor, count, summary, cause, status, size, detail, field, holds)
        self._entries.append(entry)
        if self._watchers or kind in self._kind_watchers:
            self._notify(entry)
        return entry

    def _notify(self, entry: Record) -> None:
        for watcher in self._watchers:
            watcher(entry)
        for watcher in self._kind_watchers.get(entry.kind, ()):
            watcher(entry)

    def end(self, entry: Record) -> None:
        """Notify watchers that an open record is complete."""
        for watcher in self._end_watchers:
            watcher(entry)

    def begin_run(self, entry: Record, cause: int | None) -> RunRecords:
        """Count the records that a handler's record causes from now on, until `end_run`. cause: of the run.

        The run of a handler that another handler calls counts as part of the caller's run.
        """
        outer = None if cause is None else self._runs.get(cause)
        # Records of a run beyond `per_run` are left out, and get no number among those of their actor.
        if outer is not None and not entry.count:  # its record is not stored
            return outer
        self._runs[entry.sequence] = run = outer or RunRecords(entry.sequence)
        return run

    def end_run(self, entry: Record, run: RunRecords) -> None:
        """End the count; record how many records were left out, if any were."""
        if not entry.count or self._runs.get(entry.sequence) is not run:
            return
        del self._runs[entry.sequence]
        if run.left_out and run.sequence == entry.sequence:
            text = f"{run.left_out} records of this run were left out (journal.per_run: {self._per_run})"
            detail = {"left_out": run.left_out}
            self.record("warning", entry.actor, text, cause=entry.sequence, detail=detail)

    def _leaves_out(self, cause: int, count: int = 1) -> bool:
        """Return whether a record exceeds the limit of the run that causes it, and count it."""
        run = self._runs[cause]
        if run.records + count <= self._per_run:
            run.records += count
            return False
        run.left_out += count
        return True

    def record_refusal(self, reason: str, detail: str, peer: str = "") -> None:
        """Add a record of a connection that was ended without an answer, or answered by the edge alone.

        peer: address and port of the client.
        """
        found = {"reason": detail, "peer": peer} if peer else {"reason": detail}
        self.record("refused", "edge", reason, detail=found)

    def record_error(self, error: BaseException) -> None:
        """Add a record of an unhandled exception."""
        text = f"{type(error).__name__}: {error}"
        detail = {"error": repr(error), "trace": trace_of(error)}
        self.record("error", "platform", text, status=500, detail=detail)

    def _free_dropped(self) -> None:
        """Free the entries of which no record is left in the ring."""
        # After batches, as `dropped` moves with the ring: an entry has at least one record there until then.
        entries, dropped = self._entries, self.dropped
        while entries and entries[0].sequence <= dropped:
            entries.popleft()

    @property
    def dropped(self) -> int:
        """Number of records that the ring has dropped."""
        return max(self._sequence - self._capacity, self._absent)

    def __len__(self) -> int:
        return self._sequence - self.dropped

    def __iter__(self) -> Iterator[Record]:
        return self.iterate()

    def watch(self, watcher: Callable[[Record], object], *, ended: bool = False) -> Callable[[], None]:
        """Call `watcher` with each new record, until the returned function is called.

        ended: only once the record is complete.
        """
        if ended:
            self._end_watchers += (watcher,)
        else:
            self._watchers += (watcher,)

        def stop() -> None:
            self._watchers = tuple(each for each in self._watchers if each is not watcher)
            self._end_watchers = tuple(each for each in self._end_watchers if each is not watcher)

        return stop

    def watch_kind(self, kind: str, watcher: Callable[[Record], object]) -> Callable[[], None]:
        """Watch the records of one kind, as `watch` does; other records cost nothing."""
        self._kind_watchers[kind] = (*self._kind_watchers.get(kind, ()), watcher)

        def stop() -> None:
            left = tuple(each for each in self._kind_watchers.get(kind, ()) if each is not watcher)
            if left:
                self._kind_watchers[kind] = left
            else:
                self._kind_watchers.pop(kind, None)

        return stop

    def watch_clear(self, watcher: Callable[[], object]) -> Callable[[], None]:
        """Call `watcher` whenever the journal is cleared, until the returned function is called."""
        self._clear_watchers += (watcher,)

        def stop() -> None:
            self._clear_watchers = tuple(each for each in self._clear_watchers if each is not watcher)

        return stop

    @property
    def last(self) -> int:
        """Sequence number of the newest record, 0 if there was none yet."""
        return self._sequence

    def find(self, sequence: int) -> Record | None:
        """Return the record with this number, or None where the ring has dropped it."""
        back = self._sequence - sequence + 1  # recent ones are asked for most, and near the end
        if sequence <= self._absent or not 0 < back <= self._capacity:
            return None
        first = len(self._entries) - back  # where it is unless a later entry is a batch
        entry = self._entries[first if first > 0 else 0]
        if entry.sequence < sequence:
            first = bisect_left(self._entries, sequence, max(first, 0), key=attrgetter("sequence"))
            entry = self._entries[first]
        return entry if isinstance(entry, Record) else entry.records()[sequence - entry.sequence - 1]

    def select(self, kind: str | None = None, actor: str | None = None) -> list[Record]:
        """Return the records of a kind, of an actor, or of both, oldest first."""
        return list(self.iterate(kind, actor))

    def iterate(self, kind: str | None = None, actor: str | None = None) -> Iterator[Record]:
        """Iterate over the records that `select` returns at this moment; batches are made on the way."""
        return _matching(tuple(self._entries), self.dropped, kind, actor)

    def effects(self, sequence: int) -> Iterator[Record]:
        """Iterate over a record and all that followed from it, oldest first. Empty if the journal does not have it."""
        entries, chain = tuple(self._entries), {sequence}
        start = bisect_left(entries, sequence, key=attrgetter("sequence"))
        if self.find(sequence) is None:
            return
        for number in range(start, len(entries)):
            entry = entries[number]
            if number > start and entry.cause not in chain:
                continue
            for each in (entry,) if isinstance(entry, Record) else entry.records():
                if each.sequence == sequence or each.cause in chain:
                    chain.add(each.sequence)
                    yield each

    def newest(self, count: int) -> list[Record]:
        """Return at most `count` records, the newest ones, oldest first."""
        found: list[Record] = []
        for entry in reversed(self._entries):
            if len(found) >= count:
                break
            found += [entry] if isinstance(entry, Record) else reversed(entry.records())
        return found[: max(min(count, len(self)), 0)][::-1]

    def before(self, sequence: int, most: int) -> Iterator[Record]:
        """Iterate over the records with lower numbers in at most `most` entries, newest first.

        sequence: number of a record, also one that the journal does not have.
        """
        entries, dropped = self._entries, self.dropped
        later = max(len(entries) - bisect_left(entries, sequence, key=attrgetter("sequence")) - 1, 0)
        found = tuple(islice(reversed(entries), later, later + most))  # as it is now
        return (
            each
            for entry in found
            for each in ((entry,) if isinstance(entry, Record) else reversed(entry.records()))
            if dropped < each.sequence < sequence
        )

    def canonical(self) -> str:
        """Return one line a record, without facts that differ between runs with one seed (core/canonical.py)."""
        return canonical_text(self.select(), self.ports)

    def counts(self) -> tuple[int, dict[str, int]]:
        """Return the sequence number of the last record, and the number of records of each actor."""
        return self._sequence, dict(self._counts)

    def continue_from(self, sequence: int, counts: Mapping[str, int], records: Iterable[Record]) -> None:
        """Continue after the records of another lab. records: its newest ones, up to `sequence`; maybe none."""
        self._entries.clear()
        self._entries.extend(records)
        self._counts.clear()
        self._counts.update(counts)
        self._sequence, self._absent = sequence, sequence - len(self._entries)

    def clear(self) -> None:
        """Drop every record and restart the numbering."""
        self._entries.clear()
        self._counts.clear()
        self._sequence = self._absent = 0
        self._runs.clear()
        self.marks.clear()
        for watcher in self._clear_watchers:
            watcher()


def _matching(
    entries: Sequence[Record | RecordBatch], dropped: int, kind: str | None, actor: str | None
) -> Iterator[Record]:
    """Iterate over the records of a kind and an actor, if given. dropped: number of the last one that is left out."""
    for entry in entries:
        if (
            entry.sequence <= dropped
            or (kind is not None and entry.kind != kind)
            or (actor is not None and entry.actor != actor)
        ):
            continue
        if isinstance(entry, Record):
            yield entry
        else:
            yield from (record for record in entry.records() if record.sequence > dropped)
