"""Types and validators of arguments that several services share."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from labkit.core.bounded import LARGEST_BITS
from labkit.core.errors import ServiceError
from labkit.services.bounds import fits, is_deep

MOST_LISTED = 10_000
LONGEST_WHOLE = 20  # digits; the database stores at most 19
EXPONENT_FROM = 1e21  # whole floats below this are written without an exponent, as in JSON.stringify


def matching(pattern: str, expected: str) -> AfterValidator:
    """Return a validator that accepts a text if a pattern matches all of it. expected: for the error message."""
    form = re.compile(pattern)

    def check(text: str) -> str:
        if not form.fullmatch(text):
            raise ValueError(f"expected {expected}")
        return text

    return AfterValidator(check)


def as_list(value: object) -> object:
    """Return a value as a list, for BeforeValidator. A single item or an empty table of a script becomes a list.

    Raises ValueError for more than MOST_LISTED items: pydantic would first describe the errors of all of them.
    """
    if isinstance(value, list | tuple) and len(value) > MOST_LISTED:
        raise ValueError(f"expected at most {MOST_LISTED} items, not {len(value)}")
    if value == {}:
        return []
    return [value] if isinstance(value, Mapping | str) else value


def expect_plain(value: object, most: int) -> object:
    """Return a value of texts, numbers, booleans, lists and tables. Raises ValueError for another one.

    most: characters and items of the value.
    """
    if is_deep(value) or not fits(value, most):
        raise ValueError(f"expected at most {most} characters and items")
    try:
        json.dumps(value)
    except TypeError as error:
        raise ValueError(f"expected texts, numbers, booleans, lists and tables: {error}") from None
    return value


def none_to_empty(value: object) -> object:
    """Return [] for None, for a BeforeValidator that runs before `as_list`."""
    return [] if value is None else value


def is_unicode(text: str) -> bool:
    """Return whether a text is valid Unicode. Bytes of a script that are not UTF-8 arrive as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def expect_unicode(text: str) -> str:
    """Return a text. Raises ValueError if it is not valid Unicode."""
    if not is_unicode(text):
        raise ValueError("expected valid Unicode")
    return text


VALID = AfterValidator(expect_unicode)  # of a text; refuses one that is not Unicode


def as_text(value: object) -> object:
    """Return a number of a script as text, for BeforeValidator. Raises ValueError for a text that is not Unicode."""
    return expect_unicode(value) if isinstance(value, str) else as_name(value)


def json_number(value: int | float) -> str:
    """Return a number as JSON text; whole floats have no decimal point. Raises ServiceError 400."""
    if isinstance(value, int):
        if value.bit_length() > LARGEST_BITS:
            raise ServiceError(400, f"expected a number of at most {LARGEST_BITS} bits")
        return str(value)
    return str(int(value)) if value.is_integer() and abs(value) < EXPONENT_FROM else repr(value)


def _whole(value: object) -> object:
    """Return a whole number of a script as an integer, from a number or text; booleans and the text -0 are refused."""
    if isinstance(value, bool) or (
        isinstance(value, str) and not re.fullmatch("[0-9]+|-0*[1-9][0-9]*", value)
    ):
        raise ValueError("expected a whole number")
    if not isinstance(value, str):
        return value
    digits = value.lstrip("-0") or "0"
    if len(digits) > LONGEST_WHOLE:
        raise ValueError(f"expected a whole number of at most {LONGEST_WHOLE} digits")
    return int(f"-{digits}" if value.startswith("-") else digits)


def number_text(value: object) -> str:
    """Return a number as JSON text, or a short text as it is; empty for any other value."""
    if isinstance(value, int | float):
        return json_number(value) if abs(value) < EXPONENT_FROM else ""
    return value if isinstance(value, str) and len(value) <= LONGEST_WHOLE else ""


def as_name(value: object) -> object:
    """Return the name of something as text; scripts may pass one of digits as a number."""
    return json_number(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def not_boolean(value: object) -> object:
    """Return a value other than a boolean, for a BeforeValidator of a number. Raises ValueError."""
    if isinstance(value, bool):
        raise ValueError("expected a number")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
Offset = Annotated[Whole, Field(ge=0, lt=2**63)]
Limit = Annotated[Whole, Field(ge=1, le=MOST_LISTED)]
