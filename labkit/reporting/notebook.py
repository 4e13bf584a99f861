"""Functions for notebooks: verdicts of an area, the table of attacks, records of a failure, and charts (charts.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.conformance import runner
from labkit.conformance.catalogue import Catalogue
from labkit.conformance.check import Check
from labkit.conformance.coverage import in_order
from labkit.conformance.own import Folders, read_own
from labkit.conformance.suite import known, suite
from labkit.conformance.target import LOCAL_TARGET, open_target
from labkit.conformance.verdict import Verdict
from labkit.core.errors import tell_interrupt
from labkit.core.handle import call_name, short_trace
from labkit.core.progress import Progress
from labkit.core.words import counted
from labkit.reporting.attacks import attack_frame
from labkit.reporting.charts import matrix_chart, outcome_chart, sequence_chart
from labkit.reporting.failure_page import FailureRecords
from labkit.reporting.skipping import skip_unless
from labkit.reporting.verdicts import Verdicts, folded_html, read_verdicts
from labkit.widgets.drawing import chart

if TYPE_CHECKING:
    import pandas

__all__ = [
    "FailureRecords",
    "Folded",
    "attack_frame",
    "chart",
    "coverage_frame",
    "last_verdicts",
    "matrix_chart",
    "outcome_chart",
    "own_verdicts",
    "sequence_chart",
    "skip_unless",
    "verdicts",
]


@short_trace
def verdicts(
    *prefixes: str,
    target: str = LOCAL_TARGET,
    seed: int | None = None,
    only: str = "",
    verdicts_file: str = "",
    checks: Folders = (),
) -> Verdicts:
    """Run the checks of the requirements with these prefixes, by default of all, and return their verdicts.

    The verdicts are a table if they are the value of a cell. target: `lab` for a new lab in this process, else a
    platform elsewhere that serves the conformance lab.yaml: the line that `labkit serve --json` prints, or the path of
    a file with it. seed: makes a run against the lab repeatable. only: further prefixes, with spaces, of which
    requirements must have one. verdicts_file: verdicts.json of a report; its verdicts are returned, and no check runs.
    checks: folders of one's own, whose requirements can be selected, too. Raises UnknownRequirementError for a prefix
    without requirements, SettingsError for an invalid target, CatalogueError for a wrong folder.
    """
    catalogue, available = known(checks)
    below = {each.id for each in catalogue.select(*only.split())}
    chosen = dict.fromkeys(each.id for each in catalogue.select(*prefixes) if each.id in below)
    return _verdicts(
        in_order(available, catalogue), chosen, catalogue, ", ".join(prefixes), target, seed, verdicts_file
    )


@short_trace
def own_verdicts(
    folders: Folders,
    *,
    target: str = LOCAL_TARGET,
    seed: int | None = None,
    only: str = "",
    verdicts_file: str = "",
) -> Verdicts:
    """Run the checks of one's own folders, and return their verdicts; none without a folder.

    target, seed, only, verdicts_file: as of `verdicts`. Raises CatalogueError for a wrong folder.
    """
    own = read_own(folders)
    chosen = dict.fromkeys(
        each.id for each in known(folders)[0].select(*only.split()) if each.id in own.catalogue.requirements
    )
    name = ", ".join(own.catalogue.parts)
    return _verdicts(own.checks, chosen, own.catalogue, name, target, seed, verdicts_file)


_last = [Verdicts(())]


def last_verdicts() -> Verdicts:
    """Return the verdicts of the last `verdicts` or `own_verdicts` that ran checks, also if it was interrupted."""
    return _last[0]


def _verdicts(
    available: Iterable[Check],
    chosen: Mapping[str, None],
    catalogue: Catalogue,
    name: str,
    target: str,
    seed: int | None,
    verdicts_file: str,
) -> Verdicts:
    """Return the verdicts of the checks of chosen requirements from a file, or run them.

    The fewer other requirements a check has, the earlier it comes; that of the whole state is the last.
    """
    checks = [each for each in available if chosen.keys() & each.requirements]
    checks.sort(key=lambda each: len(set(each.requirements) - chosen.keys()))
    if verdicts_file:
        found = {each.check: each for each in read_verdicts(Path(verdicts_file))}
        return Verdicts([found[each.name] for each in checks if each.name in found], name, chosen)
    if not checks:
        return Verdicts((), name)
    played: list[Verdict] = []
    shown = Progress(total=len(checks), unit="check", look=lambda shown: _look(shown, played))
    try:
        with shown, open_target(target, seed) as platform:
            runner.run(checks, platform, catalogue, played.append)
    except KeyboardInterrupt as interrupt:
        over = f"{len(played)} of {counted(len(checks), 'check')} were over"
        has = "last_verdicts() of labkit.reporting.notebook has their verdicts"
        tell_interrupt(interrupt, f"{call_name()} was interrupted: {over}; {has}")
        raise
    finally:
        _last[:] = [Verdicts(played, name, chosen)]
    return _last[0]


def _look(shown: Progress, played: list[Verdict]) -> None:
    shown.done = len(played)
    failed = sum(each.outcome == "failed" for each in played)
    shown.note = f"{failed} failed" if failed else ""


class Folded:
    """A table that is folded in HTML until its title is clicked; as text it is shown completely."""

    def __init__(self, frame: pandas.DataFrame, title: str) -> None:
        self.frame = frame
        self.title = title

    def __repr__(self) -> str:
        return f"{self.title}\n{self.frame.to_string()}"

    def _repr_html_(self) -> str:
        return folded_html(self.title, self.frame.to_html(notebook=True))


def coverage_frame(only: str = "", checks: Folders = ()) -> pandas.DataFrame:
    """Return a DataFrame with the number of requirements, checks and mutants of each area.

    only: prefixes of ids, with spaces; checks: folders of one's own.
    """
    import pandas

    whole = suite(checks).below(*only.split())
    counted: dict[str, dict[str, set[str]]] = {}
    for each in whole:
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
