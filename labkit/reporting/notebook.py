"""What notebooks use: verdicts of an area, the table of attacks, and charts that can be compared (charts.py)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labkit.conformance import runner
from labkit.conformance.catalogue import load
from labkit.conformance.check import all_checks
from labkit.conformance.coverage import coverage, in_order
from labkit.conformance.target import LOCAL_TARGET, open_target
from labkit.reporting.attacks import attack_frame
from labkit.reporting.charts import matrix_chart, outcome_chart, sequence_chart
from labkit.reporting.verdicts import Verdicts, folded_html, read_verdicts
from labkit.widgets.drawing import chart

if TYPE_CHECKING:
    import pandas

__all__ = [
    "Folded",
    "attack_frame",
    "chart",
    "coverage_frame",
    "matrix_chart",
    "outcome_chart",
    "sequence_chart",
    "verdicts",
]


def verdicts(
    *prefixes: str, target: str = LOCAL_TARGET, seed: int | None = None, only: str = "", played: str = ""
) -> Verdicts:
    """Play the checks of the requirements below the prefixes, all without one, and show what came of each.

    target: `lab` for a fresh lab in this process, else a platform elsewhere that serves the conformance
    lab.yaml: the line that `labkit serve --json` prints, or a file that holds it. seed: makes a run against the lab
    repeat. only: a further prefix, to leave all else out. played: the verdicts.json of a report, which has played
    the checks; its verdicts are shown instead. Let the cell show what this returns.
    Raises UnknownRequirementError for a prefix that selects nothing, SettingsError for a target that is none.
    """
    catalogue = load()
    chosen = {each.id for each in catalogue.select(*prefixes)}
    if only:
        chosen &= {each.id for each in catalogue.select(only)}
    checks = [each for each in in_order(all_checks(), catalogue) if chosen.intersection(each.requirements)]
    name = ", ".join(prefixes)
    if played:
        known = {each.check: each for each in read_verdicts(Path(played))}
        return Verdicts([known[each.name] for each in checks if each.name in known], name)
    if not checks:
        return Verdicts((), name)
    with open_target(target, seed) as platform:
        return Verdicts(runner.run(checks, platform, catalogue), name)


class Folded:
    """A table that a page shows once its title is clicked; a terminal shows all of it."""

    def __init__(self, frame: pandas.DataFrame, title: str) -> None:
        self.frame = frame
        self.title = title

    def __repr__(self) -> str:
        return f"{self.title}\n{self.frame.to_string()}"

    def _repr_html_(self) -> str:
        return folded_html(self.title, self.frame.to_html(notebook=True))


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
