"""Playing a mutant: imported by the process that mutants are forked from, so that each starts at once."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from labkit.conformance import runner
from labkit.conformance.catalogue import load
from labkit.conformance.check import Check, all_checks, select
from labkit.conformance.mutant import NOTICED, Mutant, Trial, all_mutants, judge
from labkit.conformance.target import LAB_YAML, Target
from labkit.conformance.verdict import Verdict
from labkit.lab.lab import Lab
from labkit.settings import load as read_settings

SEED = 1
CATALOGUE = load()  # both are the same for all that are forked from here; the lab itself reads its file anew
SETTINGS = read_settings(LAB_YAML)


def run_mutant(mutant: Mutant) -> Trial:
    """Break this process's platform as the mutant says, and run checks until each requirement has one that notices.

    There is no way back: the process ends afterwards.
    """
    apply(mutant)
    noticed: set[str] = set()

    def note(verdict: Verdict) -> None:
        noticed.update(verdict.requirements if verdict.outcome in NOTICED else ())

    def needed() -> Iterator[Check]:
        """Those that may yet tell more, some of which wait long for what a mutant never sends; smoke in any case."""
        checks = all_checks()
        for each in select(checks, *mutant.requirements):
            if each.name != mutant.smoke and not noticed.issuperset(
                {*each.requirements} & {*mutant.requirements}
            ):
                yield each
        yield from (each for each in checks if each.name == mutant.smoke)

    with Lab(SEED, config=LAB_YAML) as lab:
        verdicts = runner.run(needed(), Target.local(lab, SEED, SETTINGS), CATALOGUE, note)
    return judge(mutant, verdicts)


def apply(mutant: Mutant) -> None:
    """Put the broken function in place, also where other modules imported it or keep it in a table."""
    module_name, _, path = mutant.patches.partition(":")
    owner: Any = import_module(module_name)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    original = vars(owner)[name]
    broken = mutant.replace(original)
    setattr(owner, name, broken)
    if not parents:
        _replace_elsewhere(original, broken)


def _replace_elsewhere(original: object, broken: object) -> None:
    """Replace the function in every namespace and table that holds it, except those of mutants."""
    for holder in gc.get_referrers(original):
        if isinstance(holder, dict) and not str(holder.get("__name__")).startswith("labkit.conformance"):
            for name in [name for name, value in holder.items() if value is original]:
                holder[name] = broken


def try_all(mutants: Iterable[Mutant], processes: int = 2) -> Iterator[Trial]:
    """Try each mutant in a process of its own; trials come as they end."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["labkit.conformance.preload"])
    with ProcessPoolExecutor(processes, context, max_tasks_per_child=1) as pool:
        try:
            for trial in as_completed([pool.submit(attempt, each.name) for each in mutants]):
                yield trial.result()
        finally:
            pool.shutdown(cancel_futures=True)  # nobody wants the others any more


def attempt(name: str) -> Trial:
    """Try a mutant in this process, which cannot be used for anything else afterwards."""
    mutant = next(each for each in all_mutants() if each.name == name)
    try:
        return run_mutant(mutant)
    except Exception as error:  # noqa: BLE001 - the others are to be tried all the same
        return Trial(name, mutant.requirements, False, (f"no trial: {type(error).__name__}: {error}",))
