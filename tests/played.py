"""One run of all checks and mutants per session of tests, whose results all tests share.

The first test that needs the results runs them; tests on other workers wait. A check that passes on a lab on which
mutants were tried shows two things: that it passes, and that no mutant stays. Slow imports are inside functions,
since every session imports this module.
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
    from labkit.conformance.mutant import Mutant
    from labkit.conformance.verdict import Verdict
    from tests.conformance.trial import Trial

MUTANTS = "test_every_mutant_is_noticed"  # name of the test that has the mutants of a part, or of an area, as parameter
PROCESSES = 5  # some wait now and then: a mutant that does not answer costs seconds, but no CPU time
FOLDER = "LABKIT_TESTS_PLAYED"  # the environment variable by which a session's workers find its folder


def begin() -> None:
    """Create a folder for this session and its workers."""
    os.environ[FOLDER] = mkdtemp(prefix="labkit-played-")


def end() -> None:
    shutil.rmtree(os.environ.pop(FOLDER), ignore_errors=True)


def all_played(session: pytest.Session, server: ForkServer | None = None) -> Path:
    """Return a verdicts.json of all checks, run if no test has yet. server: a running fork server of PRELOAD.

    If the session tests all mutants, they are tried first, on the labs on which the checks run afterwards.
    """
    folder = Path(os.environ[FOLDER])
    file = folder / "verdicts.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
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
    """Return whether the session has the tests of all mutants."""
    from labkit.conformance.rows import all_mutants

    return len(tested_mutants(session)) == len(all_mutants())


def tested_mutants(session: pytest.Session) -> list[Mutant]:
    """Return the mutants that the session has tests of."""
    found: list[Mutant] = []
    for item in session.items:
        if getattr(item, "originalname", "") == MUTANTS:
            found += item.callspec.params["mine"]  # type: ignore[attr-defined]
    return found


def trials_of(session: pytest.Session, server: ForkServer) -> list[Trial]:
    """Return the trials of the mutants that the session has tests of."""
    from tests.conformance.mutation import try_all
    from tests.conformance.trial import Trial

    if not tests_all_mutants(session):
        return list(try_all(tested_mutants(session), server=server))
    return [Trial.from_dict(each) for each in json.loads(all_played(session, server).read_text())["trials"]]


def verdicts_of(
    checks: Sequence[Check], session: pytest.Session, server: ForkServer | None = None
) -> dict[str, Verdict]:
    """Return the verdicts of checks, by name: from the shared run if all are requested, otherwise only these run."""
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
    # A mutant that damaged its lab fails its own test, not the tests of checks that failed on that lab.
    rest = {
        each.check: each for each in _play([each for each in all_checks() if each.name not in passed], server)
    }
    return [(passed | rest)[each.name] for each in all_checks()], trials


def _play(checks: Sequence[Check], server: ForkServer | None = None) -> list[Verdict]:
    from labkit.conformance.processes import play
    from labkit.conformance.target import LOCAL_TARGET
    from tests.conformance.warm import SEED

    return play(checks, LOCAL_TARGET, SEED, server=server)
