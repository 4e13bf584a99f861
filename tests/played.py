"""The one play of all checks in a session of tests, and of mutants, for all that show or judge what became of them.

Whoever needs it first plays them; the others, on other workers, wait for it. That a check passes on a lab after mutants
says two things at once: that it passes, and that none of them stays. What takes long to import is imported then: every
session imports this.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from labkit.conformance.check import Check
    from labkit.conformance.fork_server import ForkServer
    from labkit.conformance.mutant import Mutant, Trial
    from labkit.conformance.verdict import Verdict

MUTANTS = "test_every_mutant_is_noticed"  # a test for those of a part, or of an area
PROCESSES = 5  # some wait now and then: a mutant that does not answer costs seconds, but no work
FOLDER = "LABKIT_TESTS_PLAYED"  # the environment variable by which a session's workers find its folder


def begin() -> None:
    """Have a folder for this session and its workers."""
    os.environ[FOLDER] = mkdtemp(prefix="labkit-played-")


def end() -> None:
    shutil.rmtree(os.environ.pop(FOLDER), ignore_errors=True)


def all_played(session: pytest.Session, server: ForkServer | None = None) -> Path:
    """A verdicts.json of all checks, played if nobody has yet. server: one of PRELOAD that is there already.

    Where the session tests all mutants they are tried then, on the labs on which the checks are played after them.
    """
    folder = Path(os.environ[FOLDER])
    file = folder / "verdicts.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
        if not file.exists():
            verdicts, trials = _all(tests_all_mutants(session), server)
            played = {
                "verdicts": [each.as_dict() for each in verdicts],
                "trials": [each.as_dict() for each in trials],
            }
            unfinished = folder / "unfinished.json"
            unfinished.write_text(json.dumps(played), encoding="utf-8")
            unfinished.rename(file)
    return file


def tests_all_mutants(session: pytest.Session) -> bool:
    """Has the session the tests of all mutants?"""
    from labkit.conformance.rows import all_mutants

    return len(tested_mutants(session)) == len(all_mutants())


def tested_mutants(session: pytest.Session) -> list[Mutant]:
    """The mutants that the session has tests of."""
    found: list[Mutant] = []
    for item in session.items:
        if getattr(item, "originalname", "") == MUTANTS:
            found += item.callspec.params["mine"]  # type: ignore[attr-defined]
    return found


def trials_of(session: pytest.Session, server: ForkServer) -> list[Trial]:
    """The trials of the mutants that the session has tests of."""
    from labkit.conformance.mutant import Trial
    from tests.conformance.mutation import try_all

    if not tests_all_mutants(session):
        return list(try_all(tested_mutants(session), server=server))
    return [Trial.from_dict(each) for each in json.loads(all_played(session, server).read_text())["trials"]]


def verdicts_of(
    checks: Sequence[Check], session: pytest.Session, server: ForkServer | None = None
) -> dict[str, Verdict]:
    """The verdicts of checks, by name: of the one play where all are wanted, else these alone are played."""
    from labkit.conformance.check import all_checks
    from labkit.reporting.verdicts import read_verdicts

    every = len(checks) == len(all_checks())
    found = read_verdicts(all_played(session, server)) if every else _play(checks, server)
    return {each.check: each for each in found}


def _all(with_mutants: bool, server: ForkServer | None) -> tuple[list[Verdict], list[Trial]]:
    from labkit.conformance.check import all_checks
    from labkit.conformance.fork_server import ForkServer
    from labkit.conformance.rows import all_mutants
    from tests.conformance.mutation import PRELOAD, try_all

    if server is None:
        with ForkServer(PRELOAD) as server:
            return _all(with_mutants, server)
    trials: list[Trial] = []
    passed: dict[str, Verdict] = {}

    def note(verdict: Verdict) -> None:
        if verdict.outcome == "passed":
            passed[verdict.check] = verdict

    if with_mutants:
        trials += try_all(all_mutants(), PROCESSES, server, all_checks(), note)
    # A mutant that spoiled its lab is told by its own test, and not by those of the checks that fell there.
    rest = {
        each.check: each for each in _play([each for each in all_checks() if each.name not in passed], server)
    }
    return [(passed | rest)[each.name] for each in all_checks()], trials


def _play(checks: Sequence[Check], server: ForkServer | None = None) -> list[Verdict]:
    from labkit.conformance.processes import play
    from labkit.conformance.target import LOCAL_TARGET
    from tests.conformance.warm import SEED

    return play(checks, LOCAL_TARGET, SEED, server=server)
