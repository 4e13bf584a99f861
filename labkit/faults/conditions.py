"""Conditions on the fields of a request or an answer that limit which ones a fault hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from labkit.faults.fields import path_of, values_at
from labkit.faults.patterns import Pattern
from labkit.settings.edits import as_text

NOT = "!"
Values = Callable[[str], Iterable[object]]


class Conditions:
    """Patterns by path: a value at the path must match, or with `!` before the pattern none may."""

    def __init__(self, patterns: Mapping[str, str] | None) -> None:
        self._patterns = [
            (path, Pattern(text.removeprefix(NOT)), not text.startswith(NOT))
            for path, text in (patterns or {}).items()
        ]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def __iter__(self) -> Iterator[str]:
        return iter(path for path, _, _ in self._patterns)

    def are_met(self, values: Values) -> bool:
        """Return whether all conditions are met. values: returns all values at a path."""
        return all(
            any(pattern.matches(as_text(each)) for each in values(path)) is wanted
            for path, pattern, wanted in self._patterns
        )

    def are_met_by(self, data: object) -> bool:
        """Return whether all conditions are met by plain data."""
        return not self._patterns or self.are_met(lambda path: values_at(data, path_of(path)))
