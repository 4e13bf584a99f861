"""Faults of a provider: asked for by name, each hits one request or delivery."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Generic, TypeVar

from labkit.core.errors import LabError, unknown

S = TypeVar("S", bound=str)


class NoAnswer(Exception):
    """The connection ends without an answer."""


async def stall(patience: float) -> None:
    """Hold the answer until a caller of that much patience (real seconds) has given up, then raise NoAnswer."""
    await asyncio.sleep(2 * patience)
    raise NoAnswer


class Faults(Generic[S]):
    """Those that wait for their step, oldest first.

    known: name of each fault that there is → the steps that it can hit; the first where none is named.
    """

    def __init__(self, known: Mapping[str, tuple[S, ...]]) -> None:
        self._known = known
        self._waiting: list[tuple[str, S]] = []

    def add(self, name: str, step: str | None = None) -> None:
        """Let a fault hit the next of a step; letter case does not count.

        Raises LabError for an unknown fault or a step that it cannot hit, naming those that are known.
        """
        known = next((each for each in self._known if each.lower() == name.lower()), None)
        if known is None:
            raise LabError(unknown("fault", name, self._known))
        steps = self._known[known]
        hit = next((each for each in steps if step in (None, each)), None)
        if hit is None:
            raise LabError(f"{known!r} cannot hit {step!r}, but: {', '.join(steps)}")
        self._waiting.append((known, hit))

    def take(self, *steps: S) -> str | None:
        """The oldest fault that waits for one of these steps; it is spent."""
        for index, (name, hits) in enumerate(self._waiting):
            if hits in steps:
                del self._waiting[index]
                return name
        return None

    @property
    def waiting(self) -> list[str]:
        """Those that have not hit yet: `slow at token`."""
        return [f"{name} at {step}" for name, step in self._waiting]

    def clear(self) -> None:
        """Let none happen."""
        self._waiting.clear()
