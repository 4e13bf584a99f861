"""Playing a mutant: imported by the process that mutants are forked from, so that each starts at once."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import Any

from labkit.conformance import runner
from labkit.conformance.catalogue import load
from labkit.conformance.check import all_checks, select
from labkit.conformance.mutant import Mutant, Trial, judge
from labkit.conformance.target import LAB_YAML, Target
from labkit.lab.lab import Lab
from labkit.settings import load as read_settings

SEED = 1
CATALOGUE = load()  # both are the same for all that are forked from here; the lab itself reads its file anew
SETTINGS = read_settings(LAB_YAML)


def rehearse(mutant: Mutant) -> Trial:
    """Break this process's platform as the mutant says, and run the checks that must notice.

    There is no way back: the process ends afterwards.
    """
    apply(mutant)
    checks = all_checks()
    chosen = select(checks, *mutant.requirements)
    smoke = [each for each in checks if each.name == mutant.smoke and each not in chosen]
    with Lab(SEED, config=LAB_YAML) as lab:
        verdicts = runner.run([*chosen, *smoke], Target.local(lab, SEED, SETTINGS), CATALOGUE)
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
