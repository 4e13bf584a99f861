"""Errors of a check caused by a value of the target: no number, no such field, a list instead of a table."""

from __future__ import annotations

import traceback
from pathlib import Path

from labkit.conformance import expect
from labkit.conformance.verdict import Mismatch

# Parsing an answer, or computing with it, may raise these. Others (NameError, ImportError) are errors of the check.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError)
OWN = Path(__file__).parent
RUNNER = "runner.py"  # calls the function of a check


def unreadable(error: Exception) -> Mismatch:
    """Return a mismatch that names where a check could not read a value of the target, and shows the last answer."""
    import httpx

    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    files = [Path(each.f_code.co_filename) for each in frames]
    begin = max((number for number, each in enumerate(files, 1) if each == OWN / RUNNER), default=0)
    inner = list(zip(frames, files, strict=True))[begin:]
    # The innermost frame of labkit's checks; for a check of one's own, its function.
    places = [each for each in inner if each[1].is_relative_to(OWN)][-1:] or inner[:1]
    shown = ""
    # The answer of the innermost frame counts. Those of the runner are left out: its locals refer to the error.
    for frame, _ in inner:
        for value in frame.f_locals.values():
            if isinstance(value, httpx.Response):
                shown = expect.exchange(value)
            elif isinstance(value, expect.Shown) and not isinstance(value, type):
                shown = value.shown()
    where = f"{places[0][0].f_code.co_name}, {places[0][1].name}" if places else "the check"
    said = expect.hidden(f"{type(error).__name__}: {error}")[: expect.LONGEST]
    return Mismatch(f"an answer that {where} could read", "a value as the documents have it", said, shown)
