"""Records of a play that explain its failure, in lanes over lab time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from labkit.core.canonical import CanonicalRecord
from labkit.core.record_lines import is_problem, one_line, record_line
from labkit.core.record_values import has_lengths, record_values
from labkit.hunt.search.play_records import FAULTS, LONGEST, SECOND, PlayRecords

LANES = ("devices", "clients", "platform", "solutions", "services", "faults")
MOST = 60  # records of a page
LAST = 24  # records before the breach that are shown besides those of its chain
NEAR = 10  # records around the hit of a fault
OF_SOLUTION = ("script", "log", "call")  # kinds of records that a solution makes
PROGRAMS = ("start", "output", "end")  # kinds of records of programs on lab time, which are devices


@dataclass(frozen=True)
class ShownRecord:
    """A record on the page of a failure.

    name: in the canonical journal, `acme#12`; cause: name of the record that led to it, empty if none is known;
    seconds: of lab time since the story began; lane: one of `LANES`; text: a line; values: what was
    written, or what a service was called with, as text; in_chain: whether the breach follows from it; breaks: whether
    it shows the breach; is_problem: whether it is a refusal, a failure or a warning; number: of its row, from 1;
    cause_number: number of the row of its cause, None if that is not shown; solution: whose script, log or call it is,
    empty for other records.
    """

    name: str
    cause: str
    seconds: float
    lane: str
    text: str
    values: str = ""
    in_chain: bool = False
    breaks: bool = False
    is_problem: bool = False
    number: int = 0
    cause_number: int | None = None
    solution: str = ""

    @property
    def has_lengths(self) -> bool:
        """Whether a value is shown by its length alone."""
        return has_lengths(self.values)

    def __str__(self) -> str:
        return f"{self.seconds:.6f} {self.lane}: {self.text}{': ' if self.values else ''}{self.values}"


def shown_records(
    journal: str, breaks: str | None, at: float | None, began: float | None = None
) -> list[ShownRecord]:
    """Return the records that explain a failure, in the order of lab time, causes first, `MOST` at most.

    These are the record that shows the breach with its chain of causes, what led to the hits of faults and followed
    from them, and the last records before the breach. journal: canonical text of the play; breaks: name of the record
    that shows the breach, None if none does; at: lab time of the breach in seconds since 1970, None for the play's end;
    began: that of the story's beginning, None for the first record.
    """
    records = PlayRecords(journal, began)
    shows = records.places.get(breaks or "")
    chain = set() if shows is None else {*records.chain(shows)}
    time = math.inf if at is None else at * SECOND
    time = time if shows is None else records.all[shows].time
    moment = sum(each.time <= time for each in records.all) - 1  # place of the last record until then
    last = islice(_before(records, moment if shows is None else shows), LAST)
    wanted = dict.fromkeys(chain)
    for place in (*_around_faults(records, moment), *last):
        if len(wanted) < MOST:
            wanted.setdefault(place)
    places = sorted(wanted, key=lambda each: (records.all[each].time, len([*records.chain(each)]), each))
    numbers = {records.all[place].name: number for number, place in enumerate(places, 1)}
    return [
        ShownRecord(
            each.name,
            each.cause,
            records.since_beginning(each.time),
            _lane(each),
            one_line(record_line(each), LONGEST),
            record_values(each, LONGEST),
            place in chain,
            each.name == breaks,
            is_problem(each),
            numbers[each.name],
            numbers.get(each.cause),
            each.actor if each.kind in OF_SOLUTION else "",
        )
        for place in places
        for each in (records.all[place],)
    ]


def _lane(record: CanonicalRecord) -> str:
    if record.kind in FAULTS:
        return "faults"
    if record.kind in ("request", "connect"):
        return "devices" if "/" in record.actor else "clients"
    if record.kind in PROGRAMS:
        return "devices"
    return {"script": "solutions", "log": "solutions", "call": "services"}.get(record.kind, "platform")


def _before(records: PlayRecords, place: int) -> Iterable[int]:
    """Iterate over the places of a record and of those before it; of equal calls of the story only over the last.

    A promise that looks again and again would hide all else.
    """
    seen: set[tuple[str, str, int | None]] = set()
    for each in range(place, -1, -1):
        found = records.all[each]
        call = found.actor, found.summary, found.status
        if found.kind == "call" and not found.cause:
            if call in seen:
                continue
            seen.add(call)
        yield each


def _around_faults(records: PlayRecords, end: int) -> Iterable[int]:
    """Iterate over the places of what faults hit, the last hits first: its causes, the hit, and what followed."""
    for place in range(end, -1, -1):
        if records.all[place].kind in FAULTS:
            causes = {*records.chain(place)}
            effects = sorted(effect for cause in causes for effect in records.effects[cause])
            yield from sorted({*causes, *effects[:NEAR]})
