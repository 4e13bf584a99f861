"""Written plays of a folder, played again before a hunt."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path

from labkit.core.errors import LabError
from labkit.hunt.plays.loading import (
    SEPARATOR,
    file_of,
    is_of_module,
    module_place,
    name_in_file,
    split_place,
)
from labkit.hunt.plays.replaying import ReplayOutcome, replay
from labkit.hunt.plays.written import WrittenPlay, read
from labkit.hunt.story import Story
from labkit.hunt.workers.time_limit import time_limit
from labkit.hunt.workers.worker import WorkerError


@dataclass(frozen=True)
class PastFailure:
    """Written play that breaks a promise, or a check of its story, again.

    file: that holds it; outcome: of its replay.
    """

    file: Path
    outcome: ReplayOutcome

    def __str__(self) -> str:
        return f"{self.file}: {self.outcome}"


@dataclass(frozen=True)
class StalePlay:
    """Written play that says nothing about what it tests.

    Its faults hit nothing any more, its story has changed, or the story's own code fails. file: that holds it; reason:
    why, and what to do, as a sentence; late: whether a limit of real time has ended it, which is the machine's.
    """

    file: Path
    reason: str
    late: bool = False

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


def play_past(
    story: Story, folder: Path, within: float | None = None
) -> tuple[list[PastFailure], list[StalePlay]]:
    """Play the written plays of a story again; return those that break again, and those that say nothing.

    folder: with files that a hunt has written, none if there is no such folder; those of other stories are left out.
    within: real seconds of one play, None for no limit.
    """
    broken: list[PastFailure] = []
    stale: list[StalePlay] = []
    for file in sorted(folder.glob("test_*.py")):
        try:
            written = read(file)
        except LabError as error:
            stale.append(StalePlay(file, str(error).removeprefix(f"{file}: ")))
            continue
        if gone := _missing_story(written, file, story):
            stale.append(StalePlay(file, gone))
            continue
        if not _is_of(written, file, story):
            continue
        try:
            with time_limit(within):
                found = replay(written, story=story, check=False)
        except LabError as error:
            stale.append(StalePlay(file, str(error), isinstance(error, WorkerError) and error.late))
            continue
        if found.state == "broken":
            broken.append(PastFailure(file, found))
        elif found.state != "kept":
            stale.append(StalePlay(file, _reason(found)))
    return broken, stale


def _is_of(written: WrittenPlay, file: Path, story: Story) -> bool:
    """Return whether a written play is of a story: has its name, and its file as far as that exists."""
    if is_of_module(written.story):
        return written.story == module_place(story)
    place, name = split_place(written.story)
    if name != (name_in_file(story) or story.name):
        return False
    named, source = file.parent / place, file_of(story)
    return not place or source is None or not named.is_file() or named.resolve() == source


def _missing_story(written: WrittenPlay, file: Path, story: Story) -> str:
    """Return a sentence about a written play whose story is no longer in this story's file, or an empty text."""
    place, name = split_place(written.story)
    source = file_of(story)
    if not place or source is None or (file.parent / place).resolve() != source:
        return ""
    if name.partition(SEPARATOR)[0] in inspect.unwrap(story.function).__globals__:
        return ""
    return f"{place} has no story {name!r} any more; write its new name into the file, or delete the file"


def _reason(found: ReplayOutcome) -> str:
    """Return why a replay says nothing, and what to do."""
    if found.breach is not None and found.breach.title == found.written.breaks:
        return f"{found}; this is an error of the code itself: mend it, or delete the file"
    return found.text
