"""Runner of mutants in processes of a fork server. The mutants of a few parts share a process and its lab (warm.py);
a mutant that would affect others, or has to be in place before the lab starts, has its own process.
"""

from __future__ import annotations

import gc
import sys
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
from labkit.conformance.mutant import Mutant, Patch, Row, all_patches
from labkit.conformance.rows import all_mutants
from labkit.conformance.runner import Play
from labkit.conformance.target import LAB_YAML, Target
from labkit.conformance.verdict import Verdict
from labkit.core.errors import did_you_mean
from labkit.lab.lab import Lab
from labkit.settings import load as read_settings
from tests.conformance import warm
from tests.conformance.mutation_jobs import Job, planned
from tests.conformance.trial import NOTICED, Trial, judge
from tests.conformance.warm import SEED, Warm

PATIENCE = 120.0  # seconds of real time for one process
OWN_FILES = ("mutants", "breaking")  # prefixes of the files of patches, and of their shared changes
OWN_ERRORS = ("TypeError", "AttributeError", "NameError", "UnboundLocalError", "KeyError", "IndexError")
PRELOAD = __name__
CATALOGUE = (
    load()
)  # both are the same for all processes that are forked from here; the lab itself reads its file again
SETTINGS = read_settings(LAB_YAML)


def prepare() -> None:
    """Prepare a fork server's process for all mutants (fork_server.py)."""
    warm.prepare()
    holders_of_patched()


def run_patch(patch: Patch, there: Warm | None = None) -> Trial:
    """Apply a patch to this process's platform, and try it on a lab that nothing else uses.

    there: an existing lab, for a patch that need not be in place from the start.
    """
    if there is not None and not patch.from_start:
        target = there.target()
        with applied(patch):
            return try_alone(patch, target)
    with applied(patch), Lab(SEED, config=LAB_YAML) as lab:
        return try_alone(patch, Target.local(lab, SEED, SETTINGS))


def try_alone(patch: Patch, target: Target) -> Trial:
    """Try a patch that is in place, on a lab that nothing uses afterwards."""
    with runner.player(target, CATALOGUE) as play:
        trial = try_on(patch, play)
    return replace(trial, broken=(*trial.broken, *own_errors(target.lab)))


def run_shared(
    mutants: Iterable[Mutant], target: Target, control: Iterable[str] = ()
) -> tuple[list[Trial], list[Verdict]]:
    """Try mutants one after the other, then run the checks that noticed one without any fault. A check that fails
    then proves nothing, or a mutant has damaged the lab.

    control: further checks to run then. The verdicts of this run are returned, too.
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
    lab.journal.clear()  # some checks read all of it
    try:
        if isinstance(mutant, Row):
            return try_row(mutant, lab, play)
        assert isinstance(mutant, Patch)
        return try_patch(mutant, lab, play)
    except Exception as error:  # noqa: BLE001 - the other mutants must still be tried
        return _no_trial(mutant, f"{type(error).__name__}: {error}")


def try_row(row: Row, lab: Lab, play: Play) -> Trial:
    """Add the row's fault, run checks until one notices for each requirement, and remove the fault."""
    try:
        fault = lab.faults.add(**row.fault, name=row.name)
        trial = try_on(row, play)
        hits = fault.hits
    finally:
        lab.faults.clear()
    return trial if hits else replace(trial, broken=(*trial.broken, "its fault was never hit"))


def try_patch(patch: Patch, lab: Lab, play: Play) -> Trial:
    """Apply the patch, run checks until one notices for each requirement, and undo it."""
    with applied(patch):
        trial = try_on(patch, play)
    return replace(trial, broken=(*trial.broken, *own_errors(lab)))


def own_errors(lab: Lab) -> Iterator[str]:
    """Yield the errors that a patch itself raised by mistake: a check that notices such an error proves nothing."""
    for kind in ("error", "call", "script"):
        for record in lab.journal.select(kind):
            detail = record.detail if isinstance(record.detail, dict) else {}
            where = (detail.get("trace") or [""])[-1]
            what = str(detail.get("error"))
            if where.startswith(OWN_FILES) and any(each in what for each in OWN_ERRORS):
                yield f"{where}: {what}"


def try_on(mutant: Mutant, play: Play) -> Trial:
    """Run checks until one notices for each requirement of a mutant, and the smoke check."""
    wanted = {*mutant.requirements}
    noticed: set[str] = set()

    def note(verdict: Verdict) -> None:
        noticed.update(each for each in verdict.requirements if verdict.outcome_of(each) in NOTICED)

    def needed() -> Iterator[Check]:
        """Yield the checks that may notice a further requirement, then the smoke check."""
        for each in checks():
            if each.name != mutant.smoke and (wanted - noticed).intersection(each.requirements):
                yield each
        yield from (each for each in checks() if each.name == mutant.smoke)

    return judge(mutant, play(needed(), note))


@cache
def checks() -> tuple[Check, ...]:
    """Return the checks that mutants prove; model checks are proved by other faults."""
    return tuple(each for each in all_checks() if each.model is None)


def original_of(mutant: Patch) -> Any:
    """Return the function that a mutant replaces."""
    owner, name = _owner(mutant)
    return vars(owner)[name]


@contextmanager
def applied(mutant: Patch) -> Iterator[None]:
    """Replace a function by its broken version inside this context, also where other modules import it or tables hold
    it.
    """
    owner, name = _owner(mutant)
    original = vars(owner)[name]
    broken = mutant.replace(original)
    tables: list[dict[Any, Any]] = []
    if isinstance(owner, ModuleType):
        tables = holders_of_patched().get(id(original)) or holders([original])[id(original)]
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
    """Return the module or class that a mutant changes, and the name of the function there."""
    module_name, _, path = mutant.patches.partition(":")
    owner: Any = import_module(module_name)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    return owner, name


@cache
def holders_of_patched() -> dict[int, list[dict[Any, Any]]]:
    """Return the namespaces and tables that hold each function of a module that a mutant replaces, by the function's
    id.

    The search takes a tenth of a mutant's time, so it is done once, before processes are forked.
    """
    found = [(owner, vars(owner).get(name)) for owner, name in map(_owner, all_patches())]
    return holders([each for owner, each in found if isinstance(owner, ModuleType) and each is not None])


def holders(functions: Iterable[object]) -> dict[int, list[dict[Any, Any]]]:
    """Return every namespace and table that holds a function, by the function's id, except those of mutants."""
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
    """Try mutants in several processes, those of a few parts in one; yield trials as the processes end.

    server: a running one; control: checks to run without a fault too, each once, after the mutants of its part;
    progress: called with their verdicts.
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


def attempt(job: Job, send: Callable[[Any], None]) -> None:
    """Try mutants in this process, which cannot be used for anything else afterwards, and run checks without them."""
    mutants = [each for each in all_mutants() if each.name in job["mutants"]]
    verdicts: list[Verdict] = []
    try:
        if job["alone"]:
            there = warm.take()
            trials = [run_patch(each, there) for each in mutants if isinstance(each, Patch)]
        else:
            with warm.target_of_seed() as target:
                trials, verdicts = run_shared(mutants, target, job["checks"])
    except Exception as error:  # noqa: BLE001 - it is reported for each of them
        trials = [_no_trial(each, f"{type(error).__name__}: {error}") for each in mutants]
    for trial in trials:
        send({"trial": trial.as_dict()})
    for verdict in verdicts:
        if verdict.check in job["checks"]:
            send({"verdict": verdict.as_dict()})


def _no_trial(mutant: Mutant, reason: str) -> Trial:
    return Trial(mutant.name, mutant.requirements, False, (f"no trial: {reason}",))


if __name__ == "__main__":  # one mutant: python -m tests.conformance.mutation long-poll/longer
    known = {each.name: each for each in all_mutants()}
    given = " ".join(sys.argv[1:])
    if (one := known.get(given)) is None:
        sys.exit(f"expected the name of a mutant, not {given!r}{did_you_mean(given, known)}")
    if isinstance(one, Patch):
        tried = run_patch(one)
    else:
        with warm.target_of_seed() as lab:
            tried = run_shared([one], lab)[0][0]
    sys.stdout.write(f"{tried}\n")
