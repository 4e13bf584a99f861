"""Faults of requests: what the script of a route sees."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import mutant


@mutant("SOL-REQ-3", "labkit.solutions.request:headers")
def names_with_capitals(original: Any) -> Any:
    """names of headers have capitals"""
    return lambda given: {name.title(): value for name, value in original(given).items()}
