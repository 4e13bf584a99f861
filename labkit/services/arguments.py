"""What arguments of several services have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

MOST_LISTED = 10_000
LONGEST_WHOLE = 20  # digits: the database holds no more than 19
IN_FULL = 1e21  # below it whole numbers are written without an exponent, as in JSON


def matching(pattern: str, expected: str) -> AfterValidator:
    """Takes a text that a pattern matches as a whole. expected: what errors say it should be."""
    form = re.compile(pattern)

    def check(text: str) -> str:
        if not form.fullmatch(text):
            raise ValueError(f"expected {expected}")
        return text

    return AfterValidator(check)


def listed(value: object) -> object:
    """For BeforeValidator: one item may stand for a list of one, and an empty table may look like an object.

    Raises ValueError for more items than are looked at: each that is wrong is described before any is told.
    """
    if isinstance(value, list | tuple) and len(value) > MOST_LISTED:
        raise ValueError(f"expected at most {MOST_LISTED} items, not {len(value)}")
    if value == {}:
        return []
    return [value] if isinstance(value, Mapping | str) else value


def none_given(value: object) -> object:
    """For BeforeValidator, before `listed`: null stands for an empty list."""
    return [] if value is None else value


def is_unicode(text: str) -> bool:
    """Can a text be stored and sent? What a script has that is no UTF-8 arrives as halves of surrogate pairs."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def written(value: int | float) -> str:
    """A number as JSON writes it; a whole one without a decimal point, whatever its type."""
    if isinstance(value, int):
        return str(value)
    return str(int(value)) if value.is_integer() and abs(value) < IN_FULL else repr(value)


def _whole(value: object) -> object:
    """Scripts pass whole numbers as numbers (which may be floats) and as text; true is none."""
    if isinstance(value, bool) or (isinstance(value, str) and not re.fullmatch("-?[0-9]+", value)):
        raise ValueError("expected a whole number")
    if not isinstance(value, str):
        return value
    digits = value.lstrip("-0") or "0"
    if len(digits) > LONGEST_WHOLE:
        raise ValueError(f"expected a whole number of at most {LONGEST_WHOLE} digits")
    return int(f"-{digits}" if value.startswith("-") else digits)


Whole = Annotated[int, BeforeValidator(_whole)]
