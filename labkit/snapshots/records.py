"""Records of a journal as JSON, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from labkit.core.canonical import plain
from labkit.core.errors import LabError
from labkit.core.records import Record

KINDS: tuple[tuple[type, ...], ...] = (  # of the fields of a record, in their order
    (int,),
    (int,),
    (str,),
    (str,),
    (int,),
    (str,),
    (int, type(None)),
    (int, type(None)),
    (int, type(None)),
    (dict, type(None)),
)


def records_data(records: Iterable[Record]) -> Iterator[list[Any]]:
    """Yield records as lists of plain values."""
    for each in records:
        yield [
            each.sequence,
            each.time,
            each.kind,
            each.actor,
            each.count,
            each.summary,
            each.cause,
            each.status,
            each.size,
            None if each.detail is None else plain(each.detail),
        ]


def records_of(data: Iterable[Any], last: int, longest: int) -> Iterator[Record]:
    """Yield the records of `records_data`. last: number of the last one; longest: characters of a text.

    Raises LabError for data that is none, and for records that do not follow each other.
    """
    before: int | None = None
    for each in data:
        right = isinstance(each, list) and len(each) == len(KINDS)
        if not right or any(type(value) not in kinds for value, kinds in zip(each, KINDS, strict=True)):
            raise LabError("restore: this snapshot is damaged: a record of its journal has another form")
        sequence = each[0]
        if before is not None and sequence != before + 1:
            raise LabError("restore: this snapshot is damaged: records of its journal are missing")
        before = sequence
        number, time, kind, actor, count, summary, cause, status, size, detail = each
        yield Record(number, time, kind, actor, count, summary, cause, status, size, detail, longest)
    if before not in (None, last):
        raise LabError("restore: this snapshot is damaged: the last records of its journal are missing")
