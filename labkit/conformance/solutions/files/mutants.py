"""Faults of what pages of other origins may do."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import mutant
from labkit.solutions.cors import Cors


@mutant("SOL-CORS-1", "labkit.solutions.cors:Cors.allows")
def any_beginning(original: Any) -> Any:
    """an origin is allowed that begins like one that is"""

    def broken(self: Cors, origin: str) -> bool:
        return any(original(self, origin[:length]) for length in range(len(origin), 0, -1))

    return broken
