"""Statements of InfluxQL as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from labkit.core.errors import ServiceError
from labkit.services.timeseries.transformations import Transformation

Tags: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Moment:
    """Time in a condition, in nanoseconds. relative: whether `offset` is counted from now, instead of from 1970."""

    offset: int
    relative: bool = False

    def at(self, now: int) -> int:
        """Return the nanoseconds since 1970. now: microseconds."""
        return self.offset + (now * 1000 if self.relative else 0)


@dataclass(frozen=True, slots=True)
class WhereComparison:
    """Comparison of a tag or of the time. value: text of a tag, a Moment, a number, or for =~ and !~ a pattern."""

    name: str
    operator: str
    value: str | float | Moment


@dataclass(frozen=True, slots=True)
class AllOf:
    """Conditions that must all hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Conditions of which one must hold."""

    parts: tuple[Condition, ...]


Condition: TypeAlias = WhereComparison | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class SelectColumn:
    """Column of a SELECT. name: a field or tag, "*" for all; function: "" for the value; number: its argument.

    transformation: of the values, or of the function's results.
    """

    name: str
    function: str = ""
    number: float = 0
    alias: str = ""
    transformation: Transformation | None = None


# A number, the place of a column in the row, or an operator with two of these.
Computation: TypeAlias = "float | int | tuple[str, Computation, Computation]"


@dataclass(frozen=True, slots=True)
class ComputedColumn:
    """Column that is computed of others. An int in its computation is the place of one of `Select.columns`."""

    name: str
    computation: Computation


@dataclass(frozen=True, slots=True)
class Select:
    """A SELECT. size, shift: microseconds of GROUP BY time; by: tags of GROUP BY, with "*" for all of them.

    computed: the columns of the result where they are computed of `columns`; limit, offset: rows of each series;
    series_limit, series_offset: series of each measurement.
    """

    columns: tuple[SelectColumn, ...]
    sources: tuple[str, ...]
    computed: tuple[ComputedColumn, ...] = ()
    where: Condition | None = None
    size: int | None = None
    shift: int = 0
    by: tuple[str, ...] = ()
    fill: str | float = "null"
    descending: bool = False
    limit: int | None = None
    offset: int = 0
    series_limit: int | None = None
    series_offset: int = 0


@dataclass(frozen=True, slots=True)
class Show:
    """A SHOW. what: measurements, tag keys, field keys or tag values; sources: empty for all; key: of tag values."""

    what: str
    sources: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True, slots=True)
class Drop:
    """A DROP of whole series. where: condition on tags."""

    sources: tuple[str, ...]
    where: Condition | None = None


Statement: TypeAlias = Select | Show | Drop


def refuse(text: str) -> ServiceError:
    """Return the error for a query that is not understood."""
    return ServiceError(400, f"Parameter q validation failed: {text}.")
