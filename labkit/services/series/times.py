"""Times and durations of time series: lab time in whole microseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from labkit.services.arguments import number_text

SECOND = 1_000_000  # microseconds
UNITS = {
    "ns": 0.001,
    "u": 1,
    "us": 1,
    "µ": 1,
    "ms": 1000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
    "d": 86_400 * SECOND,
    "w": 7 * 86_400 * SECOND,
}
EARLIEST, LATEST = 0, 253_402_300_799_999_999  # 1970 to the end of 9999
LONGEST_TEXT = 40  # characters of a time

UNIT_NAMES = {"ns": "nanoseconds", "u": "microseconds", "ms": "milliseconds"}
_EPOCH_NUMBER = re.compile(r"([1-3][0-9]{9}(?:[0-9]{3}){0,2})(?:\.[0-9]+)?")  # since 2001, in s, ms or u
_NUMBER = re.compile(r"([0-9]{1,18})(ms|us|u|s)?")
_DURATION = re.compile(r"([+-]?)([0-9]{1,18})(ms|us|u|s|m|h|d|w)")
_DATE = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]((?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(seconds: float) -> int:
    """Return lab time in seconds as microseconds."""
    return round(seconds * SECOND)


def parse_time(value: object) -> int:
    """Return a time in microseconds: a number of microseconds, a text such as "1480000000s", or RFC 3339.

    Raises ValueError for any other value, and for a time before 1970 or after 9999.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("expected a time, as 1480000000000000 or '1480000000s'")
    if isinstance(value, str):
        time = _parse_text(value[: LONGEST_TEXT + 1])
    else:
        time = int(value) if abs(value) <= LATEST else LATEST + 1
    if not EARLIEST <= time <= LATEST:
        raise ValueError("expected a time between 1970 and 9999")
    return time


def _parse_text(text: str) -> int:
    if match := _NUMBER.fullmatch(text):
        return int(match[1]) * int(UNITS[match[2] or "u"])
    return parse_date(text)


def parse_date(text: str) -> int:
    """Return the microseconds of a date of RFC 3339, whose time and zone may be left out. Raises ValueError."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError("expected a time, as '1480000000s' or '2026-01-31T12:00:00Z'")
    day, clock, fraction, zone = match.groups()
    try:
        date = datetime.fromisoformat(f"{day}T{clock or '00:00:00'}{zone or 'Z'}")
    except ValueError:
        raise ValueError(f"there is no time {text!r}") from None
    whole = (date - _EPOCH) // timedelta(microseconds=1)
    return whole + int((fraction or "").ljust(6, "0")[:6])


def unit_hint(value: object, unit: str, remedy: str) -> str:
    """Return a sentence about a number that in its unit is soon after 1970, and in a longer one between 2001 and 2100.

    remedy: what to pass instead, with {} for the number and the unit. Empty for any other value.
    """
    match = _EPOCH_NUMBER.fullmatch(number_text(value))
    meant = ("s", "ms", "u")[(len(match[1]) - 10) // 3] if match else unit
    if match is None or UNITS[meant] <= UNITS[unit]:
        return ""
    number = int(match[1])
    at = shown_time(int(number * UNITS[unit]), None)
    return f"{number} is {at} in {UNIT_NAMES[unit]}; did you mean {remedy.format(number, meant)}?"


def parse_duration(text: str) -> int:
    """Return the microseconds of a duration such as "-1d" or "90s", with its sign. Raises ValueError."""
    match = _DURATION.fullmatch(text) if len(text) <= LONGEST_TEXT else None
    if match is None:
        raise ValueError("expected a duration, as '-1d' or '30m'; units are u, ms, s, m, h, d and w")
    size = int(match[2]) * int(UNITS[match[3]])
    return -size if match[1] == "-" else size


def shown_time(time: int, epoch: str | None) -> int | str:
    """Return a time in the unit `epoch`, or as RFC 3339 in UTC for None."""
    if epoch is not None:
        return time // int(UNITS[epoch]) if epoch != "ns" else time * 1000
    seconds, fraction = divmod(time, SECOND)
    part = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{_day(seconds // 86_400)}{_minute(seconds // 60 % 1440)}{seconds % 60:02}{part}Z"


@lru_cache(maxsize=1440)
def _minute(number: int) -> str:
    """Return the hour and the minute of a minute of the day, as they stand before its seconds."""
    return f"{number // 60:02}:{number % 60:02}:"


@lru_cache(maxsize=64)
def _day(number: int) -> str:
    """Return the date of a day since 1970, as a time begins with it."""
    return f"{(_EPOCH + timedelta(days=number)).date().isoformat()}T"
