"""Runner of checks in several processes, so that all cores are used and every process has its own lab.

In a local run each part of the checks gets a fresh lab, a few parts at a time: an area, or a share of an area with
many checks. Against a platform elsewhere, which all checks share, one process runs them one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from labkit.conformance.check import CLEANUP_SECONDS, Check, patience
from labkit.conformance.fork_loop import exit_now
from labkit.conformance.fork_server import ForkServer, Message, ServerError
from labkit.conformance.own import Folders
from labkit.conformance.suite import known
from labkit.conformance.target import LOCAL_TARGET, open_target
from labkit.conformance.verdict import Verdict

WORKERS = 3  # more than the cores, since one often waits, mostly for guard times
SPARE = 30.0  # seconds of real time beyond its time limit in which a check must have ended
BEGUN = "begun"  # message of a process whose target is ready
MANY = 75  # checks of one job: few enough for all processes to end at about the same time
Job = dict[str, Any]  # the names of checks, their target, its seed, and folders of one's own
PRELOAD = "labkit.conformance.preload"


def play(
    checks: Iterable[Check],
    target: str = LOCAL_TARGET,
    seed: int | None = None,
    progress: Callable[[Verdict], object] = lambda verdict: None,
    server: ForkServer | None = None,
    folders: Folders = (),
) -> list[Verdict]:
    """Run checks, each once, and return their verdicts in the same order.

    target: as `labkit report --target` accepts it; progress: called with each verdict; server: a running one of
    PRELOAD; folders: those of one's own that the checks are from, besides this package. A check whose process died, or
    was killed because the check did not end, is broken.
    """
    wanted = list(checks)
    if not wanted:
        return []
    if server is None:
        with ForkServer(PRELOAD) as server:
            return play(wanted, target, seed, progress, server, folders)
    by_name = {each.name: each for each in wanted}
    found: dict[str, Verdict] = {}

    def note(verdict: Verdict) -> None:
        found[verdict.check] = verdict
        progress(verdict)

    def broken(names: Iterable[str], reason: str) -> None:
        for each in [by_name[name] for name in names if name not in found]:
            note(Verdict(each.name, each.requirements, each.title, "broken", reason))

    own = [str(Path(each).resolve()) for each in folders]
    # the longest first, so that all processes end at about the same time
    jobs: list[Job] = [
        {"checks": [each.name for each in members], "target": target, "seed": seed, "folders": own}
        for members in sorted(_jobs(wanted, target), key=len, reverse=True)
    ]
    silence = max(map(patience, wanted)) + CLEANUP_SECONDS + SPARE
    try:
        while jobs:
            jobs = _play(server, jobs, silence, note, broken)
    except ServerError as error:
        broken(by_name, str(error))
    return [found[each.name] for each in wanted]


def _play(
    server: ForkServer,
    jobs: Sequence[Job],
    silence: float,
    note: Callable[[Verdict], object],
    broken: Callable[[Iterable[str], str], object],
) -> list[Job]:
    """Run jobs; return jobs for the checks that an ended process did not reach.

    The check that a process ran when it ended, or was killed after `silence` seconds without a message, is broken. No
    check runs again if the process did not reach its first check.
    """
    again: list[Job] = []
    begun: set[str] = set()  # the first checks of jobs
    played: set[str] = set()
    for event in server.run(f"{__name__}:play_job", jobs, processes=WORKERS, silence=silence):
        names = event.argument["checks"]
        if isinstance(event, Message):
            begun.add(names[0])
            if event.message != BEGUN:
                verdict = Verdict.from_dict(event.message)
                played.add(verdict.check)
                note(verdict)
        elif left := [each for each in names if each not in played]:
            last = (event.printed.splitlines() or ["no reason given"])[-1]
            why = f"the process that plays the checks ended before it ({event.error or 'early'}): {last}"
            count = 1 if names[0] in begun else len(left)
            broken(left[:count], why)
            again += [{**event.argument, "checks": left[count:]}] if left[count:] else []
    return again


def _jobs(checks: Sequence[Check], target: str) -> list[list[Check]]:
    if target != LOCAL_TARGET:
        return [list(checks)] if checks else []
    jobs: list[list[Check]] = []
    for _, members in groupby(sorted(checks, key=_area), _area):  # a stable sort
        area = list(members)
        count = math.ceil(len(area) / MANY)
        jobs += [area[n * len(area) // count : (n + 1) * len(area) // count] for n in range(count)]
    return jobs


def _area(check: Check) -> str:
    return check.requirements[0].partition("-")[0]


def play_job(job: dict[str, Any], send: Callable[[Any], None]) -> None:
    """Run the checks of a job in this process, and send each verdict."""
    # A platform takes a second to import; the process that starts the server does not need it.
    from labkit.conformance import runner

    catalogue, checks = known(job["folders"])
    by_name = {each.name: each for each in checks}
    with open_target(job["target"], job["seed"]) as target:
        send(BEGUN)
        runner.run(
            [by_name[name] for name in job["checks"]],
            target,
            catalogue,
            lambda verdict: send(verdict.as_dict()),
        )
        if target.stuck is not None:
            exit_now(0)  # closing a lab with a blocked call would block, too
