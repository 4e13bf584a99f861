"""Shortened tracebacks for the journal."""

from __future__ import annotations

import traceback
from pathlib import PurePath

DEEPEST = 20  # frames


def trace_of(error: BaseException) -> list[str]:
    """Return the frames of an error's traceback without folders; the innermost one is last."""
    frames = traceback.extract_tb(error.__traceback__)[-DEEPEST:]
    return [f"{PurePath(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in frames]
