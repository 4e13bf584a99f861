"""Columns of a SELECT from their text: fields, functions of them, and functions of those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.services.series.summaries import FUNCTIONS
from labkit.services.timeseries.statements import SelectColumn, refuse
from labkit.services.timeseries.transformations import TRANSFORMATIONS, Transformation

CALLS = (*(name for name in FUNCTIONS if " " not in name), "percentile", "distinct", *TRANSFORMATIONS)
MOST_AVERAGED = 10_000  # values of one moving average


def read_column(column: Any, alias: str) -> SelectColumn:
    """Return a column. column: a name, or a call as the grammar has it. Raises ServiceError 400, naming the mistake."""
    if isinstance(column, str):
        return SelectColumn(column, alias=alias)
    _, function, arguments = column
    if function not in CALLS:
        raise refuse(f"the function {function} is not supported; expected one of: {', '.join(CALLS)}")
    if function in TRANSFORMATIONS:
        return _transformed(function, arguments, alias)
    inner: Any = arguments[0] if arguments else None
    if function == "count" and _kind(inner) == "call" and inner[1] == "distinct" and len(arguments) == 1:
        return SelectColumn(_field("distinct", inner[2], 1), "count distinct", 0, alias or "count")
    wanted = 2 if function == "percentile" else 1
    name = _field(function, arguments, wanted)
    number = _number(function, arguments[1], 0, 100) if wanted == 2 else 0
    return SelectColumn(name, function, number, alias)


def _field(function: str, arguments: Sequence[Any], wanted: int) -> str:
    if len(arguments) != wanted or not isinstance(arguments[0], str) or arguments[0] == "*":
        raise refuse(f"{function} needs the name of a field{' and a number' if wanted == 2 else ''}")
    return arguments[0]


def _number(function: str, given: Any, least: int, most: int) -> float:
    number = given[1] if _kind(given) == "number" else None
    if number is None or not least <= number <= most:
        raise refuse(f"{function} needs a number from {least} to {most}")
    return float(number)


def _kind(argument: Any) -> str:
    return argument[0] if isinstance(argument, tuple) else ""


def _transformed(function: str, arguments: Sequence[Any], alias: str) -> SelectColumn:
    """Return the column of a function such as derivative, of a field or of another function."""
    inner, *rest = arguments if arguments else ("*",)
    call = Transformation(function)
    if function == "moving_average":
        count = _number(function, rest[0] if rest else None, 2, MOST_AVERAGED)
        call, rest = Transformation(function, count=int(count)), rest[1:]
    elif function.endswith("derivative") and rest and _kind(rest[0]) == "duration":
        unit = rest[0][1] // 1000
        if unit < 1:
            raise refuse(f"{function} needs a duration of at least 1u")
        call, rest = Transformation(function, unit=unit), rest[1:]
    if rest or inner == "*" or (isinstance(inner, tuple) and _kind(inner) != "call"):
        raise refuse(f"{function} needs a field or a function of one, as {function}(mean(value))")
    if isinstance(inner, str):
        return SelectColumn(inner, alias=alias or function, transformation=call)
    column = read_column(inner, "")
    if column.transformation is not None or column.function == "distinct":
        raise refuse(f"{function} of {inner[1]} is not supported")
    return SelectColumn(column.name, column.function, column.number, alias or function, call)


def check_columns(columns: Sequence[SelectColumn], *, sized: bool) -> None:
    """Raise ServiceError 400 for columns that do not go together. sized: whether intervals of time are given."""
    kinds = {
        "functions" if each.function else "fields" if each.transformation is None else "their changes"
        for each in columns
    }
    if len(kinds) > 1:
        raise refuse("a query has either functions or fields, not both")
    if any(each.function == "distinct" for each in columns) and len(columns) > 1:
        raise refuse("distinct is the only column of its query")
    if sized and not columns[0].function:
        raise refuse("GROUP BY time needs a function, as mean(value)")
    nested = [each for each in columns if each.function and each.transformation is not None]
    if nested and not sized:
        raise refuse(f"{nested[0].alias} of {nested[0].function} needs GROUP BY time")
