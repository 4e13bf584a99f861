"""Playing mutants, each in a process of its own, which a fork server starts (fork_server.py, preload.py)."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from labkit.conformance import runner, warm
from labkit.conformance.catalogue import load
from labkit.conformance.check import Check, all_checks, select
from labkit.conformance.fork_server import ForkServer, Said
from labkit.conformance.mutant import NOTICED, Mutant, Trial, all_mutants, judge
from labkit.conformance.target import LAB_YAML, Target
from labkit.conformance.verdict import Verdict
from labkit.conformance.warm import SEED, Warm
from labkit.lab.lab import Lab
from labkit.settings import load as read_settings

PATIENCE = 120.0  # seconds of real time for one mutant, most of which take a fraction of one
PRELOAD = __name__
CATALOGUE = load()  # both are the same for all that are forked from here; the lab itself reads its file anew
SETTINGS = read_settings(LAB_YAML)


def prepare() -> None:
    """For a process that others are forked from: what all mutants need (fork_server.py)."""
    warm.prepare()
    held()


def run_mutant(mutant: Mutant, there: Warm | None = None) -> Trial:
    """Break this process's platform as the mutant says, and run checks until each requirement has one that notices.

    there: a lab that is there already. It serves for a mutant that would not have changed its start; one that is not
    killed there is tried again on a lab that starts with it, so none counts as survivor for what the start handed on,
    such as a bound method. There is no way back: the process ends afterwards.
    """
    target = there.target() if there is not None and is_later(mutant, there) else None
    apply(mutant)
    if target is not None and (trial := try_on(mutant, target)).killed:
        return trial
    with Lab(SEED, config=LAB_YAML) as lab:
        return try_on(mutant, Target.local(lab, SEED, SETTINGS))


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


def is_later(mutant: Mutant, there: Warm) -> bool:
    """Would a lab that starts with the mutant have started as this one did, which knows nothing of it?"""
    original = original_of(mutant)
    if not there.ran(original):
        return True
    service = getattr(
        mutant.replace(original), "service", None
    )  # of faults.py: it changes calls of this one alone
    return service is not None and service not in there.called


def original_of(mutant: Mutant) -> Any:
    """What a mutant replaces."""
    owner, name = _owner(mutant)
    return vars(owner)[name]


def apply(mutant: Mutant) -> None:
    """Put the broken function in place, also where other modules imported it or keep it in a table."""
    owner, name = _owner(mutant)
    original = vars(owner)[name]
    broken = mutant.replace(original)
    setattr(owner, name, broken)
    if isinstance(owner, ModuleType):
        for holder in held().get(id(original)) or holders([original])[id(original)]:
            for key in [key for key, value in holder.items() if value is original]:
                holder[key] = broken


def _owner(mutant: Mutant) -> tuple[Any, str]:
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
    found = [(owner, vars(owner).get(name)) for owner, name in map(_owner, all_mutants())]
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
    """Try each mutant in a process of its own; trials come as they end. server: one that is there already."""
    if server is None:
        with ForkServer(PRELOAD) as server:
            yield from try_all(mutants, processes, server)
        return
    named = {each.name: each for each in mutants}
    trials: dict[str, Trial] = {}
    for event in server.run(f"{__name__}:attempt", named, processes=processes, within=PATIENCE):
        if isinstance(event, Said):
            trials[event.argument] = Trial.from_dict(event.message)
        elif event.error:
            last = (event.printed.splitlines() or ["nothing was printed"])[-1]
            yield _no_trial(named[event.argument], f"{event.error}: {last}")
        else:
            yield trials.pop(event.argument)


def attempt(name: str, tell: Callable[[Any], None]) -> None:
    """Try a mutant in this process, which cannot be used for anything else afterwards."""
    mutant = next(each for each in all_mutants() if each.name == name)
    try:
        trial = run_mutant(mutant, warm.take())
    except Exception as error:  # noqa: BLE001 - the others are to be tried all the same
        trial = _no_trial(mutant, f"{type(error).__name__}: {error}")
    tell(trial.as_dict())


def _no_trial(mutant: Mutant, reason: str) -> Trial:
    return Trial(mutant.name, mutant.requirements, False, (f"no trial: {reason}",))
