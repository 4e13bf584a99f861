"""Playing mutants in processes that a fork server starts (warm.py): those of some parts one after the other on the lab
of one; the few that would harm the others, or come too late, in one of their own.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from labkit.conformance import runner
from labkit.conformance.catalogue import load
from labkit.conformance.check import Check, all_checks
from labkit.conformance.fork_server import ForkServer, Message
from labkit.conformance.mutant import NOTICED, Mutant, Patch, Row, Trial, all_patches, judge
from labkit.conformance.rows import all_mutants
from labkit.conformance.runner import Play
from labkit.conformance.target import LAB_YAML, Target
from labkit.conformance.verdict import Verdict
from labkit.lab.lab import Lab
from labkit.settings import load as read_settings
from tests.conformance import warm
from tests.conformance.mutation_jobs import Job, planned
from tests.conformance.warm import SEED, Warm

PATIENCE = 120.0  # seconds of real time for one process
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
    """Break this process's platform as a patch says, and try it on a lab that nobody else has.

    there: a lab that is there already, for a patch that need not be there from the start.
    """
    if there is not None and not patch.from_start:
        target = there.target()
        with applied(patch):
            return try_alone(patch, target)
    with applied(patch), Lab(SEED, config=LAB_YAML) as lab:
        return try_alone(patch, Target.local(lab, SEED, SETTINGS))


def try_alone(patch: Patch, target: Target) -> Trial:
    """Try a patch that is in place, on a lab that nobody uses afterwards."""
    with runner.player(target, CATALOGUE) as play:
        trial = try_on(patch, play)
    return replace(trial, broken=(*trial.broken, *own_errors(target.lab)))


def run_shared(
    mutants: Iterable[Mutant], target: Target, control: Iterable[str] = ()
) -> tuple[list[Trial], list[Verdict]]:
    """Try mutants one after the other, then play, without any fault, the checks that noticed one: where such a check
    does not pass, nothing is proved by it, or a mutant spoiled the lab.

    control: checks to play then in any case. Their verdicts come too.
    """
    with runner.player(target, CATALOGUE) as play:
        trials = [_try(each, target.lab, play) for each in mutants]
        names = {check for each in trials for check in each.noticed}.union(control)
        again = play([each for each in all_checks() if each.name in names])
    fell = {each.check: each.explanation() for each in again if each.outcome != "passed"}
    return [replace(each, broken=(*each.broken, *_proved_nothing(each, fell))) for each in trials], again


def _proved_nothing(trial: Trial, fell: Mapping[str, str]) -> Iterator[str]:
    for check in trial.noticed:
        if check in fell:
            yield f"{check}: also without the fault: {fell[check]}"


def _try(mutant: Mutant, lab: Lab, play: Play) -> Trial:
    lab.journal.clear()  # which some checks read whole
    try:
        if isinstance(mutant, Row):
            return try_row(mutant, lab, play)
        assert isinstance(mutant, Patch)
        return try_patch(mutant, lab, play)
    except Exception as error:  # noqa: BLE001 - the others are to be tried all the same
        return _no_trial(mutant, f"{type(error).__name__}: {error}")


def try_row(row: Row, lab: Lab, play: Play) -> Trial:
    """Add the row's fault, run checks until each requirement has one that notices, and take the fault out."""
    try:
        fault = lab.faults.add(**row.fault, name=row.name)
        trial = try_on(row, play)
        hits = fault.hits
    finally:
        lab.faults.clear()
    return trial if hits else replace(trial, broken=(*trial.broken, "its fault was never hit"))


def try_patch(patch: Patch, lab: Lab, play: Play) -> Trial:
    """The same with a fault in code."""
    with applied(patch):
        trial = try_on(patch, play)
    return replace(trial, broken=(*trial.broken, *own_errors(lab)))


def own_errors(lab: Lab) -> Iterator[str]:
    """What went wrong in a patch itself, not in what it breaks: then it is that error which the checks notice."""
    for kind in ("error", "call", "script"):
        for record in lab.journal.select(kind):
            detail = record.detail if isinstance(record.detail, dict) else {}
            where = (detail.get("trace") or [""])[-1]
            what = str(detail.get("error"))
            if where.startswith(OWN_FILES) and any(each in what for each in OWN_ERRORS):
                yield f"{where}: {what}"


def try_on(mutant: Mutant, play: Play) -> Trial:
    """Run checks until each requirement of a mutant has one that notices, and the smoke check."""
    wanted = {*mutant.requirements}
    noticed: set[str] = set()

    def note(verdict: Verdict) -> None:
        noticed.update(each for each in verdict.requirements if verdict.outcome_of(each) in NOTICED)

    def needed() -> Iterator[Check]:
        """Those that may yet tell more, some of which wait long for what a mutant never sends; smoke in any case."""
        for each in checks():
            if each.name != mutant.smoke and (wanted - noticed).intersection(each.requirements):
                yield each
        yield from (each for each in checks() if each.name == mutant.smoke)

    return judge(mutant, play(needed(), note))


@cache
def checks() -> tuple[Check, ...]:
    """Those that mutants prove: models are proved by faults of their own."""
    return tuple(each for each in all_checks() if each.model is None)


def original_of(mutant: Patch) -> Any:
    """What a mutant replaces."""
    owner, name = _owner(mutant)
    return vars(owner)[name]


@contextmanager
def applied(mutant: Patch) -> Iterator[None]:
    """Have the broken function in place, also where other modules imported it or keep it in a table."""
    owner, name = _owner(mutant)
    original = vars(owner)[name]
    broken = mutant.replace(original)
    tables: list[dict[Any, Any]] = []
    if isinstance(owner, ModuleType):
        tables = held().get(id(original)) or holders([original])[id(original)]
    places = [(table, key) for table in tables for key, value in table.items() if value is original]

    def put(function: Any) -> None:
        setattr(owner, name, function)
        for table, key in places:
            table[key] = function

    put(broken)
    try:
        yield
    finally:
        put(original)


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
    mutants: Iterable[Mutant],
    processes: int = 2,
    server: ForkServer | None = None,
    control: Iterable[Check] = (),
    progress: Callable[[Verdict], object] = lambda verdict: None,
) -> Iterator[Trial]:
    """Try mutants in processes of their own, those of a few parts in one; trials come as the processes end.

    server: one that is there already; control: checks to play without a fault too, each once, after the mutants of its
    part; progress: gets their verdicts.
    """
    if server is None:
        with ForkServer(PRELOAD) as server:
            yield from try_all(mutants, processes, server, control, progress)
        return
    named = {each.name: each for each in mutants}
    jobs = planned(named.values(), control)
    trials: dict[str, Trial] = {}
    for event in server.run(f"{__name__}:attempt", jobs, processes=processes, within=PATIENCE):
        if isinstance(event, Message):
            if verdict := event.message.get("verdict"):
                progress(Verdict.from_dict(verdict))
            else:
                trial = Trial.from_dict(event.message["trial"])
                trials[trial.mutant] = trial
            continue
        last = (event.printed.splitlines() or ["nothing was printed"])[-1]
        for name in event.argument["mutants"]:
            yield _no_trial(named[name], f"{event.error}: {last}") if event.error else trials.pop(name)


def attempt(job: Job, tell: Callable[[Any], None]) -> None:
    """Try mutants in this process, which cannot be used for anything else afterwards, and play checks without them."""
    mutants = [each for each in all_mutants() if each.name in job["mutants"]]
    verdicts: list[Verdict] = []
    try:
        if job["alone"]:
            there = warm.take()
            trials = [run_patch(each, there) for each in mutants if isinstance(each, Patch)]
        else:
            with warm.target_of_seed() as target:
                trials, verdicts = run_shared(mutants, target, job["checks"])
    except Exception as error:  # noqa: BLE001 - it is to be told of each of them
        trials = [_no_trial(each, f"{type(error).__name__}: {error}") for each in mutants]
    for trial in trials:
        tell({"trial": trial.as_dict()})
    for verdict in verdicts:
        if verdict.check in job["checks"]:
            tell({"verdict": verdict.as_dict()})


def _no_trial(mutant: Mutant, reason: str) -> Trial:
    return Trial(mutant.name, mutant.requirements, False, (f"no trial: {reason}",))
