"""Stories as tests: each hunts for a future that breaks a promise."""

from __future__ import annotations

import inspect
import shlex
import warnings
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from labkit.core.canonical import CanonicalRecord
from labkit.core.errors import LabError, LabkitError, LabWarning, UnknownError, unknown
from labkit.core.files import shown_path
from labkit.core.record_lines import one_line, record_line
from labkit.hunt.plays.loading import file_of
from labkit.hunt.search.failure import HuntFailure
from labkit.hunt.search.hunt import hunt
from labkit.testing.marker import HUNT_FAILURES_OPTION, HUNT_SEEDS_OPTION, HUNT_TIME_OPTION, node_id

if TYPE_CHECKING:
    from labkit.hunt.plays.future import Played
    from labkit.hunt.search.hunted import Hunt
    from labkit.hunt.story import Story
    from labkit.reporting.failure_files import FailureFiles

LONGEST = 300  # characters of a line


def last_lines(journal: str, count: int, without: Iterable[str] = ()) -> list[str]:
    """Return the last records of a journal, a line each.

    journal: as canonical text, as in `Played.journal`; without: names of records that are left out, with all that
    followed from them, as in `Played.looks`.
    """
    hidden = set(without)
    records = [CanonicalRecord.parse(each) for each in journal.splitlines()]
    if hidden:
        for each in records:
            if each.cause in hidden:
                hidden.add(each.name)
        records = [each for each in records if each.name not in hidden]
    return [_shown(each) for each in records[-count:]]


def _shown(record: CanonicalRecord) -> str:
    when = datetime.fromtimestamp(record.time / 1_000_000, UTC)
    return one_line(f"{when:%Y-%m-%d %H:%M:%S}.{when.microsecond // 1000:03} {record_line(record)}", LONGEST)


MARKER = "hunt"
SEEDS = 50  # plays of a test without other limits
FAILURES = "failures"  # folder, as of `labkit hunt`
RECORDS = 40  # records that a report shows
PREFIX = "test"


class HuntFailedError(LabError):
    """Hunt that found a failure, or lost plays. files: of each failure, by its title."""

    def __init__(self, found: Hunt, files: Mapping[str, FailureFiles]) -> None:
        super().__init__("\n".join([*found.failure_lines(), "", *found.facts()]))
        self.found = found
        self.files = files


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
        """Hunt, and keep what failed in the folder of failures. Raises HuntFailedError if anything failed."""
        arguments = self._arguments()
        found = hunt(self.story, **arguments)
        files = {} if arguments["failures"] is None else _kept(found, arguments["failures"])
        if found.interrupted:
            raise KeyboardInterrupt
        if not found.good:
            raise HuntFailedError(found, files)
        untested = [f"the promise {each!r} was never put to the test" for each in found.untested]
        late = [f"plays ended by a limit of this machine: {len(found.late)}"] if found.late else []
        for text in (*found.warnings, *untested, *late):
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
        return {"workers": 0, "progress": False, **given, "failures": self._folder(given)}

    def _folder(self, given: Mapping[str, Any]) -> Path | None:
        """Return the folder of failures: that of the option, of the marker, or of `labkit hunt`; None for none.

        A relative one is relative to the folder in which pytest was started. given: arguments of the marker.
        """
        chosen = self.config.getoption(HUNT_FAILURES_OPTION)
        if chosen is None:
            chosen = given.get("failures", FAILURES)
        return None if chosen is None else Path(shown_path(self.config.invocation_params.dir / chosen))

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


def _kept(found: Hunt, folder: Path) -> dict[str, FailureFiles]:
    """Write the failures of a hunt to a folder, and return their files by title."""
    if not (found.failures or folder.is_dir()):
        return {}
    from labkit.reporting.failure_files import keep_failures

    return keep_failures(found, folder)


def hunt_sections(item: pytest.Item, error: HuntFailedError) -> Iterator[tuple[str, str]]:
    """Yield a title and a text for each failure: how to repeat it, and the last records of its journal."""
    for past in error.found.past:
        yield f"{past.file}: repeat it", f"labkit hunt --replay {shlex.quote(str(past.file))}"
        yield f"{past.file}: the journal's last records", _records(past.outcome.played)
    for title, each in error.found.failures.items():
        files = error.files.get(title)
        lines = () if files is None else files.lines
        first = files is not None and files.play is not None
        yield f"{title}: repeat it", "\n".join([*lines, _again(item, first), _cell(each)])
        yield f"{title}: the journal's last records", _records(each.play())


def _records(played: Played) -> str:
    return "\n".join(last_lines(played.journal, RECORDS, played.looks) or ["the journal is empty"])


def _again(item: pytest.Item, is_kept: bool) -> str:
    """Return what a test does when it is run again. is_kept: whether a file has the smallest play."""
    does = "plays this file first" if is_kept else "repeats the hunt"
    return f"pytest {shlex.quote(node_id(item))} {does}; this repeats its smallest play:"


def _cell(failure: HuntFailure) -> str:
    try:
        return failure.cell()
    except LabkitError as error:
        return f"nothing: {error}"
