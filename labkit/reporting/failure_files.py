"""Files of a failure in a folder of failures: the play that repeats it, and its page."""

from __future__ import annotations

import re
import shlex
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from labkit.core.errors import LabError
from labkit.core.files import shown_path, write_whole
from labkit.hunt.search.failure import HuntFailure
from labkit.hunt.search.hunted import Hunt
from labkit.reporting.failure_page import failure_page

HEX = "[0-9a-f]"


@dataclass(frozen=True)
class FailureFiles:
    """Files of a failure.

    play: that repeats it, None if there is none; page: None if it could not be written; lines: what they are for, as
    text.
    """

    play: Path | None
    page: Path | None
    lines: tuple[str, ...]


def keep_failures(found: Hunt, folder: Path) -> dict[str, FailureFiles]:
    """Write the failures of a hunt to a folder, as `keep_failure`, and return their files by title.

    Pages of earlier errors of the story's code, which no file repeats, are removed unless this hunt met them again.
    """
    kept = {title: keep_failure(each, folder) for title, each in found.failures.items()}
    if found.is_begun and not found.interrupted:
        pages = {each.page for each in kept.values()}
        name = _plain_name(found.plan.story.name)
        for page in folder.glob(f"error_{name}_{HEX * 8}.html"):
            if page not in pages:
                with suppress(OSError):  # a folder that cannot be written says so elsewhere
                    page.unlink()
    return kept


def keep_failure(failure: HuntFailure, folder: Path) -> FailureFiles:
    """Write a failure to a folder, which later hunts play first, and its page beside it; return the files.

    An error of the code of a story or of a promise has a page alone: it says nothing about what they test, so that no
    later hunt has to play it. What cannot be written is said in the lines. folder: made if needed.
    """
    play: Path | None = None
    try:
        if failure.breach.is_own_error:
            whose = "story" if failure.breach.promise is None else "promise"
            lines = [
                f"not kept as a past failure: an error of the {whose}'s own code; mend it, and hunt again"
            ]
        else:
            play = failure.save(folder)
            lines = [f"repeat it: labkit hunt --replay {shlex.quote(shown_path(play))}"]
    except LabError as error:
        lines = [f"no file repeats it: {error}"]
    try:
        page = _write_page(failure, play, folder)
    except OSError as error:
        return FailureFiles(
            play, None, (*lines, f"no page shows it: {error.filename or folder}: {error.strerror}")
        )
    return FailureFiles(play, page, (*lines, f"look at it: {shown_path(page)}"))


def _write_page(failure: HuntFailure, play: Path | None, folder: Path) -> Path:
    """Write the page of a failure, beside the file that repeats it, and return its file. Raises OSError."""
    html = failure_page(failure, None if play is None else Path(shown_path(play)))
    page = folder / f"{_error_name(failure)}.html" if play is None else play.with_suffix(".html")
    page.parent.mkdir(parents=True, exist_ok=True)
    write_whole(page, html, errors="replace")
    return page


def _error_name(failure: HuntFailure) -> str:
    name = _plain_name(failure.plan.story.name)
    return f"error_{name}_{zlib.crc32(str(failure.breach).encode(errors='replace')):08x}"


def _plain_name(name: str) -> str:
    return re.sub(r"\W+", "_", name)
