"""Conditions of a WHERE clause: the span of time that they allow, and the series whose tags they accept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import re2

from labkit.services.series.store import Window
from labkit.services.series.times import EARLIEST, LATEST
from labkit.services.timeseries.statements import (
    AllOf,
    AnyOf,
    Condition,
    Moment,
    Tags,
    WhereComparison,
    refuse,
)

PATTERN_MEMORY = 1 << 20  # bytes that RE2 may use for one pattern


class Filter:
    """A WHERE clause. now: lab time in microseconds.

    begin, end: microseconds that the conditions on time allow, both included; None without such a condition. Raises
    ServiceError 400 for a condition on time within OR, and for an invalid pattern.
    """

    def __init__(self, where: Condition | None, now: int) -> None:
        self.begin: int | None = None
        self.end: int | None = None
        self._conditions: list[Condition] = []
        self._patterns: dict[str, re2._Regexp] = {}
        for each in _conjuncts(where):
            if isinstance(each, WhereComparison) and isinstance(each.value, Moment):
                self._limit(each.operator, each.value.at(now))
            else:
                self._conditions.append(each)
                self._compile(each)

    @property
    def accepts_all(self) -> bool:
        """Whether there is no condition on tags."""
        return not self._conditions

    def window(self, end: int, *, descending: bool) -> Window:
        """Return the span to read. end: where the conditions have none."""
        return Window(
            self.begin if self.begin is not None else EARLIEST,
            min(self.end if self.end is not None else end, LATEST),
            descending,
        )

    def expect_tags_only(self) -> None:
        """Raise ServiceError 400 for a condition on time."""
        if self.begin is not None or self.end is not None:
            raise refuse("a condition on time is not supported here; expected tags")

    def accepts(self, tags: Tags) -> bool:
        """Return whether a series with these tags is selected. A tag that it lacks counts as an empty text."""
        return all(self._holds(each, tags) for each in self._conditions)

    def _limit(self, operator: str, nanos: int) -> None:
        first, last = (
            -(-nanos // 1000),
            nanos // 1000,
        )  # the first microsecond from there on, and the last up to it
        if operator in (">", ">=", "="):
            begin = last + 1 if operator == ">" else first
            self.begin = begin if self.begin is None else max(self.begin, begin)
        if operator in ("<", "<=", "="):
            end = first - 1 if operator == "<" else last
            self.end = end if self.end is None else min(self.end, end)

    def _compile(self, condition: Condition) -> None:
        if not isinstance(condition, WhereComparison):
            for each in condition.parts:
                self._compile(each)
        elif isinstance(condition.value, Moment):
            raise refuse("a condition on time within OR is not supported")
        elif condition.operator in ("=~", "!~"):
            options = re2.Options()
            options.log_errors = False
            options.never_capture = True
            options.max_mem = PATTERN_MEMORY
            text = str(condition.value)
            try:
                self._patterns[text] = re2.compile(text, options)
            except (re2.error, UnicodeEncodeError):
                raise refuse(f"expected a pattern that RE2 knows, not /{text[:40]}/") from None

    def _holds(self, condition: Condition, tags: Mapping[str, str]) -> bool:
        if isinstance(condition, AllOf):
            return all(self._holds(each, tags) for each in condition.parts)
        if isinstance(condition, AnyOf):
            return any(self._holds(each, tags) for each in condition.parts)
        value = tags.get(condition.name, "")
        if condition.operator in ("=", "!="):
            return (value == condition.value) == (condition.operator == "=")
        found = self._patterns[str(condition.value)].search(value) is not None
        return found == (condition.operator == "=~")


def _conjuncts(where: Condition | None) -> Iterator[Condition]:
    """Yield the conditions that must all hold, however their brackets are set."""
    if isinstance(where, AllOf):
        for each in where.parts:
            yield from _conjuncts(each)
    elif where is not None:
        yield where


def chosen(names: Iterable[str], tags: Tags) -> tuple[str, ...]:
    """Return the values of tags in the order of their names, "" for a missing one."""
    return tuple(tags.get(name, "") for name in names)
