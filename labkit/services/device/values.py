"""Numbers, times and values in the arguments and results of remote procedure calls."""

from __future__ import annotations

import math

from labkit.core.errors import ServiceError
from labkit.devices.products import PlatformProduct
from labkit.services.device.errors import wrong_argument
from labkit.services.device_values import value_text

LATEST = 10**12  # largest time of an argument, in seconds
FURTHEST_AHEAD = 60  # seconds, as for values that devices record
EXACT = 2**53  # numbers of scripts are exact up to this


def whole(name: str, value: object, least: int, most: int) -> int:
    """Return a whole number between two. Raises RpcError."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not least <= value <= most
        or value != math.floor(value)
    ):
        raise wrong_argument(f"{name}: expected a whole number from {least} to {most}")
    return int(value)


def stored_value(product: PlatformProduct, alias: str, value: object) -> str:
    """Return a value as it is stored. Raises RpcError for no resource, and a value that it does not accept."""
    if alias not in product.settings.resources:
        raise wrong_argument("no such resource")
    try:
        text = value_text(alias, value)
    except ServiceError as error:
        raise wrong_argument(error.message) from None
    if wrong := product.value_error(alias, text):
        raise wrong_argument(wrong)
    return text


def shown_value(product: PlatformProduct, alias: str, value: str) -> str | int | float:
    """Return a stored value as scripts receive it: a number of a number's resource, otherwise text."""
    if product.settings.resources[alias].format not in ("number", "integer"):
        return value
    try:
        number = float(value)
    except ValueError:  # stored while the resource had another format
        return value
    if not math.isfinite(number):
        return value
    return int(number) if number.is_integer() and abs(number) < EXACT else number


def moment(value: object, now: int) -> int | None:
    """Return the second of a recorded timestamp, None for an invalid one. Negative ones count back from `now`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LATEST:
        return None
    second = math.floor(value if value >= 0 else now + value)
    return second if 0 <= second <= now + FURTHEST_AHEAD else None
