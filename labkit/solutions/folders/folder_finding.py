"""Finding: a sentence about a place in a solution's folder where something is probably wrong."""

from __future__ import annotations

from typing import Literal, NamedTuple

Level = Literal["error", "warning", "note"]


class FolderFinding(NamedTuple):
    """A sentence about a place in a solution's folder. line: the first is 1; 0 means the whole file.

    level: `error` for a test file that does not compile, `warning` for a likely mistake, `note` for what may be
    intended.
    """

    file: str
    line: int
    level: Level
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}" if self.line else f"{self.file}: {self.text}"


def warning(file: str, text: str, line: int = 0) -> FolderFinding:
    """Return a finding of level `warning`."""
    return FolderFinding(file, line, "warning", text)
