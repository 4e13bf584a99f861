"""Records of the journal, and batches of records that are made when they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import cast

from labkit.core.bounded import cut, cut_text, fits

KINDS = (
    *("request", "event", "script", "call", "log", "connect", "delivery", "refused", "warning", "error"),
    *("message", "fault", "release", "restart", "backpressure", "start", "output", "end"),
)
FIELD = 4096
FIELDS = 4  # size of a whole detail, as a multiple of a field's

Detail = Mapping[str, object]
# Summary and detail of a record, and `holds` as in Record.
Entry = tuple[str, Detail | Callable[[], Detail], int | None]


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


class RecordBatch:
    """Several records of one kind, actor, time and cause, made when they are read.

    sequence, count: of the last record. describe: returns the entries of the records, in order.
    """

    __slots__ = ("_content", "_longest", "actor", "cause", "count", "kind", "sequence", "time")

    def __init__(
        self,
        sequence: int,
        time: int,
        kind: str,
        actor: str,
        count: int,
        cause: int | None,
        describe: Callable[[], Sequence[Entry]],
        longest: int,
    ) -> None:
        self.sequence = sequence
        self.time = time
        self.kind = kind
        self.actor = actor
        self.count = count
        self.cause = cause
        self._content: Callable[[], Sequence[Entry]] | list[Record] = describe
        self._longest = longest

    def records(self) -> list[Record]:
        """Return the records, oldest first; every call returns the same ones."""
        if not isinstance(self._content, list):
            self._content = self._make(self._content())
        return self._content

    def _make(self, entries: Sequence[Entry]) -> list[Record]:
        sequence, count = self.sequence - len(entries), self.count - len(entries)
        made = []
        for summary, detail, holds in entries:
            sequence += 1
            count += 1
            record = Record(
                sequence,
                self.time,
                self.kind,
                self.actor,
                count,
                summary,
                self.cause if self.cause is not None and self.cause < sequence else None,
                None,
                None,
                detail,
                self._longest,
                holds,
            )
            made.append(record)
        return made


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
