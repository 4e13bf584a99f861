"""Moments of timers that repeat by the calendar: the hours, days, weeks, months and years since one was set, in UTC."""

from __future__ import annotations

from calendar import monthrange
from datetime import MAXYEAR, UTC, datetime, timedelta

from pydantic import BaseModel, ConfigDict, StrictBool

MICROS = 1_000_000
START = 978_307_200 * MICROS  # 1 January 2001, 0:00, a Monday: an hour, day, week, month and year begin
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
NEVER = 253_402_300_800 * MICROS  # the end of the last year that dates have
STEPS = {"hourly": 3600 * MICROS, "daily": 86_400 * MICROS, "weekly": 7 * 86_400 * MICROS}
MONTHS = {"monthly": 1, "yearly": 12}
KINDS = (*STEPS, *MONTHS)


class Schedule(BaseModel):
    """Kinds of repetition that are on."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    hourly: StrictBool = False
    daily: StrictBool = False
    weekly: StrictBool = False
    monthly: StrictBool = False
    yearly: StrictBool = False

    def kinds(self) -> list[str]:
        """Return the kinds that are on."""
        return [kind for kind in KINDS if getattr(self, kind)]


def next_moment(kind: str, anchor: int, after: int) -> int:
    """Return the first moment of a repetition behind a time. Times are microseconds; anchor: one of its moments.

    A month without the anchor's day has its last day instead: 31 January, 28 February, 31 March.
    """
    if kind in STEPS:
        return anchor + ((after - anchor) // STEPS[kind] + 1) * STEPS[kind]
    begin = BEGINNING + timedelta(microseconds=anchor)
    now = BEGINNING + timedelta(microseconds=after)
    passed = (now.year - begin.year) * 12 + now.month - begin.month
    count = passed // MONTHS[kind] * MONTHS[kind]
    while True:
        year, month = divmod(begin.year * 12 + begin.month - 1 + count, 12)
        if year > MAXYEAR:
            return NEVER
        day = min(begin.day, monthrange(year, month + 1)[1])
        found = begin.replace(year=year, month=month + 1, day=day) - BEGINNING
        if (moment := found // timedelta(microseconds=1)) > after:
            return moment
        count += MONTHS[kind]
