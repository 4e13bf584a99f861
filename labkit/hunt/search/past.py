"""Written plays of a folder, played again before a hunt."""

from __future__ import annotations

from pathlib import Path

from labkit.core.errors import LabError
from labkit.hunt.plays.loading import SEPARATOR
from labkit.hunt.plays.replaying import ReplayOutcome, replay
from labkit.hunt.plays.written import read
from labkit.hunt.story import Story


def past_failures(story: Story, folder: Path) -> list[ReplayOutcome]:
    """Return replays of the written plays of a story that still break something.

    folder: with files that a hunt has written, none if there is no such folder; those of other stories are left out.
    Raises LabError for a file that is no written play.
    """
    return [each for each in _replays(story, folder) if each.breach is not None]


def _replays(story: Story, folder: Path) -> list[ReplayOutcome]:
    replays = []
    for file in sorted(folder.glob("test_*.py")):
        written = read(file)
        if written.story.rpartition(SEPARATOR)[2] != story.name:
            continue
        try:
            replays.append(replay(written, story=story, check=False))
        except LabError as error:
            raise LabError(f"{file}: {error}") from None
    return replays
