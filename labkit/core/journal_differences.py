"""First record that differs between two journals, with its chain of causes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from types import SimpleNamespace
from typing import Any, cast

from labkit.core.canonical import canonical_text
from labkit.core.errors import LabError
from labkit.core.record_lines import one_line, record_line
from labkit.core.records import Record
from labkit.core.words import counted

FIELDS = ("time", "actor", "kind", "summary", "cause", "status", "size", "detail")
LONGEST = 300  # characters of a line
START = 1_000_000  # microseconds in a second
DEEPEST = 1000  # records of a chain
MOST_VALUES = 20  # differing values of a record that are shown
MISSING = object()  # a value that one of two records lacks

JournalRecord = Mapping[str, Any]


@dataclass(frozen=True)
class JournalText:
    """A journal as text. name: as given; lines: of its canonical form, a record each."""

    name: str
    lines: tuple[str, ...]

    @classmethod
    def read(cls, name: str, text: str) -> JournalText:
        """Return a journal from its canonical form, or from the lines of `labkit logs --json`.

        Raises LabError, naming the line, for a line that is no record.
        """
        lines = [line for line in text.split("\n") if line.strip()]
        if not lines:
            raise LabError(f"{name}: no records: expected the text of lab.journal.canonical()")
        first = parsed(name, 1, lines[0])
        if "sequence" in first:
            lines = _canonical_lines(name, lines)
        return cls(name, tuple(lines))

    @classmethod
    def whole(cls, name: str, text: str, dropped: int, what: str) -> JournalText:
        """Return a journal from its canonical form. Raises LabError if it has dropped records. what: was played."""
        lines = text.splitlines()
        if dropped:
            count = len(lines) + dropped
            raise LabError(
                f"{what}: the journal has dropped {dropped} of {counted(count, 'record')}, which cannot be compared: "
                f"journal={{'records': {2 * count}}} of the lab keeps more"
            )
        return cls(name, tuple(lines))

    def chain(self, index: int) -> list[JournalRecord]:
        """Return the records that led to the one at this index, the first cause first, and that record itself."""
        records = [parsed(self.name, number, line) for number, line in enumerate(self.lines, 1)]
        named = {str(each["actor"]): each for each in records}
        found = [records[index]]
        while (cause := named.get(str(found[-1].get("cause")))) is not None and len(found) < DEEPEST:
            found.append(cause)
        return found[::-1]


@dataclass(frozen=True)
class JournalDifference:
    """Difference of two journals: their first record that differs.

    a, b: the journals; line: number of the record, from 1, None if they are equal; change: `changed`, `only in A` or
    `only in B`; fields: those that differ in a changed record; before, after: the records at that place in a and b,
    each after its chain of causes, the first cause first; empty where a journal has ended.
    """

    a: JournalText
    b: JournalText
    line: int | None = None
    change: str = ""
    fields: tuple[str, ...] = ()
    before: tuple[JournalRecord, ...] = ()
    after: tuple[JournalRecord, ...] = ()

    kind = "journals"

    @classmethod
    def of(cls, a: JournalText, b: JournalText) -> JournalDifference:
        """Compare two journals."""
        for index, (before, after) in enumerate(zip_longest(a.lines, b.lines)):
            if before != after:
                chains = [tuple(each.chain(index)) if index < len(each.lines) else () for each in (a, b)]
                return cls(a, b, index + 1, *_change(*chains), *chains)
        return cls(a, b)

    @property
    def is_worse(self) -> bool:
        """Whether the journals differ: which of two is better, no journal says."""
        return self.line is not None

    def as_dict(self) -> dict[str, Any]:
        """Return the difference as plain data, for JSON."""
        first = None
        if self.line is not None:
            first = {
                "line": self.line,
                "change": self.change,
                "fields": [*self.fields],
                "a": _chain_dict(self.before),
                "b": _chain_dict(self.after),
            }
        return {
            "kind": self.kind,
            "worse": self.is_worse,
            "a": {"name": self.a.name, "records": len(self.a.lines)},
            "b": {"name": self.b.name, "records": len(self.b.lines)},
            "first": first,
        }

    def __str__(self) -> str:
        lines = [
            f"{letter}  {each.name}  ({counted(len(each.lines), 'record')})"
            for letter, each in (("A", self.a), ("B", self.b))
        ]
        if self.line is None:
            return "\n".join([*lines, "", "the journals are equal"])
        lines += ["", f"first difference: record {self.line}, {self.title}"]
        for letter, chain in (("A", self.before), ("B", self.after)):
            lines += ["", f"{letter}"]
            lines += [f"  {line}" for line in chain_lines(chain)] or ["  the journal has ended"]
            lines += [f"    {name}: {value}" for name, value in self.values(chain)]
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def title(self) -> str:
        """The kind of the difference, with the names of the fields."""
        return f"{self.change}{': ' + ', '.join(self.fields) if self.fields else ''}"

    def values(self, chain: Sequence[JournalRecord]) -> list[tuple[str, str]]:
        """Return the differing values of a chain's last record, as text, each after its place: `detail.payload.0`."""
        if not self.fields or not chain:
            return []
        a, b = ({name: side[-1].get(name) for name in self.fields} for side in (self.before, self.after))
        found = list(_differing(a, b))[:MOST_VALUES]
        place = 1 if chain is self.before else 2
        return [(each[0], one_line(each[place], LONGEST)) for each in found]


def _differing(a: Any, b: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the place of each value that differs, and both values as JSON; `-` for one that is missing."""
    if isinstance(a, dict) and isinstance(b, dict):
        places: Iterable[object] = dict.fromkeys([*a, *b])
    elif isinstance(a, list) and isinstance(b, list):
        places = range(max(len(a), len(b)))
        a, b = dict(enumerate(a)), dict(enumerate(b))
    else:
        if a != b:
            yield path, _json(a), _json(b)
        return
    for each in places:
        yield from _differing(
            a.get(each, MISSING), b.get(each, MISSING), f"{path}.{each}" if path else f"{each}"
        )


def _json(value: object) -> str:
    return "-" if value is MISSING else json.dumps(value, ensure_ascii=False)


def chain_lines(chain: Iterable[JournalRecord]) -> list[str]:
    """Return a chain of causes as lines: each record's lab time in seconds, its name and what happened."""
    return [f"{'└ ' if depth else ''}{_line(each)}" for depth, each in enumerate(chain)]


def _line(record: JournalRecord) -> str:
    shown = SimpleNamespace(**{name: record.get(name) for name in FIELDS})
    return f"{record['time'] / START:.6f}  {one_line(record_line(cast(Record, shown)), LONGEST)}"


def _chain_dict(chain: Sequence[JournalRecord]) -> dict[str, Any] | None:
    return {"record": chain[-1], "causes": [*chain[:-1]]} if chain else None


def _change(before: Sequence[JournalRecord], after: Sequence[JournalRecord]) -> tuple[str, tuple[str, ...]]:
    """Return the kind of a difference, and the fields that differ if both journals have the record."""
    if not before or not after:
        return ("only in A" if before else "only in B"), ()
    a, b = before[-1], after[-1]
    places = [(each["time"], each["actor"]) for each in (a, b)]
    if places[0] == places[1] and a["kind"] == b["kind"]:
        return "changed", tuple(each for each in FIELDS if a.get(each) != b.get(each))
    return ("only in A" if places[0] < places[1] else "only in B"), ()


def parsed(name: str, number: int, line: str) -> JournalRecord:
    """Return the record of a line. Raises LabError, naming the line, if it is none."""
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if (
        not isinstance(record, dict)
        or not all(isinstance(record.get(each), str) for each in ("actor", "kind", "summary"))
        or not isinstance(record.get("time"), int)
    ):
        raise LabError(f"{name}: line {number} is no record of a journal: {one_line(line, 60)!r}")
    return record


def _canonical_lines(name: str, lines: Sequence[str]) -> list[str]:
    """Return lines of `labkit logs --json` in canonical form."""
    records = [parsed(name, number, line) for number, line in enumerate(lines, 1)]
    entries: list[Any] = [
        SimpleNamespace(**dict.fromkeys([*FIELDS, "sequence"]) | dict(each)) for each in records
    ]
    return canonical_text(entries, ()).splitlines()
