"""Arguments of Tsdb operations: times, and what a query may ask for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainValidator

from labkit.core.errors import ServiceError
from labkit.core.words import counted
from labkit.services.arguments import Whole, is_unicode
from labkit.services.operation import Advice
from labkit.services.redaction import MOST_ITEMS, InJournal, lengths
from labkit.services.series.arguments import (
    LONGEST_NAME,
    MOST_POINTS,
    checked_metrics,
    checked_tags,
)
from labkit.services.series.store import SeriesPoint, Value, Window, tags_text
from labkit.services.series.times import EARLIEST, LATEST, UNITS, parse_duration, parse_time, unit_hint

MOST_ROWS = 10_000
MOST_LISTED = 1000  # metrics, or values of tags, of one call
LONGEST_CURSOR = 6 * LONGEST_NAME  # characters
DEFAULT_SPAN = int(UNITS["w"])  # microseconds that a query without a beginning reads
FUNCTIONS = {"avg": "mean", "min": "min", "max": "max", "count": "count", "sum": "sum"}


def _time(value: object) -> int:
    return parse_time(value)


def _time_hint(value: object, given: Mapping[str, object]) -> str:
    return unit_hint(value, "u", "'{}{}'")


def _span(value: object) -> int:
    """Return how far back a time is, in microseconds: "-1d" and "1d" mean the same."""
    if not isinstance(value, str):
        raise ValueError("expected a duration, as '-1d'")
    return abs(parse_duration(value))


def _size(value: object) -> int:
    size = _span(value)
    if not size:
        raise ValueError("expected a duration above 0, as '1m'")
    return size


def _functions(value: object) -> list[str]:
    listed = value if isinstance(value, list | tuple) else [value]
    if len(listed) == 1 and isinstance(listed[0], str):
        listed = [each.strip() for each in listed[0][: LONGEST_NAME + 1].split(",")]
    wrong = [each for each in listed[:MOST_ITEMS] if not isinstance(each, str) or each not in FUNCTIONS]
    if wrong or not 1 <= len(listed) <= len(FUNCTIONS):
        raise ValueError(f"expected one or several of: {', '.join(FUNCTIONS)}")
    return list(dict.fromkeys(listed))


def _fill(value: object) -> str | int | float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(FILL)
    if isinstance(value, int | float):
        if not abs(value) <= 2**53:
            raise ValueError(FILL)
        return value
    if value not in ("null", "previous", "none"):
        raise ValueError(FILL)
    return value


FILL = "expected 'null', 'previous', 'none' or a number"


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) and len(value) <= LONGEST_NAME else value


def checked_point(given: object, now: int) -> list[SeriesPoint]:
    """Return the points of one entry of multiWrite. now: the time where it has none. Raises ValueError."""
    if not isinstance(given, Mapping):
        raise ValueError("expected a table of metrics, tags and ts")
    time = parse_time(given["ts"]) if given.get("ts") is not None else now
    return points_of(checked_metrics(given.get("metrics")), checked_tags(given.get("tags")), time)


def points_of(metrics: Mapping[str, Value], tags: Mapping[str, str], time: int) -> list[SeriesPoint]:
    """Return the points of a write, one for each metric."""
    text = tags_text(tags)
    return [SeriesPoint(name, text, time, value) for name, value in metrics.items()]


def _cursor(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_CURSOR or not is_unicode(value):
        raise ValueError("expected the cursor of an earlier result")
    return value


def tags_cursor(pair: Sequence[str]) -> str:
    """Return the cursor of listTags behind a name and a value."""
    return json.dumps(pair, ensure_ascii=False)


def read_tags_cursor(text: str | None) -> tuple[str, ...]:
    """Return the name and the value behind which listTags goes on. Raises ServiceError 400."""
    if text is None:
        return "", ""
    try:
        match json.loads(text):
            case [str() as name, str() as value] if is_unicode(name + value):
                return name, value
    except (ValueError, RecursionError):
        pass
    raise ServiceError(400, "Parameter next validation failed: expected the cursor of an earlier result.")


def _datapoints(value: object) -> list[object]:
    if value == {}:
        return []
    if not isinstance(value, list | tuple):
        raise ValueError("expected a list of tables of metrics, tags and ts")
    if len(value) > MOST_POINTS:
        raise ValueError(f"expected at most {MOST_POINTS} datapoints, not {len(value)}")
    return list(value)


def _datapoints_hint(value: object, given: Mapping[str, object]) -> str:
    """Return the hint of the first datapoint that has one."""
    listed = value[:MOST_POINTS] if isinstance(value, list | tuple) else ()
    times = (each.get("ts") if isinstance(each, Mapping) else None for each in listed)
    hints = (f"{number}.ts: {hint}" for number, at in enumerate(times, 1) if (hint := _time_hint(at, {})))
    return next(hints, "")


def _shown_datapoints(value: object) -> object:
    return f"<{counted(len(value), 'datapoint')}>" if isinstance(value, list | tuple) else lengths(value)


def all_points(datapoints: list[object], now: int) -> list[SeriesPoint]:
    """Return the points of multiWrite. Raises ServiceError 400, naming the first invalid datapoint."""
    points: list[SeriesPoint] = []
    for number, given in enumerate(datapoints, start=1):
        try:
            points += checked_point(given, now)
        except ValueError as error:
            raise ServiceError(400, f"Parameter datapoints.{number} validation failed: {error}.") from None
        if len(points) > MOST_POINTS:
            raise ServiceError(
                400, f"Parameter datapoints validation failed: expected at most {MOST_POINTS} values."
            )
    return points


def window(
    now: int,
    starts: tuple[int | None, int | None],
    ends: tuple[int | None, int | None],
    *,
    descending: bool,
    half_open: bool,
) -> Window:
    """Return the window of a query. starts, ends: absolute and relative; half_open: leave out an end that is given.

    Raises ServiceError 400 for both of one.
    """
    for name, (absolute, relative) in (("start", starts), ("end", ends)):
        if absolute is not None and relative is not None:
            raise ServiceError(400, f"expected {name}_time or relative_{name}, not both")
    end = _end(now, *ends) - (half_open and ends != (None, None))
    begin = starts[0] if starts[0] is not None else now - starts[1] if starts[1] is not None else None
    return Window(max(EARLIEST, end - DEFAULT_SPAN if begin is None else begin), end, descending)


def _end(now: int, absolute: int | None, relative: int | None) -> int:
    if absolute is not None:
        return min(absolute, LATEST)
    return now if relative is None else now - relative


Time = Annotated[int, PlainValidator(_time, json_schema_input_type=str | int), Advice(_time_hint)]
Span = Annotated[int, PlainValidator(_span, json_schema_input_type=str)]
Size = Annotated[int, PlainValidator(_size, json_schema_input_type=str)]
Functions = Annotated[list[str], PlainValidator(_functions, json_schema_input_type=str | list[str])]
Fill = Annotated[str | int | float, PlainValidator(_fill)]
Epoch = Literal["s", "ms", "u"]
Order = Annotated[Literal["asc", "desc"], BeforeValidator(_lower)]
Mode = Literal["merge", "split"]
Limit = Annotated[Whole, Field(ge=1, le=MOST_ROWS)]
Listed = Annotated[Whole, Field(ge=1, le=MOST_LISTED)]
Cursor = Annotated[str, PlainValidator(_cursor, json_schema_input_type=str)]
Datapoints = Annotated[
    list[Any], PlainValidator(_datapoints), InJournal(_shown_datapoints), Advice(_datapoints_hint)
]
