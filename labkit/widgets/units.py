"""Units and bounds of axes: durations, rates, counts, and the speed of lab time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

LEAST_COUNT = 4  # lowest end of an axis of counts, so that a count of 1 does not fill the picture
RATES = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
NO_DECADES = (-3, -2)  # of an axis on which nothing is above 0: 1 ms to 10 ms


def duration(seconds: float) -> str:
    """Return a duration of 1, 2 or 5 times a power of ten as the label of a tick: `20 ms`, `100 s`."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 0.9995 or not seconds:
            return f"{seconds * factor:,.4g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def rate_unit(most: float) -> str:
    """Return the smallest unit of time in which this rate (per second) is 1 or more: `second`, `minute` …"""
    if not 0 < most < 1:  # NaN too
        return "second"
    return next((name for name, seconds in RATES.items() if most * seconds >= 1), "day")


def shown_rates(rates: pandas.DataFrame) -> pandas.DataFrame:
    """Return rates per second in a suitable unit, as a column named after it (`requests per minute`)."""
    [column] = rates
    unit = rate_unit(float(rates[column].max()))
    shown: pandas.DataFrame = (rates[[column]] * RATES[unit]).round(9)
    return shown.rename(columns={column: f"requests per {unit}"})


def decades(values: pandas.DataFrame) -> tuple[int, int, bool]:
    """Return the powers of ten around the positive values, and whether any value is 0, which has no logarithm."""
    numbers = values.to_numpy(dtype="float64")
    above = numbers[numbers > 0]
    zero = bool((numbers == 0).any())
    if not len(above):
        return (*NO_DECADES, zero)
    low, high = math.floor(math.log10(above.min()) + 1e-9), math.ceil(math.log10(above.max()) - 1e-9)
    return low, max(high, low + 1), zero


def speed(rate: float | None) -> str:
    """Return the speed of lab time in words; empty if it changed or is unknown. rate: as of `lab_time`."""
    if rate is None:
        return ""
    if not rate:
        return "virtual clock"
    return "as fast as real time" if rate == 1 else f"{rate:g} × real time"


def in_words(kind: str) -> str:
    """Return a kind of error with the phrase of its HTTP status: `503 Service Unavailable`."""
    from http import HTTPStatus

    try:
        return f"{kind} {HTTPStatus(int(kind)).phrase}"
    except ValueError:
        return kind


def lab_time(rate: float | None) -> str:
    """Return the label of an axis of lab time.

    rate: seconds of lab time per real second, 0 for a virtual clock, None if it changed or is unknown.
    """
    return ", ".join(filter(None, ["lab time (UTC)", speed(rate)]))
