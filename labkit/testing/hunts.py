"""Stories as tests: each hunts for a future that breaks a promise."""

from __future__ import annotations

import inspect
import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from labkit.core.errors import LabError, LabkitError, LabWarning, UnknownError, unknown
from labkit.hunt.plays.journal_lines import last_lines
from labkit.hunt.plays.loading import file_of
from labkit.hunt.search.failure import HuntFailure
from labkit.hunt.search.hunt import hunt
from labkit.testing.marker import HUNT_SEEDS_OPTION, HUNT_TIME_OPTION, node_id

if TYPE_CHECKING:
    from labkit.hunt.search.hunted import Hunt
    from labkit.hunt.story import Story

MARKER = "hunt"
SEEDS = 50  # plays of a test without other limits
RECORDS = 40  # records that a report shows
PREFIX = "test"


class HuntFailedError(LabError):
    """Hunt that found a failure, or lost plays."""

    def __init__(self, found: Hunt) -> None:
        super().__init__("\n".join([*found.failure_lines(), "", *found.facts()]))
        self.found = found


def is_test(name: str, story: Story) -> bool:
    """Return whether a story is a test: its name begins with `test`, or it has the marker."""
    return name.startswith(PREFIX) or any(each.name == MARKER for each in _marks(story))


def _marks(story: Story) -> list[pytest.Mark]:
    marks: list[pytest.Mark] = list(getattr(story, "pytestmark", ()))
    return marks


class HuntItem(pytest.Item):
    """Test that plays futures of a story, until one breaks a promise."""

    def __init__(self, *, story: Story, **options: Any) -> None:
        super().__init__(**options)
        self.story = story
        self.own_markers += _marks(story)
        self.keywords.update({each.name: each for each in self.own_markers})

    def runtest(self) -> None:
        """Hunt. Raises HuntFailedError if anything failed."""
        found = hunt(self.story, **self._arguments())
        if found.interrupted:
            raise KeyboardInterrupt
        if not found.good:
            raise HuntFailedError(found)
        for text in found.warnings:
            file, line, _ = self.reportinfo()
            warnings.warn_explicit(text, LabWarning, str(file), (line or 0) + 1)

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments of the hunt: those of the options before those of the closest marker."""
        given: dict[str, Any] = {}
        for marker in reversed(list(self.iter_markers(MARKER))):
            if marker.args:
                pytest.fail(
                    f"@pytest.mark.hunt: expected seeds=… and the like, not {marker.args[0]!r}", False
                )
            given |= marker.kwargs
        known = [name for name in inspect.signature(hunt).parameters if name != "story"]
        for name in given:
            if name not in known:
                raise UnknownError(f"@pytest.mark.hunt: {unknown('argument', name, known)}")
        seeds, time = self.config.getoption(HUNT_SEEDS_OPTION), self.config.getoption(HUNT_TIME_OPTION)
        if seeds is not None or time is not None:
            given |= {"seeds": seeds, "time": time}
        elif given.get("seeds") is None and given.get("time") is None:
            given["seeds"] = SEEDS
        return {"workers": 0, "progress": False, **given}

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the failure as text."""
        error = excinfo.value
        if isinstance(error, HuntFailedError):
            return str(error)
        if isinstance(error, LabkitError):  # of the marker's arguments
            return f"{type(error).__name__}: {error}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return file, line and name of the story."""
        code = getattr(self.story.function, "__code__", None)
        file = file_of(self.story) or self.path
        return file, None if code is None else code.co_firstlineno - 1, self.name


def hunt_sections(item: pytest.Item, error: HuntFailedError) -> Iterator[tuple[str, str]]:
    """Yield a title and a text for each failure: how to repeat it, and the last records of its journal."""
    for each in error.found.failures.values():
        yield f"{each.title}: repeat it", f"{_again(item)}\n{_cell(each)}"
        records = last_lines(each.play().journal, RECORDS) or ["the journal is empty"]
        yield f"{each.title}: the journal's last records", "\n".join(records)


def _again(item: pytest.Item) -> str:
    return f"pytest {shlex.quote(node_id(item))} repeats the hunt; this repeats its smallest play:"


def _cell(failure: HuntFailure) -> str:
    try:
        return failure.cell()
    except LabkitError as error:
        return f"nothing: {error}"
