"""Levels of the faults of a hunt, by name."""

from __future__ import annotations

from collections.abc import Mapping

from labkit.core.errors import UnknownError, unknown
from labkit.hunt.future import FaultSource, NoFaults
from labkit.hunt.story import Story

LEVELS = ("calm", "rough", "wild")


def fault_source(level: str | FaultSource, story: Story, parameters: Mapping[str, object]) -> FaultSource:
    """Return the source of the faults of a story's plays.

    level: `calm` for none, or a source; story, parameters: of the plays. Raises UnknownError for another name.
    """
    if not isinstance(level, str):
        return level
    if level not in LEVELS:
        raise UnknownError(unknown("level", level, LEVELS))
    return NoFaults()
