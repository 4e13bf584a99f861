"""What notebooks use: the verdict table of an area, and charts that can be compared (charts.py)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from labkit.conformance import runner
from labkit.conformance.catalogue import load
from labkit.conformance.check import all_checks
from labkit.conformance.coverage import coverage, in_order
from labkit.conformance.target import LAB_YAML, Target
from labkit.reporting.charts import chart, matrix_chart, outcome_chart, sequence_chart
from labkit.reporting.verdicts import Verdicts

if TYPE_CHECKING:
    import pandas

__all__ = [
    "chart",
    "coverage_frame",
    "matrix_chart",
    "opened",
    "outcome_chart",
    "sequence_chart",
    "verdicts",
]

LOCAL = "lab"  # the target that is a lab in the notebook's own process


def verdicts(*prefixes: str, target: str = LOCAL, seed: int | None = None, only: str = "") -> Verdicts:
    """Run the checks of the requirements below the prefixes, all without one, and show what came of each.

    target: `lab` for a fresh lab in this process, else a platform elsewhere that serves the conformance
    lab.yaml: the line that `labkit serve --json` prints, or a file that holds it. seed: makes a run repeat.
    only: a further prefix, to leave all else out. Let the cell show what this returns: a report looks there.
    Raises UnknownRequirementError for a prefix that selects nothing, SettingsError for a target that is none.
    """
    catalogue = load()
    chosen = {each.id for each in catalogue.select(*prefixes)}
    if only:
        chosen &= {each.id for each in catalogue.select(only)}
    checks = [each for each in in_order(all_checks(), catalogue) if chosen.intersection(each.requirements)]
    if not checks:
        return Verdicts((), ", ".join(prefixes))
    with opened(target, seed) as platform:
        return Verdicts(runner.run(checks, platform, catalogue), ", ".join(prefixes))


@contextmanager
def opened(target: str = LOCAL, seed: int | None = None) -> Iterator[Target]:
    """The target that checks run against; a lab of its own is closed afterwards. Raises SettingsError."""
    if target != LOCAL:
        yield Target.remote(target, seed)
        return
    from labkit.lab.lab import Lab

    with Lab(seed, config=LAB_YAML) as lab:
        yield Target.local(lab, seed)


def coverage_frame(only: str = "") -> pandas.DataFrame:
    """How many requirements, checks and mutants each area has, below the prefix `only` if there is one."""
    import pandas

    whole = coverage()
    counted: dict[str, dict[str, set[str]]] = {}
    for each in whole.select(*([only] if only else [])):
        row = counted.setdefault(
            each.requirement.area, {name: set() for name in ("must", "choice", "checks", "mutants")}
        )
        row[each.requirement.level].add(each.id)
        row["checks"] |= {check.name for check in each.checks}
        row["mutants"] |= {mutant.name for mutant in each.mutants}
    frame = pandas.DataFrame(
        {area: {name: len(ids) for name, ids in row.items()} for area, row in counted.items()}
    )
    return frame.T.rename_axis("area")
