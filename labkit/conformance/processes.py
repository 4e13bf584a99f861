"""Playing checks in processes of their own, so that all cores work and none shares a lab with another.

Each area of a local run gets a fresh lab, two areas at a time. Against a
platform elsewhere, which all checks share, one process plays them one after the other.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from tempfile import TemporaryFile
from threading import Lock

from labkit.conformance import runner
from labkit.conformance.catalogue import load
from labkit.conformance.check import Check, all_checks
from labkit.conformance.target import LOCAL_TARGET, opened
from labkit.conformance.verdict import Verdict

WORKERS = 2
Job = tuple[str, ...]  # the names of checks


def play(
    checks: Iterable[Check],
    target: str = LOCAL_TARGET,
    seed: int | None = None,
    progress: Callable[[Verdict], object] = lambda verdict: None,
) -> list[Verdict]:
    """Play checks, each once; their verdicts, in the order of the checks.

    target: as `labkit report --target` takes it; progress: gets each verdict, from one thread at a time. What a
    process did not come to, because it died, is broken.
    """
    wanted = list(checks)
    lock = Lock()
    running: set[subprocess.Popen[str]] = set()

    def fell(verdict: Verdict) -> None:
        with lock:
            progress(verdict)

    def one(job: Sequence[Check]) -> list[Verdict]:
        return _in_a_process(job, target, seed, fell, running)

    # the longest first, so that the last process is not left alone for long
    jobs = sorted(_jobs(wanted, target), key=len, reverse=True)
    pool = ThreadPoolExecutor(WORKERS)
    try:
        found = {verdict.check: verdict for verdicts in pool.map(one, jobs) for verdict in verdicts}
    except BaseException:
        for process in tuple(running):
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    return [found[each.name] for each in wanted]


def _jobs(checks: Sequence[Check], target: str) -> list[list[Check]]:
    if target != LOCAL_TARGET:
        return [list(checks)] if checks else []
    ordered = sorted(checks, key=_area)  # a stable sort
    return [list(members) for _, members in groupby(ordered, _area)]


def _area(check: Check) -> str:
    return check.requirements[0].partition("-")[0]


def _in_a_process(
    checks: Sequence[Check],
    target: str,
    seed: int | None,
    progress: Callable[[Verdict], object],
    running: set[subprocess.Popen[str]],
) -> list[Verdict]:
    """Have them played by `python -m labkit.conformance.processes`, which prints a line of JSON for each."""
    job = json.dumps({"checks": [each.name for each in checks], "target": target, "seed": seed})
    found: dict[str, Verdict] = {}
    with TemporaryFile("w+") as log:
        command = [sys.executable, "-m", __name__]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process:
            running.add(process)
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(job)
            process.stdin.close()
            for line in process.stdout:
                verdict = Verdict.from_dict(json.loads(line))
                found[verdict.check] = verdict
                progress(verdict)
        running.discard(process)
        log.seek(0)
        last = (log.read().strip().splitlines() or ["no reason given"])[-1]
    for each in checks:
        if each.name not in found:
            reason = f"the process that plays the checks ended before it ({process.returncode}): {last}"
            found[each.name] = Verdict(each.name, each.requirements, each.title, "broken", reason)
            progress(found[each.name])
    return list(found.values())


def main() -> None:
    """Play the checks that standard input names; a line of JSON for each verdict goes to standard output."""
    job = json.load(sys.stdin)
    by_name = {each.name: each for each in all_checks()}
    with opened(job["target"], job["seed"]) as target:
        runner.run(
            [by_name[name] for name in job["checks"]],
            target,
            load(),
            _tell,
        )


def _tell(verdict: Verdict) -> None:
    sys.stdout.write(json.dumps(verdict.as_dict()) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
