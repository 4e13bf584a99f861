"""Points in the line protocol of InfluxDB: `measurement,tag=value field=1.5,other="text" 1480000000000000000`."""

from __future__ import annotations

import re

from labkit.core.errors import ServiceError
from labkit.services.series.arguments import MOST_POINTS, MOST_TAGS, checked_name, checked_value
from labkit.services.series.store import SeriesPoint, Value, tags_text
from labkit.services.series.times import EARLIEST, LATEST

_NAME = r"(?:\\.|[^\\,= \n])+"  # a backslash makes a comma, an equals sign or a space part of the name
_MEASUREMENT = re.compile(r"((?:\\.|[^\\, \n])+)")
_TAG = re.compile(rf",({_NAME})=({_NAME})")
_SPACES = re.compile(r" +")
_FIELD = re.compile(rf'({_NAME})=(?:"((?:\\.|[^"\\])*)"|([^", \r\n]+))', re.DOTALL)
_TIME = re.compile(r" +(-?[0-9]{1,19})")
_END = re.compile(r" *\r?(?:\n|$)")
_SKIPPED = re.compile(r"(?:[ \r\n]+|#[^\n]*(?:\n|$))+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_INTEGER = re.compile(r"([+-]?[0-9]{1,19})[iu]")
_TRUE, _FALSE = (
    frozenset({"t", "T", "true", "True", "TRUE"}),
    frozenset({"f", "F", "false", "False", "FALSE"}),
)
_ESCAPED_NAME = re.compile(r"\\([,= ])")
_ESCAPED_TEXT = re.compile(r'\\(["\\])')
SHOWN = 40  # characters of the line in an error


def parse_lines(text: str, now: int, per_unit: float) -> list[SeriesPoint]:
    """Return the points of a text. now: microseconds where a line has no time; per_unit: microseconds of its unit.

    Raises ServiceError 400, naming the line, for one of another form or out of bounds.
    """
    points: list[SeriesPoint] = []
    at = _skip(text, 0)
    while at < len(text):
        try:
            at = _skip(text, _parse_line(text, at, now, per_unit, points))
        except ValueError as error:
            number = text.count("\n", 0, at) + 1
            shown = text[at : at + SHOWN].partition("\n")[0]
            raise ServiceError(400, f"line {number} of query, {shown!r}: {error}") from None
        if len(points) > MOST_POINTS:
            raise ServiceError(400, f"expected at most {MOST_POINTS} values in query")
    if not points:
        raise ServiceError(400, "expected at least one line in query, as 'temperature,room=hall value=21.5'")
    return points


def _skip(text: str, at: int) -> int:
    """Return the start of the next line that is neither empty nor a comment."""
    match = _SKIPPED.match(text, at)
    return at if match is None else match.end()


def _parse_line(text: str, at: int, now: int, per_unit: float, points: list[SeriesPoint]) -> int:
    """Add the points of a line, and return its end. Raises ValueError."""
    match = _MEASUREMENT.match(text, at)
    if match is None:
        raise ValueError("expected the name of a measurement")
    name, at = checked_name(_name(match[1])), match.end()
    tags: dict[str, str] = {}
    while match := _TAG.match(text, at):
        tags[checked_name(_name(match[1]))] = checked_name(_name(match[2]))
        at = match.end()
        if len(tags) > MOST_TAGS:
            raise ValueError(f"expected at most {MOST_TAGS} tags")
    match = _SPACES.match(text, at)
    if match is None:
        raise ValueError("expected a tag as ',room=hall', or a space and a field")
    fields, at = _parse_fields(text, match.end())
    time = now
    if match := _TIME.match(text, at):
        at = match.end()
        time = int(int(match[1]) * per_unit) if per_unit >= 1 else int(match[1]) // 1000
        if not EARLIEST <= time <= LATEST:
            raise ValueError("expected a time between 1970 and 9999")
    match = _END.match(text, at)
    if match is None:
        raise ValueError("expected a time in whole numbers, or the end of the line, after the fields")
    own = tags_text(tags)
    points += [SeriesPoint(name, own, time, value, field) for field, value in fields.items()]
    return match.end()


def _parse_fields(text: str, at: int) -> tuple[dict[str, Value], int]:
    fields: dict[str, Value] = {}
    while True:
        match = _FIELD.match(text, at)
        if match is None:
            raise ValueError('expected a field, as value=21.5 or state="on"')
        field = checked_name(_name(match[1]))
        value: object = _ESCAPED_TEXT.sub(r"\1", match[2]) if match[2] is not None else _plain(match[3])
        fields[field], at = checked_value(field, value), match.end()
        if text[at : at + 1] != ",":
            return fields, at
        at += 1


def _name(text: str) -> str:
    return _ESCAPED_NAME.sub(r"\1", text)


def _plain(text: str) -> object:
    """Return the number or boolean that a text without quotes means. Raises ValueError for any other text."""
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if match := _INTEGER.fullmatch(text):
        return int(match[1])
    if _NUMBER.fullmatch(text):
        return float(text)
    raise ValueError('expected a number, a boolean, or a text in quotes, as state="on"')
