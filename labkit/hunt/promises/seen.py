"""Watch over the promise that devices that poll see every datapoint in time."""

from __future__ import annotations

from typing import NamedTuple

from labkit.core.records import Record
from labkit.hunt.promises.promise import StoryEnd, Verdict
from labkit.hunt.promises.reading import Evidence, Finding, ReadingWatch
from labkit.lab.observer import LabObserver

Key = tuple[str, str, str]  # product, identity, alias
MOST_LATE = 100_000  # late datapoints that are kept
ANSWERED = 200


class Read(NamedTuple):
    """A read of an alias' current value, which stands for all earlier ones. record: of its request."""

    record: Record
    time: float


class Late(NamedTuple):
    """A datapoint that was not seen in time. since: lab time from which on it could be; seen: None until it is."""

    key: Key
    timestamp: int
    since: float
    seen: float | None


class SeenWatch:
    """Follows the datapoints of aliases that are polled, from the first poll on. within: seconds until one is seen."""

    def __init__(self, name: str, observer: LabObserver, within: float) -> None:
        self._observer = observer
        self._within = within
        self._unseen: dict[Key, dict[int, float]] = {}  # of polled aliases: timestamp → since when
        self._newest: dict[
            Key, int
        ] = {}  # latest timestamp that a poll has got: later polls pass over earlier ones
        self._reads: dict[Key, Read] = {}  # the last one of each alias, which may not be answered yet
        self._late: list[Late] = []
        self._is_tested = False
        self._reading = ReadingWatch(name, observer, self._judge, wait=within)
        observer.follow_polls(
            polled=self._polled, stored=self._stored, answered=self._answered, read=self._read
        )

    def verdict(self, end: StoryEnd) -> Verdict:
        return self._reading.verdict(end)

    def _polled(self, key: Key) -> None:
        self._unseen.setdefault(key, {})

    def _stored(self, key: Key, timestamp: int) -> None:
        unseen = self._unseen.get(key)
        if unseen is not None and timestamp >= self._newest.get(key, 0):
            self._end_read(key)
            self._is_tested = True
            unseen[timestamp] = max(self._observer.now, float(timestamp))

    def _answered(self, key: Key, timestamp: int) -> None:
        self._end_read(key)
        self._newest[key] = max(timestamp, self._newest.get(key, 0))
        self._see(key, timestamp, self._observer.now)

    def _read(self, key: Key, record: Record) -> None:
        if self._unseen.get(key):
            self._end_read(key)
            self._reads[key] = Read(record, self._observer.now)

    def _end_read(self, key: Key) -> None:
        """See what the last read of an alias has returned, if it was answered."""
        read = self._reads.pop(key, None)
        if read is not None and read.record.status == ANSWERED:
            for timestamp, since in list(self._unseen[key].items()):
                if since <= read.time:
                    self._see(key, timestamp, read.time)

    def _see(self, key: Key, timestamp: int, when: float) -> None:
        since = self._unseen.get(key, {}).pop(timestamp, None)
        if since is not None and when - since > self._within and len(self._late) < MOST_LATE:
            self._late.append(Late(key, timestamp, since, when))

    def _judge(self, evidence: Evidence) -> Finding:
        if not self._is_tested:
            return Finding("untested")
        for key in list(self._reads):
            self._end_read(key)
        left = [
            Late(key, timestamp, since, None)
            for key, unseen in self._unseen.items()
            for timestamp, since in unseen.items()
        ]
        for late in sorted([*self._late, *left], key=lambda each: each.since):
            product, identity, alias = late.key
            actor = f"{product}/{identity}"
            due = max(late.since, evidence.quiet_since or 0.0) + self._within
            period = evidence.devices.get(actor)
            end = evidence.now if period is None else min(period.until, evidence.now)
            if due <= end and (late.seen is None or late.seen > due):
                reason = f"{actor} has not seen the datapoint of {alias} of {late.timestamp}"
                return Finding("broken", f"{reason} within {self._within:g} s", due)
        return Finding("kept")
