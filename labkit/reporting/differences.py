"""`diff`: what differs between two reports, two targets or two journals.

>>> from labkit.reporting.differences import diff
>>> found = diff("reports/before", "reports/latest")  # doctest: +SKIP
>>> found.is_worse, found.changes  # doctest: +SKIP
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from labkit.conformance import processes
from labkit.conformance.catalogue import is_below
from labkit.conformance.fork_server import ForkServer
from labkit.conformance.processes import PRELOAD
from labkit.conformance.suite import Suite, suite
from labkit.conformance.target import LOCAL_TARGET, open_target
from labkit.conformance.verdict import Verdict
from labkit.core import __version__
from labkit.core.errors import LabError
from labkit.core.journal_differences import JournalDifference, JournalText
from labkit.reporting import matrix
from labkit.reporting.report_differences import VERDICTS, CheckRun, ReportDifference

SEED = 7  # default seed of checks against a lab


@dataclass(frozen=True)
class CheckTarget:
    """A platform against which checks are to be played. target: as `open_target` accepts it; name: to show."""

    target: str
    name: str


def diff(
    a: Any,
    b: Any,
    *,
    only: str = "",
    seed: int = SEED,
    progress: Callable[[Verdict], object] = lambda verdict: None,
) -> ReportDifference | JournalDifference:
    """Compare two reports, two targets or two journals, and return the difference.

    a, b: the earlier and the later one. A report is its folder; a target the URL, the output or the file of
    `labkit serve --json`, or `lab` for a lab of its own: the checks are played against it now. A report and a target
    can be compared, too. A journal is a file with the text of `lab.journal.canonical()` or the lines of
    `labkit logs --json`, the journal of a lab, or a play of a story. only: prefixes of the requirements,
    with spaces; seed: of the checks against `lab`; progress: called with each verdict. Raises LabError for anything
    else, and for a journal and a report; UnknownRequirementError for `only`.
    """
    chosen = suite().below(*only.split())
    kinds = [_opened(each, name) for each, name in ((a, "A"), (b, "B"))]
    if len({isinstance(each, JournalText) for each in kinds}) > 1:
        journal, other = ("A", "B") if isinstance(kinds[0], JournalText) else ("B", "A")
        raise LabError(
            f"{journal} is a journal, {other} is none: compare two journals, or two runs of checks"
        )
    first, second = kinds
    if isinstance(first, JournalText) and isinstance(second, JournalText):
        return JournalDifference.of(first, second)
    with ExitStack() as stack:
        targets = any(isinstance(each, CheckTarget) for each in kinds)
        server = stack.enter_context(ForkServer(PRELOAD)) if targets else None
        before, after = (
            _played(each, chosen, only, partial(processes.play, seed=seed, progress=progress, server=server))
            if isinstance(each, CheckTarget)
            else _limited(each, only)
            for each in kinds
            if not isinstance(each, JournalText)
        )
    return ReportDifference.of(before, after, {each.id: each.text for each in chosen.catalogue})


def _opened(given: Any, letter: str) -> CheckRun | JournalText | CheckTarget:
    """Return a report, a journal, or a target, against which the checks are not yet played."""
    journal = getattr(given, "journal", None)  # a play of a story, or a lab
    for each in (given, journal):
        canonical = getattr(each, "canonical", None)
        if callable(canonical):
            return JournalText.read(letter, canonical())
    if isinstance(journal, str):
        return JournalText.read(letter, journal)
    if not isinstance(given, str | Path):
        raise LabError(f"{letter}: expected a report's folder, a target or a journal, not {given!r:.100}")
    text = str(given)
    if text == LOCAL_TARGET:
        return CheckTarget(text, text)
    if text.lstrip().startswith(("{", "http://", "https://")):
        return _target(text)
    path = Path(given)
    if path.is_dir():
        return CheckRun.read(path, text)
    if path.name == VERDICTS:
        return CheckRun.read(path.parent, text)
    return _of_file(path, text)


def _target(target: str) -> CheckTarget:
    """Return a platform elsewhere, by its address. Raises SettingsError if it cannot be reached."""
    with open_target(target) as found:
        found.expect_complete()
        return CheckTarget(target, f"{found.address.host}:{found.address.https_port}")


def _of_file(path: Path, name: str) -> JournalText | CheckTarget:
    """Return the journal of a file, or the target of a file with the ready line of a server."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(
            f"{name}: {error.strerror}; expected a report's folder, a target or a journal"
        ) from None
    except UnicodeDecodeError:
        raise LabError(f"{name}: is no text; expected a report's folder, a target or a journal") from None
    if not text.strip():
        raise LabError(f"{name}: the file is empty; expected a report's folder, a target or a journal")
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict) and "actor" not in whole:
        return _target(str(path.resolve()))
    return JournalText.read(name, text)


def _limited(run: CheckRun, only: str) -> CheckRun:
    """Return a report's run, of the requirements below these prefixes alone."""
    if not only.split():
        return run
    prefixes = only.split()
    states = {id: state for id, state in run.states.items() if any(is_below(id, each) for each in prefixes)}
    verdicts = {name: each for name, each in run.verdicts.items() if set(each.requirements) & set(states)}
    return CheckRun(run.name, states, verdicts, run.version, only)


def _played(target: CheckTarget, chosen: Suite, only: str, play: Callable[..., list[Verdict]]) -> CheckRun:
    """Play the checks against a target. play: a function of the checks and the target."""
    verdicts = play(chosen.checks, target.target)
    rows = [*matrix.rows(chosen.package, verdicts), *matrix.rows(chosen.own, verdicts)]
    return CheckRun(
        target.name,
        {each.id: each.state for each in rows},
        {each.check: each for each in verdicts},
        __version__,
        only,
    )
