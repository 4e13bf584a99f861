"""Canonical form of a journal, for the comparison of two runs with one seed."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labkit.core.records import Record

# Keys of details that differ between runs with one seed: left out of the canonical form.
UNREPEATABLE = frozenset({"duration", "port", "peer", "tls_bytes", "cpu", "connections", "pid", "command"})
SCALARS = frozenset({str, int, float, bool, type(None)})  # types whose values need no copy

Detail = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class CanonicalRecord:
    """Record of a canonical text.

    name: `acme#12`; cause: name of the record that led to it, empty if none did; size: bytes of a request's answer.
    """

    name: str
    cause: str
    time: int
    kind: str
    actor: str
    summary: str
    status: int | None
    size: int | None
    detail: Mapping[str, Any] | None

    @classmethod
    def parse(cls, line: str) -> CanonicalRecord:
        """Return the record of a line that `canonical_text` made."""
        given = json.loads(line)
        name, detail = given["actor"], given["detail"]
        return cls(
            name,
            given["cause"] or "",
            given["time"],
            given["kind"],
            name.rpartition("#")[0],
            given["summary"],
            given["status"],
            given["size"],
            detail if isinstance(detail, dict) else None,
        )


def canonical_text(records: Sequence[Record], ports: Iterable[int]) -> str:
    """Return the records as text, one line each. ports: the lab's, which are removed from URLs.

    Sorted by lab time and actor, then by cause: so the text does not depend on the order of handlers that run
    concurrently in threads. An actor's records are numbered in this order; a cause is actor#number.
    """
    entries = _in_order(records)
    names = _names(entries)
    encode = json.JSONEncoder(
        sort_keys=True, ensure_ascii=False
    ).encode  # `json.dumps` makes one for each record
    lines = []
    for entry in entries:
        shown = {
            "time": entry.time,
            "actor": names[entry.sequence],
            "kind": entry.kind,
            "summary": entry.summary,
            "cause": names.get(entry.cause or 0),
            "status": entry.status,
            "size": entry.size,
            "detail": plain(_repeatable(entry.detail)),
        }
        line = encode(shown)
        for port in ports:
            line = line.replace(f":{port}", "")
        lines.append(line)
    return "".join(line + "\n" for line in lines)


def canonical_names(records: Sequence[Record]) -> Mapping[int, str]:
    """Return the names of records in the canonical text, such as `acme#12`, by their sequence numbers."""
    return _names(_in_order(records))


def canonical_number(record: Record, records: Sequence[Record]) -> int:
    """Return the number of a record among those of its actor and time, in the canonical text, from 1.

    records: all of these, with the chains of their causes.
    """
    same = (each for each in _by_cause(records) if (each.time, each.actor) == (record.time, record.actor))
    return next(number for number, each in enumerate(same, 1) if each is record)


def _in_order(records: Sequence[Record]) -> list[Record]:
    return sorted(_by_cause(records), key=lambda entry: (entry.time, entry.actor))


def _names(entries: Iterable[Record]) -> dict[int, str]:
    """Return the names of ordered records by their sequence numbers."""
    counts: defaultdict[str, int] = defaultdict(int)
    names: dict[int, str] = {}
    for entry in entries:
        counts[entry.actor] += 1
        names[entry.sequence] = f"{entry.actor}#{counts[entry.actor]}"
    return names


def _by_cause(records: Sequence[Record]) -> Iterator[Record]:
    """Iterate over the records, each followed by all its effects, before the next one of its actor and time."""
    there = {entry.sequence for entry in records}
    led_to: defaultdict[int, list[Record]] = defaultdict(list)
    for entry in records:
        cause = entry.cause or 0
        led_to[cause if cause in there and cause < entry.sequence else 0].append(entry)
    for entries in led_to.values():
        entries.sort(key=lambda entry: (entry.time, entry.actor, entry.sequence), reverse=True)
    waiting = led_to[0]
    while waiting:
        entry = waiting.pop()
        yield entry
        waiting += led_to.get(entry.sequence, ())


def _repeatable(detail: Detail | None) -> Detail | None:
    if detail is None:
        return None
    return {key: value for key, value in detail.items() if key not in UNREPEATABLE}


def plain(value: object) -> object:
    """Return `value` as JSON data: tables of scripts may mix keys of several types, which cannot be sorted."""
    if type(value) in SCALARS:  # most are: asking whether each is a mapping takes most of the time
        return value
    if isinstance(value, dict | Mapping):  # a dictionary is faster to recognize
        return {str(key): plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)
