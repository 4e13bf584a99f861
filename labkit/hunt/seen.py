"""Watch over the promise that devices that poll see every datapoint in time."""

from __future__ import annotations

from labkit.hunt.promise import Verdict
from labkit.hunt.reading import Evidence, Finding, ReadingWatch
from labkit.lab.observer import LabObserver

Key = tuple[str, str, str]  # product, identity, alias
MOST_LATE = 100_000  # late datapoints that are kept


class SeenWatch:
    """Follows the datapoints of aliases that are polled, from the first poll on. within: seconds until one is seen."""

    def __init__(self, name: str, observer: LabObserver, within: float) -> None:
        self._observer = observer
        self._within = within
        self._unseen: dict[
            Key, dict[int, float]
        ] = {}  # of polled aliases: timestamp → lab time of the storage
        self._newest: dict[
            Key, int
        ] = {}  # latest timestamp that a poll has got: later polls pass over earlier ones
        self._late: list[tuple[Key, int, float, float]] = []  # key, timestamp, stored, seen
        self._any = False
        self._reading = ReadingWatch(name, observer, self._judge, wait=within)
        observer.follow_polls(self._polled, self._stored, self._answered)

    def verdict(self, quiet_since: float | None) -> Verdict:
        return self._reading.verdict(quiet_since)

    def _polled(self, key: Key) -> None:
        self._unseen.setdefault(key, {})

    def _stored(self, key: Key, timestamp: int) -> None:
        unseen = self._unseen.get(key)
        if unseen is not None and timestamp >= self._newest.get(key, 0):
            self._any = True
            unseen[timestamp] = self._observer.now

    def _answered(self, key: Key, timestamp: int) -> None:
        stored = self._unseen.get(key, {}).pop(timestamp, None)
        self._newest[key] = max(timestamp, self._newest.get(key, 0))
        if stored is not None and self._observer.now - max(stored, timestamp) > self._within:
            self._late.append((key, timestamp, max(stored, timestamp), self._observer.now))
            del self._late[MOST_LATE:]

    def _judge(self, evidence: Evidence) -> Finding:
        if not self._any:
            return Finding("untested")
        unseen = [
            (key, timestamp, max(stored, float(timestamp)), None)
            for key, all_of_it in self._unseen.items()
            for timestamp, stored in all_of_it.items()
        ]
        quiet = evidence.quiet_since or 0.0
        for (product, identity, alias), timestamp, stored, seen in sorted(
            [*self._late, *unseen], key=lambda each: each[2]
        ):
            due = max(stored, quiet) + self._within
            period = evidence.devices.get(f"{product}/{identity}")
            end = evidence.now if period is None else min(period.until, evidence.now)
            if due <= end and (seen is None or seen > due):
                reason = f"{product}/{identity} has not seen the datapoint of {alias} of {timestamp} within "
                return Finding("broken", f"{reason}{self._within:g} s", due, None)
        return Finding("kept")
