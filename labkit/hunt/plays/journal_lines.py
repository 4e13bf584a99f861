"""Lines for people from the journal of a play."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from labkit.core.record_lines import one_line, record_line

LONGEST = 300  # characters of a line


@dataclass(frozen=True)
class _Line:
    """Record of a journal as canonical text."""

    kind: str
    actor: str
    summary: str
    status: int | None
    detail: Mapping[str, Any] | None


def last_lines(journal: str, count: int) -> list[str]:
    """Return the last records of a journal, a line each. journal: as canonical text, as in `Played.journal`."""
    return [_shown(json.loads(each)) for each in journal.splitlines()[-count:]]


def _shown(record: Mapping[str, Any]) -> str:
    when = datetime.fromtimestamp(record["time"] / 1_000_000, UTC)
    actor, detail = record["actor"].rpartition("#")[0], record["detail"]
    line = _Line(
        record["kind"],
        actor,
        record["summary"],
        record["status"],
        detail if isinstance(detail, dict) else None,
    )
    return one_line(f"{when:%Y-%m-%d %H:%M:%S}.{when.microsecond // 1000:03} {record_line(line)}", LONGEST)
