"""Parser of the messaging provider's request parameters (form or query), with limits on their sizes.

Unknown parameters are ignored, as in the public API that this one imitates; notification.py refuses those of that
API that it does not support.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from labkit.providers.messaging.errors import ApiError, wrong

BODY = 256 * 1024  # bytes of a form
JSON = 32 * 1024  # characters of a parameter that holds JSON
FIELDS = 200  # parameters of a form or a query
MOST = 20  # tags or identities of a request
NAME = 100  # characters of an identity, a tag, an endpoint
TEXT = 4096  # characters of a displayed text
DEEPEST = 20  # nested objects and lists, in JSON

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKETS = re.compile(r"[][{}]")
_NUMBER = re.compile(r"[0-9]{1,9}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class FormParameters:
    """Parameters of a request by name; a parameter may occur several times."""

    def __init__(self, text: str) -> None:
        """text: percent-encoded. Raises ApiError 400 if it is not UTF-8, 413 for too many parameters."""
        try:
            pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=FIELDS)
        except UnicodeError:
            raise ApiError(400, "the parameters are not UTF-8") from None
        except ValueError:
            raise ApiError(413, f"there are more than {FIELDS} parameters") from None
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name, []).append(value)

    def shown(self, names: frozenset[str]) -> dict[str, str]:
        """Return the parameters with these names, the values of a parameter joined by commas."""
        return {name: ", ".join(values) for name, values in self._values.items() if name in names}

    def values(self, name: str) -> list[str]:
        """Return all values of a parameter, in the order of the request."""
        return list(self._values.get(name, ()))

    def text(self, name: str, longest: int = TEXT) -> str | None:
        """Return the text of a parameter, or None if missing or empty. Raises ApiError 400 if repeated or too long."""
        values = self._values.get(name, [""])
        if len(values) > 1:
            raise wrong(name, "expected one value, not several")
        if len(values[0]) > longest:
            raise wrong(name, f"expected at most {longest} characters")
        return values[0] or None

    def required(self, name: str, longest: int = TEXT) -> str:
        """Return the text of a parameter. Raises ApiError 400 as `text` does, and if it is missing or empty."""
        found = self.text(name, longest)
        if found is None:
            raise wrong(name, "is required")
        return found

    def several(self, name: str, code: int | None = None, most: int = MOST) -> tuple[str, ...]:
        """Return a repeatable parameter's distinct values. Raises ApiError 400, with `code`, for more than `most`."""
        values = self._values.get(name, [])
        if len(values) > most:
            raise ApiError(400, f"{name}: expected at most {most}, not {len(values)}", code)
        if not all(1 <= len(each) <= NAME for each in values):
            raise wrong(name, f"expected 1 to {NAME} characters each")
        return tuple(dict.fromkeys(values))

    def one_of(self, name: str, choices: tuple[str, ...]) -> str | None:
        """Return a text that must be one of `choices`, or None. Raises ApiError 400 for another text."""
        found = self.text(name)
        if found is not None and found not in choices:
            raise wrong(name, f"expected one of {', '.join(choices)}")
        return found

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """Return a whole number, or the default. Raises ApiError 400 if it is not one, or out of bounds."""
        found = self.text(name)
        if found is None:
            return default
        if not _NUMBER.fullmatch(found) or not least <= int(found) <= most:
            raise wrong(name, f"expected a whole number from {least} to {most}")
        return int(found)

    def day(self, name: str) -> int | None:
        """Return the Unix second at which a day begins in UTC, or None. Raises ApiError 400 if not YYYY-MM-DD."""
        found = self.text(name)
        if found is None:
            return None
        try:
            if not _DAY.fullmatch(found):
                raise ValueError
            return int(datetime.combine(date.fromisoformat(found), datetime.min.time(), UTC).timestamp())
        except ValueError:
            raise wrong(name, "expected a day as YYYY-MM-DD") from None

    def object(self, name: str) -> dict[str, Any] | None:
        """Return a JSON object, or None. Raises ApiError 400 if the text is not one, or is nested too deep."""
        found = self.text(name, JSON)
        return None if found is None else _object(name, found)


def _object(name: str, text: str) -> dict[str, Any]:
    depth = deepest = 0
    for bracket in _BRACKETS.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    if deepest > DEEPEST:
        raise wrong(name, f"expected at most {DEEPEST} objects and lists within each other")
    try:
        value = json.loads(text, parse_float=_finite, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False).encode()  # raises UnicodeEncodeError for lone surrogates
    except ValueError:
        raise wrong(name, "expected a JSON object") from None
    if not isinstance(value, dict):
        raise wrong(name, "expected a JSON object")
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def iso(second: int) -> str:
    """Return a Unix second as ISO 8601 text in UTC."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")


def keys(value: object, *, deep: bool = True) -> list[str]:
    """Return the keys of an object; deep: also the keys of nested objects."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            found += each
            waiting += each.values() if deep else ()
        elif isinstance(each, list):
            waiting += each
    return found
