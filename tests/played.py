"""The one play of all checks in a session of tests, for all that show or judge verdicts.

Whoever needs it first plays them, in processes that have the lab which mutants have too (labkit/conformance/warm.py);
the others, on other workers, wait for it. What takes long to import is imported then: every session imports this.
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
    from labkit.conformance.check import Check
    from labkit.conformance.fork_server import ForkServer
    from labkit.conformance.verdict import Verdict

FOLDER = "LABKIT_TESTS_PLAYED"  # the environment variable by which a session's workers find its folder


def begin() -> None:
    """Have a folder for this session and its workers."""
    os.environ[FOLDER] = mkdtemp(prefix="labkit-played-")


def end() -> None:
    shutil.rmtree(os.environ.pop(FOLDER), ignore_errors=True)


def all_played(server: ForkServer | None = None) -> Path:
    """A verdicts.json of all checks, played if nobody has yet. server: one of PRELOAD that is there already."""
    from labkit.conformance.check import all_checks

    folder = Path(os.environ[FOLDER])
    file = folder / "verdicts.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
        if not file.exists():
            played = [each.as_dict() for each in _play(all_checks(), server)]
            unfinished = folder / "unfinished.json"
            unfinished.write_text(json.dumps({"verdicts": played}), encoding="utf-8")
            unfinished.rename(file)
    return file


def verdicts_of(checks: Sequence[Check]) -> dict[str, Verdict]:
    """The verdicts of checks, by name: of the one play where all are wanted, else these alone are played."""
    from labkit.conformance.check import all_checks
    from labkit.reporting.verdicts import read_verdicts

    found = read_verdicts(all_played()) if len(checks) == len(all_checks()) else _play(checks)
    return {each.check: each for each in found}


def _play(checks: Sequence[Check], server: ForkServer | None = None) -> list[Verdict]:
    from labkit.conformance.fork_server import ForkServer
    from labkit.conformance.mutation import PRELOAD
    from labkit.conformance.processes import play
    from labkit.conformance.target import LOCAL_TARGET
    from labkit.conformance.warm import SEED

    if server is None:
        with ForkServer(PRELOAD) as server:
            return _play(checks, server)
    return play(checks, LOCAL_TARGET, SEED, server=server)
