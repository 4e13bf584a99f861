"""Lines for people from the journal of a play."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from labkit.core.canonical import CanonicalRecord
from labkit.core.record_lines import one_line, record_line

LONGEST = 300  # characters of a line


def last_lines(journal: str, count: int, without: Iterable[str] = ()) -> list[str]:
    """Return the last records of a journal, a line each.

    journal: as canonical text, as in `Played.journal`; without: names of records that are left out, with all that
    followed from them, as in `Played.looks`.
    """
    hidden = set(without)
    records = [CanonicalRecord.parse(each) for each in journal.splitlines()]
    if hidden:
        for each in records:
            if each.cause in hidden:
                hidden.add(each.name)
        records = [each for each in records if each.name not in hidden]
    return [_shown(each) for each in records[-count:]]


def _shown(record: CanonicalRecord) -> str:
    when = datetime.fromtimestamp(record.time / 1_000_000, UTC)
    return one_line(f"{when:%Y-%m-%d %H:%M:%S}.{when.microsecond // 1000:03} {record_line(record)}", LONGEST)
