"""Formatting and addition of floats as in Redis, with the same result on every machine."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

_WHOLE = 2.0**52  # Redis prints smaller whole doubles as integers (util.c, double2ll)
_MANTISSA = 64  # bits of the x87 long double that INCRBYFLOAT computes with
_PLACES = 17  # decimal places of INCRBYFLOAT's reply (util.c, ld2string)


def format_double(value: float) -> str:
    """Return a double as Redis formats it: the fewest digits that read back the same (Redis 7.2 and later, fpconv)."""
    if not math.isfinite(value):
        return str(value)
    if value.is_integer() and abs(value) < _WHOLE:
        return str(int(value)) if value or math.copysign(1, value) > 0 else "-0"
    sign, digits, point = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(point, int)
    text = "".join(map(str, digits))
    magnitude = point + len(text) - 1
    if point >= 0 and magnitude < len(text) + 7:
        shown = text + "0" * point
    elif point < 0 and (point > -7 or abs(magnitude) < 4):
        text = text.rjust(1 - point, "0")
        shown = f"{text[:point]}.{text[point:]}"
    else:
        shown = text[0] + (f".{text[1:]}" if len(text) > 1 else "") + f"e{magnitude:+d}"
    return "-" * sign + shown


def add_decimals(one: bytes, other: bytes) -> bytes:
    """Return the sum of two decimal numbers as INCRBYFLOAT does, with the precision of Redis' long double."""
    total = _extended(_read(one) + _read(other))
    scaled = round(total * 10**_PLACES)
    whole, fraction = divmod(abs(scaled), 10**_PLACES)
    text = f"{whole}.{fraction:0{_PLACES}d}".rstrip("0").rstrip(".")
    return (text if scaled >= 0 else f"-{text}").encode()


def _read(text: bytes) -> Fraction:
    if not float(text):
        return Fraction(0)  # also for 0e999999999, whose power of ten would take long
    return _extended(Fraction(text.decode()))


def _extended(value: Fraction) -> Fraction:
    """Return the nearest number with a mantissa of 64 bits."""
    if not value:
        return value
    shift = _MANTISSA - (abs(value.numerator).bit_length() - value.denominator.bit_length())
    unit = Fraction(2) ** shift
    if abs(value) * unit >= 2**_MANTISSA:
        unit /= 2
    return Fraction(round(value * unit)) / unit
