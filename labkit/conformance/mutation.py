"""Playing mutants in processes that a fork server starts (fork_server.py, preload.py): a patch in one of its own, all
rows of an area on the lab of one.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from labkit.conformance import runner, warm
from labkit.conformance.catalogue import load
from labkit.conformance.check import Check, all_checks, select
from labkit.conformance.fork_server import ForkServer, Said
from labkit.conformance.mutant import NOTICED, Mutant, Patch, Row, Trial, all_patches, judge
from labkit.conformance.rows import all_mutants
from labkit.conformance.target import LAB_YAML, Target, opened
from labkit.conformance.verdict import Verdict
from labkit.conformance.warm import SEED, Warm
from labkit.core.errors import LabkitError
from labkit.lab.lab import Lab
from labkit.settings import load as read_settings

PATIENCE = 120.0  # seconds of real time for one process
TOGETHER = 60  # rows that share one
OWN_FILES = ("mutants", "breaking")  # how the files of patches, and of what they share, begin
OWN_ERRORS = ("TypeError", "AttributeError", "NameError", "UnboundLocalError", "KeyError", "IndexError")
PRELOAD = __name__
CATALOGUE = load()  # both are the same for all that are forked from here; the lab itself reads its file anew
SETTINGS = read_settings(LAB_YAML)


def prepare() -> None:
    """For a process that others are forked from: what all mutants need (fork_server.py)."""
    warm.prepare()
    held()


def run_patch(patch: Patch, there: Warm | None = None) -> Trial:
    """Break this process's platform as a patch says, and run checks until each requirement has one that notices.

    there: a lab that is there already, for a patch that need not be there from the start. There is no way back: the
    process ends afterwards.
    """
    if there is not None and not patch.from_start:
        target = there.target()
        apply(patch)
        return _try_patch(patch, target)
    apply(patch)
    with Lab(SEED, config=LAB_YAML) as lab:
        return _try_patch(patch, Target.local(lab, SEED, SETTINGS))


def _try_patch(patch: Patch, target: Target) -> Trial:
    trial = try_on(patch, target)
    return replace(trial, broken=(*trial.broken, *own_errors(target)))


def own_errors(target: Target) -> Iterator[str]:
    """What went wrong in a patch itself, not in what it breaks: then it is that error which the checks notice."""
    for kind in ("error", "call", "script"):
        for record in target.lab.journal.select(kind):
            detail = record.detail if isinstance(record.detail, dict) else {}
            where = (detail.get("trace") or [""])[-1]
            what = str(detail.get("error"))
            if where.startswith(OWN_FILES) and any(each in what for each in OWN_ERRORS):
                yield f"{where}: {what}"


def run_rows(rows: Iterable[Row], target: Target) -> list[Trial]:
    """Play rows one after the other, then once more, without any fault, the checks that noticed one: where such a
    check does not pass, nothing is proved by it, or a row spoiled the lab.
    """
    trials = [try_row(each, target) for each in rows]
    noticed = {check for each in trials for check in each.noticed}
    again = runner.run([each for each in all_checks() if each.name in noticed], target, CATALOGUE)
    fell = {each.check: each.explanation() for each in again if each.outcome != "passed"}
    return [
        replace(
            each,
            broken=(
                *each.broken,
                *(
                    f"{check}: also without the fault: {fell[check]}"
                    for check in each.noticed
                    if check in fell
                ),
            ),
        )
        for each in trials
    ]


def try_row(row: Row, target: Target) -> Trial:
    """Add the row's fault, run checks until each requirement has one that notices, and take the fault out."""
    target.lab.journal.clear()  # which some checks read whole
    faults = target.lab.faults
    try:
        fault = faults.add(**row.fault, name=row.name)
        try:
            trial = try_on(row, target)
            hits = fault.hits
        finally:
            faults.clear()
    except LabkitError as error:
        return _no_trial(row, str(error))
    return trial if hits else replace(trial, broken=(*trial.broken, "its fault was never hit"))


def try_on(mutant: Mutant, target: Target) -> Trial:
    """Run checks until each requirement of a mutant has one that notices, and the smoke check."""
    noticed: set[str] = set()

    def note(verdict: Verdict) -> None:
        noticed.update(each for each in verdict.requirements if verdict.of(each) in NOTICED)

    def needed() -> Iterator[Check]:
        """Those that may yet tell more, some of which wait long for what a mutant never sends; smoke in any case."""
        checks = [
            each for each in all_checks() if each.model is None
        ]  # they are proved by faults of their own
        for each in select(checks, *mutant.requirements):
            if each.name != mutant.smoke and not noticed.issuperset(
                {*each.requirements} & {*mutant.requirements}
            ):
                yield each
        yield from (each for each in checks if each.name == mutant.smoke)

    return judge(mutant, runner.run(needed(), target, CATALOGUE, note))


def original_of(mutant: Patch) -> Any:
    """What a mutant replaces."""
    owner, name = _owner(mutant)
    return vars(owner)[name]


def apply(mutant: Patch) -> None:
    """Put the broken function in place, also where other modules imported it or keep it in a table."""
    owner, name = _owner(mutant)
    original = vars(owner)[name]
    broken = mutant.replace(original)
    setattr(owner, name, broken)
    if isinstance(owner, ModuleType):
        for holder in held().get(id(original)) or holders([original])[id(original)]:
            for key in [key for key, value in holder.items() if value is original]:
                holder[key] = broken


def _owner(mutant: Patch) -> tuple[Any, str]:
    """The module or class that a mutant changes, and the name of what it replaces there."""
    module_name, _, path = mutant.patches.partition(":")
    owner: Any = import_module(module_name)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    return owner, name


@cache
def held() -> dict[int, list[dict[Any, Any]]]:
    """By the id of each function of a module that some mutant replaces: what holds it.

    To look for that takes a tenth of a mutant's time, so it is done once, before the processes of all are forked.
    """
    found = [(owner, vars(owner).get(name)) for owner, name in map(_owner, all_patches())]
    return holders([each for owner, each in found if isinstance(owner, ModuleType) and each is not None])


def holders(functions: Iterable[object]) -> dict[int, list[dict[Any, Any]]]:
    """By the id of each function: every namespace and table that holds it, except those of mutants."""
    found: dict[int, list[dict[Any, Any]]] = {id(each): [] for each in functions}
    for holder in gc.get_referrers(*functions):
        if isinstance(holder, dict) and not str(holder.get("__name__")).startswith("labkit.conformance"):
            for each in {id(value) for value in holder.values()} & found.keys():
                found[each].append(holder)
    return found


def try_all(
    mutants: Iterable[Mutant], processes: int = 2, server: ForkServer | None = None
) -> Iterator[Trial]:
    """Try each patch in a process of its own, and the rows of each area in one; trials come as they end.

    server: one that is there already.
    """
    if server is None:
        with ForkServer(PRELOAD) as server:
            yield from try_all(mutants, processes, server)
        return
    named = {each.name: each for each in mutants}
    trials: dict[str, Trial] = {}
    for event in server.run(
        f"{__name__}:attempt", _jobs(named.values()), processes=processes, within=PATIENCE
    ):
        if isinstance(event, Said):
            trial = Trial.from_dict(event.message)
            trials[trial.mutant] = trial
            continue
        last = (event.printed.splitlines() or ["nothing was printed"])[-1]
        for name in event.argument:
            yield _no_trial(named[name], f"{event.error}: {last}") if event.error else trials.pop(name)


def _jobs(mutants: Iterable[Mutant]) -> list[list[str]]:
    """The names of those that share a process; the longest first."""
    rows: dict[str, list[str]] = {}
    jobs: list[list[str]] = []
    for each in mutants:
        if isinstance(each, Row):
            rows.setdefault(each.requirements[0].partition("-")[0], []).append(each.name)
        else:
            jobs.append([each.name])
    shared = [
        names[first : first + TOGETHER] for names in rows.values() for first in range(0, len(names), TOGETHER)
    ]
    return [*sorted(shared, key=len, reverse=True), *jobs]


def attempt(names: Sequence[str], tell: Callable[[Any], None]) -> None:
    """Try a patch, or several rows, in this process, which cannot be used for anything else afterwards."""
    mutants = [each for each in all_mutants() if each.name in names]
    try:
        trials = run(mutants, warm.take())
    except Exception as error:  # noqa: BLE001 - the others are to be tried all the same
        trials = [_no_trial(each, f"{type(error).__name__}: {error}") for each in mutants]
    for trial in trials:
        tell(trial.as_dict())


def run(mutants: Sequence[Mutant], there: Warm | None) -> list[Trial]:
    """One patch, or several rows. there: a lab that is there already."""
    rows = [each for each in mutants if isinstance(each, Row)]
    if not rows:
        return [run_patch(each, there) for each in mutants if isinstance(each, Patch)]
    if there is not None:
        return run_rows(rows, there.target())
    with opened(seed=SEED) as target:
        return run_rows(rows, target)


def _no_trial(mutant: Mutant, reason: str) -> Trial:
    return Trial(mutant.name, mutant.requirements, False, (f"no trial: {reason}",))
