"""Judges of what reached the event handlers of solutions: nothing lost, nothing doubled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from labkit.core.records import Record
from labkit.hunt.promises.reading import Evidence, Finding, finding_of

EVENTS = ("datapoint", "data_in")  # which the accepted write of a device raises
FAILED = 400

Lane = tuple[str, str, str]  # solution, product, event
Carried = tuple[str, str, object, object]  # device, alias, timestamp, value


@dataclass
class HandledEvents:
    """The events of devices' writes and the runs of handlers that they caused.

    events: by number; runs: by solution and number of the event; first: number of the first event of a lane that a
    handler got; restarts: numbers of the records.
    """

    events: dict[int, Record] = field(default_factory=dict)
    runs: dict[tuple[str, int], list[Record]] = field(default_factory=lambda: defaultdict(list))
    first: dict[Lane, int] = field(default_factory=dict)
    last_restart: int = 0

    @classmethod
    def of(cls, evidence: Evidence) -> HandledEvents:
        """Return the events and runs of a story."""
        found = cls()
        for record in evidence.journal:
            if record.kind == "event":
                if record.summary in EVENTS and evidence.is_device(record.actor):
                    found.events[record.sequence] = record
            elif record.kind == "restart":
                found.last_restart = record.sequence
            elif record.kind == "script" and (event := found.events.get(record.cause or 0)) is not None:
                found.runs[record.actor, event.sequence].append(record)
                lane = (record.actor, product_of(event), event.summary)
                found.first[lane] = min(found.first.get(lane, event.sequence), event.sequence)
        return found

    def due(self, evidence: Evidence) -> Iterator[tuple[str, Record]]:
        """Yield each event with each solution whose handler has to get it: one that has got an earlier one."""
        lanes: dict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)
        for (solution, product, name), first in self.first.items():
            if product in evidence.solutions.get(solution, ()):
                lanes[product, name].append((solution, first))
        for event in self.events.values():
            for solution, first in lanes.get((product_of(event), event.summary), ()):
                if event.sequence >= first:
                    yield solution, event


def judge_lost(evidence: Evidence) -> Finding:
    """Judge whether every event of a write was handled at least once, without an error."""
    handled = HandledEvents.of(evidence)
    tested = False
    for solution, event in handled.due(evidence):
        tested = True
        runs = handled.runs.get((solution, event.sequence), [])
        if any(each.status is not None and each.status < FAILED for each in runs):
            continue
        unended = [each for each in runs if each.status is None]
        if any(each.sequence > handled.last_restart for each in unended):
            continue  # it is at work still
        what = f"{event.summary} of {event.actor} is lost to {solution!r}"
        if not runs:
            return finding_of(event, f"{what}: no handler got it")
        if unended:
            return finding_of(unended[-1], f"{what}: a restart ended its handler")
        error = (runs[-1].detail or {}).get("error", "")
        return finding_of(runs[-1], f"{what}: its handler failed with {runs[-1].status}: {error}")
    return Finding("kept" if tested else "untested")


def judge_doubled(evidence: Evidence) -> Finding:
    """Judge whether no handler got an event twice, or a recorded value that it had got before."""
    handled = HandledEvents.of(evidence)
    seen: dict[tuple[str, Carried], int] = {}
    tested = False
    for (solution, number), runs in handled.runs.items():
        done = [each for each in runs if each.status is not None and each.status < FAILED]
        event = handled.events[number]
        tested = tested or bool(done)
        if len(done) > 1:
            what = f"{event.summary} of {event.actor} reached {solution!r} {len(done)} times"
            return finding_of(done[1], what)
        carried = recorded_value(event)
        if done and carried is not None:
            before = seen.setdefault((solution, carried), number)
            if before != number:
                what = f"a value that {event.actor} recorded reached {solution!r} twice"
                return finding_of(done[0], f"{what}: {carried[1]}={carried[3]} at {carried[2]}")
    return Finding("kept" if tested else "untested")


def recorded_value(event: Record) -> Carried | None:
    """Return what identifies a value that a device recorded with its own timestamp; None for another event."""
    detail = event.detail or {}
    value = detail.get("value")
    if event.summary != "datapoint" or detail.get("api") != "record" or not isinstance(value, list):
        return None
    return event.actor, str(detail["alias"]), *value


def product_of(record: Record) -> str:
    """Return the product in the actor of a device's record."""
    return record.actor.partition("/")[0]
