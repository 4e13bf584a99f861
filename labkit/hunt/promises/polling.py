"""Watch over the promise that devices do not stop polling."""

from __future__ import annotations

from labkit.hunt.promises.promise import StoryEnd, Verdict
from labkit.hunt.promises.reading import Evidence, Finding, ReadingWatch
from labkit.lab.observer import LabObserver

Key = tuple[str, str, str]  # product, identity, alias


class PollingWatch:
    """Follows the polls of devices. within: seconds until a device that has polled polls again."""

    def __init__(self, name: str, observer: LabObserver, within: float) -> None:
        self._observer = observer
        self._within = within
        self._last: dict[Key, float] = {}  # beginning of the last poll of an alias
        self._reading = ReadingWatch(name, observer, self._judge, wait=within)
        observer.follow_polls(polled=self._polled)

    def verdict(self, end: StoryEnd) -> Verdict:
        return self._reading.verdict(end)

    def _polled(self, key: Key) -> None:
        self._last[key] = self._observer.now

    def _judge(self, evidence: Evidence) -> Finding:
        tested = False
        for (product, identity, alias), last in sorted(self._last.items()):
            actor = f"{product}/{identity}"
            period = evidence.devices.get(actor)
            if period is None:
                continue
            due = max(last, evidence.quiet_since or 0.0) + self._within
            end = evidence.now if period.state == "failed" else min(period.until, evidence.now)
            if due < end:
                since = "its last poll" if last >= (evidence.quiet_since or 0.0) else "the last fault"
                reason = f"{actor} has not polled {alias} within {self._within:g} s of {since}"
                return Finding("broken", reason, due)
            tested = tested or end >= last
        return Finding("kept" if tested else "untested")
