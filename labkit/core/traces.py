"""Where an error comes from, for the journal."""

from __future__ import annotations

import traceback
from pathlib import PurePath

DEEPEST = 20  # frames


def trace_of(error: BaseException) -> list[str]:
    """The places that an error came through, without the folders of this machine; the innermost one last."""
    frames = traceback.extract_tb(error.__traceback__)[-DEEPEST:]
    return [f"{PurePath(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in frames]
