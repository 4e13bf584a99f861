"""Faults of what pages of other origins may do."""

from __future__ import annotations

from labkit.conformance.mutant import patch

any_beginning = patch(
    "SOL-CORS-1",
    "labkit.solutions.cors:Cors.allows",
    "an origin is allowed that begins like one that is",
    lambda original, self, origin: any(original(self, origin[:end]) for end in range(1, len(origin) + 1)),
)
