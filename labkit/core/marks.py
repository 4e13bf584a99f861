"""Marks: changes of a lab itself that charts over time show, such as a restart of the platform."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

MAX_MARKS = 1000  # marks kept; the oldest are removed


class Mark(NamedTuple):
    """A change of the lab. time: lab time in Unix seconds; kind: `restart`, `fault` or `release`; text: description."""

    time: float
    kind: str
    text: str


class Marks:
    """The newest marks of a lab, oldest first."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Make an empty list. now: returns lab time in seconds."""
        self._now = now
        self._marks: deque[Mark] = deque(maxlen=MAX_MARKS)
        self._watchers: tuple[Callable[[Mark], object], ...] = ()

    def add(self, kind: str, text: str) -> None:
        """Add a mark at the present lab time, and notify watchers."""
        mark = Mark(self._now(), kind, text)
        self._marks.append(mark)
        for watcher in self._watchers:
            watcher(mark)

    def watch(self, watcher: Callable[[Mark], object]) -> Callable[[], None]:
        """Call `watcher` with each new mark, until the returned function is called."""
        self._watchers += (watcher,)

        def stop() -> None:
            self._watchers = tuple(each for each in self._watchers if each is not watcher)

        return stop

    def __iter__(self) -> Iterator[Mark]:
        return iter(tuple(self._marks))

    def __len__(self) -> int:
        return len(self._marks)

    def restore(self, marks: Iterable[Mark]) -> None:
        """Replace all marks, without notice."""
        self._marks.clear()
        self._marks.extend(marks)

    def clear(self) -> None:
        """Remove all marks."""
        self._marks.clear()
