"""Live counts of a lab's events: requests, refusals with their reasons, script runs, mails, messages."""

from __future__ import annotations

import threading
from collections import Counter, deque
from typing import TYPE_CHECKING, Protocol

from labkit.core.marks import MAX_MARKS, Mark
from labkit.core.record_lines import FAILED, RecordLike

if TYPE_CHECKING:
    import pandas

BINS = 240  # intervals at most; beyond that, pairs of intervals are merged
REASONS = 200  # distinct reasons that are kept; further ones are counted together
OTHER = "others"
LONGEST = 120  # characters of a reason
RECENT = 50  # recent events that are kept
COUNTED = ("answered", "refused", "runs", "failed runs", "mails", "messages")


class JournalRecord(RecordLike, Protocol):
    """A record of the journal."""

    @property
    def sequence(self) -> int: ...
    @property
    def cause(self) -> int | None: ...
    @property
    def time(self) -> int: ...


class MailRecord(Protocol):
    """A mail. time: lab time in seconds."""

    @property
    def time(self) -> float: ...
    @property
    def solution(self) -> str: ...
    @property
    def recipients(self) -> tuple[str, ...]: ...
    @property
    def subject(self) -> str: ...


class Tally:
    """Counts of events by interval of lab time.

    `record`, `mail`, `mark` and `clear` are called on the lab's thread, all else on any.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.changes = 0
        self.clear()

    def clear(self) -> None:
        """Forget all counts, for a reset of the lab."""
        with self._lock:
            self._width = 1.0  # seconds of lab time of an interval
            self._bins: dict[int, Counter[str]] = {}
            self.totals: Counter[str] = Counter()
            self.reasons: Counter[str] = Counter()  # of refusals
            self.failures: Counter[str] = Counter()  # of script runs that failed
            self.marks: deque[Mark] = deque(maxlen=MAX_MARKS)
            self._faults: dict[
                int, tuple[str, str]
            ] = {}  # record of a request → a fault's name, and its words
            self.recent: deque[tuple[float, str, str]] = deque(maxlen=RECENT)  # time, what, text
            self.changes += 1

    def record(self, record: JournalRecord) -> None:
        """Count a complete record of the journal."""
        failed = record.status is not None and record.status >= FAILED
        if record.kind == "fault":
            self._note(record)
        elif record.kind == "request":
            fault = self._faults.pop(record.sequence, None)
            failed = failed or (record.status is None and fault is not None)  # a fault has cut it off
            self._count(record, "refused" if failed else "answered", _reason(record, fault) if failed else "")
        elif record.kind == "refused":
            self._count(record, "refused", _reason(record, None))
        elif record.kind == "script":
            self._count(record, "failed runs" if failed else "runs", _reason(record, None) if failed else "")
        elif record.kind == "delivery":
            self._count(record, "messages", "")

    def mark(self, mark: Mark) -> None:
        """Store a restart, fault or release of the lab."""
        with self._lock:
            self.marks.append(mark)
            self.changes += 1

    def _note(self, record: JournalRecord) -> None:
        """Store the effect of a fault on a request for the request's own record, which only has the fault's name."""
        if record.cause is None:
            return
        name = str((record.detail or {}).get("fault", ""))
        does = record.summary.removeprefix(f"{name}: ")
        words = does if name.startswith("fault ") else f"{does} ({name})"
        self._faults[record.cause] = name, f"fault put on the lab: {words}"
        if len(self._faults) > REASONS:
            del self._faults[next(iter(self._faults))]

    def mail(self, mail: MailRecord) -> None:
        """Count a mail."""
        text = f"{mail.solution} to {', '.join(mail.recipients)}: {mail.subject}"
        with self._lock:
            self._add(mail.time, "mails")
            self.recent.append((mail.time, "mail", text))

    def _count(self, record: JournalRecord, what: str, reason: str) -> None:
        seconds = record.time / 1_000_000
        with self._lock:
            self._add(seconds, what)
            if reason:
                counted = self.failures if what == "failed runs" else self.reasons
                key = f"{record.actor}: {reason}" if what == "failed runs" else reason
                counted[key if key in counted or len(counted) < REASONS else OTHER] += 1
            if what not in ("answered", "runs"):
                status = "" if record.status is None else f"{record.status} "
                words = f"{status}{record.actor} {record.summary}{f': {reason}' if reason else ''}"
                self.recent.append((seconds, what.removesuffix("s"), words))

    def _add(self, seconds: float, what: str) -> None:
        self.totals[what] += 1
        self.changes += 1
        place = int(seconds // self._width)
        counts = self._bins.get(place)
        if counts is None:
            counts = self._bins[place] = Counter()
        counts[what] += 1
        while max(self._bins) - min(self._bins) >= BINS:
            self._widen()

    def _widen(self) -> None:
        self._width *= 2
        bins, self._bins = self._bins, {}
        for place, counts in bins.items():
            self._bins.setdefault(place // 2, Counter()).update(counts)

    def frame(self) -> pandas.DataFrame:
        """Return the counts with a row per interval, by its end in lab time (UTC), empty intervals included."""
        import pandas

        with self._lock:
            width, bins = self._width, {place: dict(counts) for place, counts in self._bins.items()}
        places = range(min(bins), max(bins) + 1) if bins else range(0)
        data = {name: [bins.get(each, {}).get(name, 0) for each in places] for name in COUNTED}
        ends = pandas.to_datetime([(each + 1) * width for each in places], unit="s", utc=True)
        made = pandas.DataFrame(data, index=pandas.DatetimeIndex(ends, name="time"))
        made.attrs.update(every=width, marks=[tuple(each) for each in tuple(self.marks)])
        return made

    def last(self, count: int) -> list[tuple[float, str, str]]:
        """Return the latest failures, mails and messages, newest first: lab time, kind, and a text."""
        with self._lock:
            return list(self.recent)[-count:][::-1]

    def why(self, count: int) -> list[tuple[str, int]]:
        """Return the reasons of refusals with their counts, most frequent first."""
        with self._lock:
            return self.reasons.most_common(count)

    def failed(self, count: int) -> list[tuple[str, int]]:
        """Return the errors of failed script runs with their counts, most frequent first."""
        with self._lock:
            return self.failures.most_common(count)


def _reason(record: JournalRecord, fault: tuple[str, str] | None) -> str:
    """Return the reason of a failed record, else its status. fault: name and text of a fault that affected it."""
    detail = record.detail or {}
    said = detail.get("reason") or detail.get("error")
    if record.kind == "refused":
        said = record.summary
    text = said if isinstance(said, str) else f"status {record.status}"
    if fault is not None:
        names = (fault[0], f"fault {fault[0]}")
        if said in (None, *names) or str(said).startswith(tuple(f"{each}: " for each in names)):
            text = fault[1]  # it has no other reason
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
