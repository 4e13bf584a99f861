"""Faults of requests: what the script of a route sees."""

from __future__ import annotations

from labkit.conformance.breaking import gives
from labkit.conformance.mutant import patch

names_with_capitals = patch(
    "SOL-REQ-3",
    "labkit.solutions.request:headers",
    "names of headers have capitals",
    gives(lambda headers: {name.title(): value for name, value in headers.items()}),
)
