"""Parser of arrival rates on the command line."""

from __future__ import annotations

import re

from labkit.core.errors import LabError
from labkit.fleet.shapes import DailyWave, Flat, Ramp, Shape, Steps

UNITS = {"s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}
NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)"
RATE = re.compile(rf"({NUMBER})/(s|min|h|d)")
RANGE = re.compile(rf"({NUMBER})\.\.({NUMBER})/(s|min|h|d):(?:({NUMBER})(s|min|h|d)|(daily))")
STEP = re.compile(rf"({NUMBER})(s|min|h|d)={RATE.pattern}")
EXPECTED = (
    "expected a rate such as 50/s, 0.1/s or 30/min, a ramp 1..50/s:10min, a daily wave 1..5/s:daily, "
    "or steps 0s=1/s,60s=50/s"
)


def rate_of(text: str) -> Shape:
    """Return the shape described by a text: a rate, a ramp between two rates, a daily wave, or steps.

    Units: s, min, h, d. Raises LabError for any other text.
    """
    given = text.replace(" ", "")
    if found := RATE.fullmatch(given):
        return Flat(float(found[1]) / UNITS[found[2]])
    if found := RANGE.fullmatch(given):
        low, high = (float(found[at]) / UNITS[found[3]] for at in (1, 2))
        if found[6]:
            return DailyWave(low, high)
        return Ramp(low, high, float(found[4]) * UNITS[found[5]])
    steps = [STEP.fullmatch(each) for each in given.split(",")]
    levels = {
        float(each[1]) * UNITS[each[2]]: float(each[3]) / UNITS[each[4]] for each in steps if each is not None
    }
    if len(levels) != len(steps):
        raise LabError(f"{EXPECTED}; not {text!r:.100}")
    return Steps(levels)
