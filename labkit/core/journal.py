"""The journal: one record for each request, refusal, event, script run and service call of a lab.

Records are stored unformatted and formatted when read; but large values are truncated at once, and the omitted
part is counted. The journal is a ring: when it is full the oldest record is dropped, and `dropped` counts it.
So it has a bound in bytes.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import cast

from labkit.core.bounded import cut, cut_text, fits
from labkit.core.canonical import canonical_text
from labkit.core.marks import Marks
from labkit.core.traces import trace_of

CAPACITY = 200_000
FIELD = 4096
PER_RUN = 10_000
FIELDS = 4  # size of a whole detail, as a multiple of a field's

Detail = Mapping[str, object]


class Record:
    """One entry of the journal.

    time: lab time in microseconds; cause: sequence number of the earlier record that led to this one; count:
    the actor's own, from 1; longest: characters of the summary and of a text in the detail. The detail may be a
    function that makes it, called when the record is read, unless that would keep something large in memory.
    holds: maximum number of characters that this function keeps in memory, if known; otherwise its arguments
    are measured.
    """

    __slots__ = (
        "_detail",
        "_longest",
        "actor",
        "cause",
        "count",
        "kind",
        "sequence",
        "size",
        "status",
        "summary",
        "time",
    )

    def __init__(
        self,
        sequence: int,
        time: int,
        kind: str,
        actor: str,
        count: int,
        summary: str,
        cause: int | None,
        status: int | None,
        size: int | None,
        detail: Detail | Callable[[], Detail] | None,
        longest: int = FIELD,
        holds: int | None = None,
    ) -> None:
        self.sequence = sequence
        self.time = time
        self.kind = kind
        self.actor = actor
        self.count = count
        self.summary = summary if len(summary) <= longest else cut_text(summary, longest)
        self.cause = cause
        self.status = status
        self.size = size
        self._longest = longest
        self._detail = detail
        if detail is not None and (holds is None or holds > longest):
            self._keep(detail)

    @property
    def detail(self) -> Detail | None:
        """Further facts; the keys depend on the kind."""
        if callable(self._detail):
            self._keep(self._detail())
        return cast("Detail | None", self._detail)

    @detail.setter
    def detail(self, detail: Detail | None) -> None:
        if detail is None:
            self._detail = None
        else:
            self._keep(detail)

    def set_measures(self, measures: Mapping[str, float]) -> None:
        """Set a few numbers as the detail, without a check of their size."""
        self._detail = measures

    def _keep(self, detail: Detail | Callable[[], Detail]) -> None:
        most = FIELDS * self._longest
        if callable(detail):
            if type(detail) is not partial or not _holds_much(detail.args, self._longest):
                self._detail = detail
                return
            detail = detail()
        small = fits(detail, self._longest, most)
        self._detail = detail if small else cast(Detail, cut(detail, self._longest, most))

    def __repr__(self) -> str:
        return f"<{self.kind} {self.actor}#{self.count}: {self.summary}>"


class RunRecords:
    """A running handler: its record, the number of records that it caused, and of those left out."""

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
        self._field = field
        self._records: deque[Record] = deque(maxlen=capacity)
        self._sequence = 0
        self._counts: defaultdict[str, int] = defaultdict(int)
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
        if cause is not None and cause in self._runs and self._leaves_out(cause):
            return cause
        sequence = self._sequence = self._sequence + 1
        if cause is not None and cause >= sequence:  # as in `open`, whose call would cost too much
            cause = None
        count = self._counts[actor] = self._counts[actor] + 1
        time, field = self._micros(), self._field
        entry = Record(sequence, time, kind, actor, count, summary, cause, status, size, detail, field, holds)
        self._records.append(entry)
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
            self._records.append(
                Record(sequence, time, kind, actor, count, summary, led, None, None, detail, field, holds)
            )
        self._sequence, self._counts[actor] = sequence, count
        return range(first, first + len(entries))

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
        self._records.append(entry)
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
        """Count the records that this one causes from now on, until `end_run`. cause: of the run.

        A run within another one (a handler that it calls) counts as part of that one.
        """
        outer = None if cause is None else self._runs.get(cause)
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

    def record_refusal(self, reason: str, detail: str) -> None:
        """Add a record of a connection that was ended without an answer, or answered by the edge alone."""
        self.record("refused", "edge", reason, detail={"reason": detail})

    def record_error(self, error: BaseException) -> None:
        """Add a record of an unhandled exception."""
        text = f"{type(error).__name__}: {error}"
        detail = {"error": repr(error), "trace": trace_of(error)}
        self.record("error", "platform", text, status=500, detail=detail)

    @property
    def dropped(self) -> int:
        """Number of records that the ring has dropped."""
        return self._sequence - len(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(tuple(self._records))

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
            self._kind_watchers[kind] = left

        return stop

    def watch_clear(self, watcher: Callable[[], object]) -> Callable[[], None]:
        """Call `watcher` whenever the journal is cleared, until the returned function is called."""
        self._clear_watchers += (watcher,)

        def stop() -> None:
            self._clear_watchers = tuple(each for each in self._clear_watchers if each is not watcher)

        return stop

    def find(self, sequence: int) -> Record | None:
        """Return the record with this number, or None where the ring has dropped it."""
        back = self._sequence - sequence + 1  # recent ones are asked for most, and near the end
        return self._records[-back] if 0 < back <= len(self._records) else None

    def select(self, kind: str | None = None, actor: str | None = None) -> list[Record]:
        """Return the records of a kind, of an actor, or of both."""
        return [
            entry
            for entry in self
            if (kind is None or entry.kind == kind) and (actor is None or entry.actor == actor)
        ]

    def canonical(self) -> str:
        """Return one line a record, without facts that differ between runs with one seed (core/canonical.py)."""
        return canonical_text(tuple(self), self.ports)

    def clear(self) -> None:
        """Drop every record and restart the numbering."""
        self._records.clear()
        self._counts.clear()
        self._sequence = 0
        self._runs.clear()
        self.marks.clear()
        for watcher in self._clear_watchers:
            watcher()


def _holds_much(args: tuple[object, ...], longest: int) -> bool:
    """Return whether the arguments of a deferred detail keep something large in memory; nearly all are small."""
    for each in args:
        kind = type(each)
        if kind is str or kind is bytes:
            if len(each) > longest:  # type: ignore[arg-type]
                return True
        elif isinstance(each, tuple):
            if _holds_much(each, longest):
                return True
        elif (kind is list or kind is dict) and not fits(each, longest, FIELDS * longest):
            return True
    return False
