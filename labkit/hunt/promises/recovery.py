"""Watch over the promise that devices recover after the last fault, and stay so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from labkit.core.records import Record
from labkit.hunt.promises.promise import StoryEnd, Verdict
from labkit.hunt.promises.reading import Evidence, Finding, ReadingWatch
from labkit.lab.observer import LabObserver
from labkit.labtime.story_threads import DevicePeriod

FAILED = 400
SECOND = 1_000_000  # microseconds

Key = tuple[str, str, str]  # product, identity, alias
Span = tuple[float, float]  # lab times between which a request waits for its answer


class RecoveryWatch:
    """Follows the long polls of devices, which may wait for longer than a device may be silent. within: seconds."""

    def __init__(self, name: str, observer: LabObserver, within: float) -> None:
        self._observer = observer
        self._within = within
        self._begun: dict[Key, list[float]] = defaultdict(list)  # of polls that wait
        self._polls: dict[str, list[Span]] = defaultdict(list)  # by device
        self._reading = ReadingWatch(name, observer, self._judge, needs_all=True, wait=within)
        observer.follow_polls(polled=self._polled, ended=self._ended)

    def verdict(self, end: StoryEnd) -> Verdict:
        return self._reading.verdict(end)

    def _polled(self, key: Key) -> None:
        self._begun[key].append(self._observer.now)

    def _ended(self, key: Key) -> None:
        if self._begun[key]:
            self._polls[f"{key[0]}/{key[1]}"].append((self._begun[key].pop(0), self._observer.now))

    def _judge(self, evidence: Evidence) -> Finding:
        if evidence.quiet_since is None:
            return Finding("untested")
        sent: dict[str, list[Record]] = defaultdict(list)  # by device, or product if the device is unknown
        down: list[Span] = []
        started: dict[str, float] = {}  # programs, by identity
        for record in evidence.journal:
            if record.kind == "request":
                sent[record.actor].append(record)
            elif record.kind == "restart":  # silence is no fault of devices while the platform is down
                began = record.time / SECOND
                down.append((began, began + float(str((record.detail or {}).get("down", 0)))))
            elif record.kind == "start":
                started[record.actor.partition("/")[2]] = record.time / SECOND
        tested = False
        for actor, period in evidence.devices.items():
            since = max(period.since, started.get(actor.partition("/")[2], 0.0))
            waits = [*self._polls[actor], *down]
            found = self._judge_device(evidence, actor, period._replace(since=since), sent[actor], waits)
            if found is None or found.state == "kept":
                tested = tested or found is not None
                continue
            last, product = sent[actor][-1].sequence if sent[actor] else 0, actor.partition("/")[0]
            unknown = [each for each in sent[product] if each.sequence > max(last, evidence.last_hit)]
            if not unknown or product in evidence.solutions:
                return found
            more = f"{len(unknown)} later requests reached {product} with an unknown token, the last was"
            return found._replace(reason=f"{found.reason}; {more} {_answer(unknown[-1])}")
        return Finding("kept" if tested else "untested")

    def _judge_device(
        self, evidence: Evidence, actor: str, period: DevicePeriod, sent: list[Record], waits: list[Span]
    ) -> Finding | None:
        """Judge one device; None if it had no time to recover. waits: times without requests that are no silence."""
        since, within = evidence.quiet_since or 0.0, self._within
        due, end = since + within, min(period.until, evidence.now)
        newest = sent[-1] if sent else None
        well = [
            each
            for each in sent
            # records of one moment have an order: one before the fault shows no recovery
            if each.sequence > evidence.last_hit and since <= each.time / SECOND <= due and _is_well(each)
        ]
        if newest is not None and well:
            began = well[0].time / SECOND
            spans = [(each.time / SECOND, end if _waits(each) else 0.0) for each in sent]
            silent = _silent_since(max(began, period.since), [*spans, *waits], end, within)
            if silent is not None:
                before = [each for each in sent if each.time / SECOND <= silent][-1]
                shown = f"then was silent for more than {within:g} s, after {_answer(before)}"
                at, newest = silent + within, before
            elif newest.status is not None and newest.status >= FAILED:
                shown, at = f"the last answer that it got was {_answer(newest)}", newest.time / SECOND
            else:
                return Finding("kept")
            reason = f"{actor} recovered after the last fault, but {shown}"
            return Finding("broken", reason, at, newest.sequence)
        if period.state == "failed":
            shown = "its behaviour failed"
        elif period.state == "ended" and newest is not None and not _is_well(newest):
            shown = f"it ended after {_answer(newest)}"
        elif end >= due:
            shown = "no request with its credentials came"
            if newest is not None:
                shown = f"its last request was {_answer(newest)}"
        else:
            return None
        reason = f"{actor} has not recovered {within:g} s after the last fault: {shown}"
        return Finding("broken", reason, due, None if newest is None else newest.sequence)


def _silent_since(began: float, spans: Iterable[Span], end: float, within: float) -> float | None:
    """Return the beginning of the first silence that is too long; None if there is none. spans: of requests."""
    last = began
    for begin, over in sorted(each for each in spans if max(each) > began):
        if begin - last > within:
            break
        last = max(last, begin, over)
    return last if end - last > within else None


def _waits(record: Record) -> bool:
    """Return whether a request still waits for its answer."""
    return record.status is None and "reason" not in (record.detail or {})


def _is_well(record: Record) -> bool:
    """Return whether a request got an answer without an error, or still waits for it."""
    return _waits(record) if record.status is None else record.status < FAILED


def _answer(record: Record) -> str:
    """Return a request and its end in words."""
    end = (
        "which waits since before"
        if _waits(record)
        else (record.detail or {}).get("reason", "without an answer")
    )
    return f"{record.summary}, {end if record.status is None else record.status}"
