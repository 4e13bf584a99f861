"""Columns of a SELECT that compute with fields, functions and numbers: `mean(v) * 1.8 + 32`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from labkit.services.series.summaries import Number, as_number, finite
from labkit.services.timeseries.columns import read_column
from labkit.services.timeseries.statements import Computation, ComputedColumn, SelectColumn, refuse

MOST_OPERATORS = 50  # of a column
OPERATORS: Mapping[str, Callable[[Number, Number], Number]] = MappingProxyType(
    {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": lambda one, other: one / other if other else 0,  # as InfluxDB
    }
)
Written: TypeAlias = tuple[Any, str]  # a column as the grammar has it, and its alias


@dataclass(slots=True)
class _Reader:
    """Reader of columns. sources: the fields and functions found so far."""

    sources: list[SelectColumn]
    operators: int = 0

    def read(self, written: Any) -> Computation:
        """Return a computation; a field or function in it is its place among the sources."""
        kind = written[0] if isinstance(written, tuple) else ""
        if kind == "number":
            return float(written[1])
        if kind == "computed":
            _, sign, one, other = written
            self.operators += 1
            if self.operators > MOST_OPERATORS:
                raise refuse(f"expected at most {MOST_OPERATORS} operators in a column")
            return (sign, self.read(one), self.read(other))
        column = read_column(written, "")
        if column.function == "distinct":
            raise refuse("distinct is the only column of its query")
        self.sources.append(column)
        return len(self.sources) - 1


def read_columns(written: Sequence[Written]) -> tuple[tuple[SelectColumn, ...], tuple[ComputedColumn, ...]]:
    """Return the fields and functions of a query, and what is computed of them; nothing if nothing is.

    Raises ServiceError 400, naming the mistake.
    """
    if not any(isinstance(each, tuple) and each[0] in ("computed", "number") for each, _ in written):
        return tuple(read_column(each, alias) for each, alias in written), ()
    if any(each == "*" for each, _ in written):
        raise refuse("a query has either * or computed columns, not both")
    sources: list[SelectColumn] = []
    computed = []
    for each, alias in written:
        first = len(sources)
        computation = _Reader(sources).read(each)
        if len(sources) == first:
            raise refuse("expected a field or a function in each column")
        name = "_".join(source.alias or source.function or source.name for source in sources[first:])
        computed.append(ComputedColumn(alias or name, computation))
    return tuple(sources), tuple(computed)


def compute(column: ComputedColumn, row: Sequence[Any]) -> Any:
    """Return the value of a column, None where it needs one that is missing or no number. row: time and sources."""
    try:
        return finite(_computed(column.computation, row))
    except OverflowError:  # of whole numbers that are no float
        return None


def _computed(computation: Computation, row: Sequence[Any]) -> Any:
    if isinstance(computation, int):
        return row[computation + 1]
    if isinstance(computation, float):
        return computation
    sign, one, other = computation
    numbers = [_number(_computed(each, row)) for each in (one, other)]
    return None if None in numbers else OPERATORS[sign](*numbers)  # type: ignore[arg-type]


def _number(value: Any) -> Number | None:
    return None if value is None or isinstance(value, bool) else as_number(value)
