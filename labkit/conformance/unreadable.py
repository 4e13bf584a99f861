"""Errors of a check caused by a value of the target: no number, no such field, a list instead of a table."""

from __future__ import annotations

import traceback
from pathlib import Path

from labkit.conformance import expect
from labkit.conformance.verdict import Mismatch

# Parsing an answer, or computing with it, may raise these. Others (NameError, ImportError) are errors of the check.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError)
OWN = Path(__file__).parent


def unreadable(error: Exception) -> Mismatch:
    """Return a mismatch that names where a check could not read a value of the target, and shows the last answer."""
    import httpx

    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = [each for each in frames if Path(each.f_code.co_filename).is_relative_to(OWN)]
    shown = ""
    for frame in frames:  # the answer of the innermost frame counts
        for value in frame.f_locals.values():
            if isinstance(value, httpx.Response):
                shown = expect.exchange(value)
            elif isinstance(value, expect.Shown) and not isinstance(value, type):
                shown = value.shown()
    where = f"{own[-1].f_code.co_name}, {Path(own[-1].f_code.co_filename).name}" if own else "the check"
    said = expect.hidden(f"{type(error).__name__}: {error}")[: expect.LONGEST]
    return Mismatch(f"an answer that {where} could read", "a value as the documents have it", said, shown)
