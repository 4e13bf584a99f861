"""Wildcard patterns with `*`, matched without backtracking."""

from __future__ import annotations

from collections.abc import Iterable

ANY = "*"


class Pattern:
    """A pattern in which `*` matches any characters, or none. Letter case counts."""

    __slots__ = ("_first", "_last", "_middle", "_plain", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._plain = ANY not in text
        self._first, *rest = text.split(ANY)
        self._last = rest[-1] if rest else ""
        self._middle = [each for each in rest[:-1] if each]

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches all of `text`."""
        if self._plain:
            return text == self.text
        end = len(text) - len(self._last)
        if not text.startswith(self._first) or not text.endswith(self._last):
            return False
        at = len(self._first)
        for each in self._middle:  # the first occurrence leaves the longest rest for the other parts
            found = text.find(each, at, end)
            if found < 0:
                return False
            at = found + len(each)
        return at <= end


class Patterns:
    """Alternative patterns; None matches everything, even an unknown text."""

    __slots__ = ("_patterns",)

    def __init__(self, texts: Iterable[str] | None) -> None:
        self._patterns = None if texts is None else tuple(Pattern(each) for each in texts)

    def match(self, text: str | None) -> bool:
        """Return whether one of the patterns matches. An unknown text (None) is matched only by no patterns at all."""
        if self._patterns is None:
            return True
        return text is not None and any(each.matches(text) for each in self._patterns)
