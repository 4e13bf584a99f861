"""What a request to the messaging provider carries: a form or a query, bounded before it is looked at.

Parameters that the API does not know are ignored, as its public original does.
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
MOST = 20  # tags and identities that one request may name
NAME = 100  # characters of an identity, a tag, an endpoint
TEXT = 4096  # characters of a text that people read
DEEPEST = 20  # objects and lists within each other, in JSON

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKETS = re.compile(r"[][{}]")
_NUMBER = re.compile(r"[0-9]{1,9}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class FormParameters:
    """The parameters of a request, by name; some come several times."""

    def __init__(self, text: str) -> None:
        """text: as it was sent, percent-encoded. Raises ApiError 400 for what is no form, 413 for too many fields."""
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
        """Those of the parameters that the API knows, in one text each."""
        return {name: ", ".join(values) for name, values in self._values.items() if name in names}

    def values(self, name: str) -> list[str]:
        """All values of a parameter, as they came."""
        return list(self._values.get(name, ()))

    def text(self, name: str, longest: int = TEXT) -> str | None:
        """The text of a parameter; None where it is not there, or empty."""
        values = self._values.get(name, [""])
        if len(values) > 1:
            raise wrong(name, "expected one value, not several")
        if len(values[0]) > longest:
            raise wrong(name, f"expected at most {longest} characters")
        return values[0] or None

    def required(self, name: str, longest: int = TEXT) -> str:
        """As `text`. Raises ApiError 400 where there is none."""
        found = self.text(name, longest)
        if found is None:
            raise wrong(name, "is required")
        return found

    def several(self, name: str, code: int | None = None, most: int = MOST) -> tuple[str, ...]:
        """The values of a parameter that may come more than once, each one once. code: of the error for too many."""
        values = self._values.get(name, [])
        if len(values) > most:
            raise ApiError(400, f"{name}: expected at most {most}, not {len(values)}", code)
        if not all(1 <= len(each) <= NAME for each in values):
            raise wrong(name, f"expected 1 to {NAME} characters each")
        return tuple(dict.fromkeys(values))

    def one_of(self, name: str, choices: tuple[str, ...]) -> str | None:
        """One of a few words. Raises ApiError 400 for another."""
        found = self.text(name)
        if found is not None and found not in choices:
            raise wrong(name, f"expected one of {', '.join(choices)}")
        return found

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number. Raises ApiError 400 for what is none, or out of bounds."""
        found = self.text(name)
        if found is None:
            return default
        if not _NUMBER.fullmatch(found) or not least <= int(found) <= most:
            raise wrong(name, f"expected a whole number from {least} to {most}")
        return int(found)

    def day(self, name: str) -> int | None:
        """The Unix second in which a day begins, in UTC. Raises ApiError 400 for what is no YYYY-MM-DD."""
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
        """A JSON object, given as text. Raises ApiError 400 for what is none, or too deep."""
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
        json.dumps(value, ensure_ascii=False).encode()  # halves of surrogate pairs are no text
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
    """`second` (Unix) in ISO 8601, UTC."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")


def keys(value: object, *, deep: bool = True) -> list[str]:
    """The keys of an object; deep: also of those within it."""
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
