"""Records of a play that explain its failure, in lanes over lab time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from labkit.core.canonical import CanonicalRecord
from labkit.core.record_lines import is_problem, one_line, record_line
from labkit.core.record_values import has_lengths, record_values
from labkit.hunt.search.play_records import FAULTS, SECOND

LANES = ("devices", "clients", "platform", "solutions", "services", "faults")
LONGEST = 240  # characters of a line
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
    records = [CanonicalRecord.parse(line) for line in journal.splitlines()]
    if not records:
        return []
    places = {each.name: place for place, each in enumerate(records)}
    end = _end(records, places, breaks, at)
    chain = _chain(records, places, places.get(breaks or ""))
    wanted = dict.fromkeys(chain)
    last = islice(_before(records, end), LAST)
    for place in (*_around_faults(records, places, _end_of_moment(records, end)), *last):
        if len(wanted) < MOST:
            wanted.setdefault(place)
    zero = records[0].time if began is None else began * SECOND
    return _numbered(
        [
            ShownRecord(
                each.name,
                each.cause,
                (each.time - zero) / SECOND,
                _lane(each),
                one_line(record_line(each), LONGEST),
                record_values(each, LONGEST),
                place in chain,
                each.name == breaks,
                is_problem(each),
                solution=each.actor if each.kind in OF_SOLUTION else "",
            )
            for place in sorted(
                wanted, key=lambda each: (records[each].time, _depth(records, places, each), each)
            )
            for each in (records[place],)
        ]
    )


def _numbered(records: Sequence[ShownRecord]) -> list[ShownRecord]:
    """Return the records with the numbers of their rows."""
    numbers = {each.name: number for number, each in enumerate(records, 1)}
    return [
        replace(each, number=numbers[each.name], cause_number=numbers.get(each.cause)) for each in records
    ]


def _lane(record: CanonicalRecord) -> str:
    if record.kind in FAULTS:
        return "faults"
    if record.kind in ("request", "connect"):
        return "devices" if "/" in record.actor else "clients"
    if record.kind in PROGRAMS:
        return "devices"
    return {"script": "solutions", "log": "solutions", "call": "services"}.get(record.kind, "platform")


def _end(
    records: Sequence[CanonicalRecord], places: Mapping[str, int], breaks: str | None, at: float | None
) -> int:
    """Return the place of the last record that is of interest."""
    if breaks in places:
        return places[breaks or ""]
    if at is None:
        return len(records) - 1
    before = [place for place, each in enumerate(records) if each.time <= at * SECOND]
    return before[-1] if before else 0


def _end_of_moment(records: Sequence[CanonicalRecord], place: int) -> int:
    """Return the place of the last record of the same lab time."""
    while place + 1 < len(records) and records[place + 1].time == records[place].time:
        place += 1
    return place


def _before(records: Sequence[CanonicalRecord], place: int) -> Iterable[int]:
    """Iterate over the places of a record and of those before it; of equal calls of the story only over the last.

    A promise that looks again and again would hide all else.
    """
    seen: set[tuple[str, str, int | None]] = set()
    for each in range(place, -1, -1):
        found = records[each]
        call = found.actor, found.summary, found.status
        if found.kind == "call" and not found.cause:
            if call in seen:
                continue
            seen.add(call)
        yield each


def _chain(records: Sequence[CanonicalRecord], places: Mapping[str, int], place: int | None) -> set[int]:
    """Return the places of a record and of all that led to it."""
    found: set[int] = set()
    while place is not None and place not in found:
        found.add(place)
        place = places.get(records[place].cause)
    return found


def _depth(records: Sequence[CanonicalRecord], places: Mapping[str, int], place: int) -> int:
    """Return the number of records that led to a record, by which causes come before effects of one moment."""
    return len(_chain(records, places, place))


def _around_faults(records: Sequence[CanonicalRecord], places: Mapping[str, int], end: int) -> Iterable[int]:
    """Iterate over the places of what faults hit, the last hits first: its causes, the hit, and what followed."""
    for place in range(end, -1, -1):
        if records[place].kind not in FAULTS:
            continue
        causes = _chain(records, places, place)
        names = {records[each].name for each in causes}
        effects = [each for each, record in enumerate(records) if record.cause in names]
        yield from sorted({*causes, *effects[:NEAR]})
