"""Sections of a failing test's report: the journal of its lab or the log of its server, and how to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from labkit.core.errors import LabError
from labkit.core.record_lines import FAILED, RecordLike, is_problem, one_line, record_line
from labkit.lab.lab import Lab
from labkit.testing.firmware import Firmware, firmware_sections
from labkit.testing.frames import COUNT
from labkit.testing.lab_each import LabEach
from labkit.testing.marker import SEED_OPTION, TRACE_OPTION, node_id
from labkit.testing.server import LabServer

if TYPE_CHECKING:
    from labkit.control.journal import Entry

RECORDS = 40  # records that a report shows
LONGEST = 300  # characters of a record's line


def sections(item: pytest.Item, began: dict[int, int]) -> Iterator[tuple[str, str]]:
    """Yield a title and a text for each lab and server among the fixtures of a test.

    began: number of the last record before the test, by the `id` of a lab that several tests share.
    """
    for name, value in getattr(item, "funcargs", {}).items():
        if isinstance(value, LabEach):
            value = value.last
        if isinstance(value, Firmware):
            yield from firmware_sections(value)
        elif isinstance(value, Lab) and not value.closed:
            yield f"{name}: the journal", _journal(item, value, began.get(id(value), 0))
        elif isinstance(value, LabServer):
            repeat = [] if value.seed is None else [_repeat(item, value.seed)]
            log = value.log(RECORDS) or "no refusals, warnings or mails"
            yield f"{name}: the log", "\n".join([*repeat, log])
    if hidden := item.stash.get(COUNT, 0):
        yield "labkit", f"{hidden} frames of labkit and its libraries are hidden; {TRACE_OPTION} shows them"


def _journal(item: pytest.Item, lab: Lab, began: int) -> str:
    try:
        records = lab.journal.select()
    except LabError as error:  # its server is gone
        return "\n".join([*([] if lab.seed is None else [_repeat(item, lab.seed)]), str(error)])
    if records and records[-1].sequence >= began:  # otherwise the test has cleared the journal
        records = [each for each in records if each.sequence > began]
    lines = [] if lab.seed is None else [_repeat(item, lab.seed)]
    problems = [each for each in records if is_problem(each) or _failed(each)][-RECORDS:]
    if problems:
        lines += ["refusals and other problems:", *map(_line, problems)]
    others = [each for each in records if each not in problems]
    rest = others[len(others) - (RECORDS - len(problems)) :] if len(problems) < RECORDS else []
    if rest:
        other = "other " if problems else ""
        lines += [f"the last {len(rest)} of {len(others)} {other}records:", *map(_line, rest)]
    return "\n".join(lines if records else [*lines, "the journal is empty"])


def _failed(record: RecordLike) -> bool:
    """Return whether a request got no answer, or not all of it, or a service refused a call."""
    if record.kind == "call":
        return record.status is not None and record.status >= FAILED
    return record.kind == "request" and "reason" in (record.detail or {})


def _line(record: Entry) -> str:
    when = datetime.fromtimestamp(record.time / 1_000_000, UTC)
    return one_line(f"{when:%Y-%m-%d %H:%M:%S}.{when.microsecond // 1000:03} {record_line(record)}", LONGEST)


def _repeat(item: pytest.Item, seed: int) -> str:
    """Return the command that repeats a test with the same seed."""
    return f"repeat it: pytest {shlex.quote(node_id(item))} {SEED_OPTION}={seed}"
