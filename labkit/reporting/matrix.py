"""Matrix of requirements: each with its checks, mutants and verdicts. git keeps it as reports/conformance.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, get_args

from labkit.conformance.catalogue import Statement
from labkit.conformance.check import Check
from labkit.conformance.coverage import Coverage, Covered
from labkit.conformance.verdict import Outcome, Verdict
from labkit.reporting.verdicts import BAD, MARKS

State = Literal[Outcome, "not run", "no check"]
STATES: tuple[str, ...] = (
    *("passed", "failed", "warned", "broken", "not reached", "skipped", "not run", "no check"),
)
WORST_FIRST: tuple[Outcome, ...] = ("failed", "broken", "warned", "not reached", "passed", "skipped")
AREAS = {  # of the requirements of this package
    "DEV": "Device HTTPS API",
    "SOL": "Solutions",
    "KEY": "Keystore",
    "USR": "User management",
    "TSER": "Timeseries",
    "TSDB": "Tsdb",
    "IFC": "Interface between solutions",
    "NTF": "Notifications",
}
assert set(WORST_FIRST) == set(get_args(Outcome))


@dataclass(frozen=True, slots=True)
class Row:
    """A requirement in a run. sources: its statements; verdicts: by name of the check, only of checks that ran."""

    covered: Covered
    sources: tuple[Statement, ...]
    verdicts: Mapping[str, Verdict]

    @property
    def id(self) -> str:
        """Id of the requirement."""
        return self.covered.id

    @property
    def state(self) -> State:
        """The worst outcome of the requirement's checks.

        If a check passed, skipped checks do not count. Model checks that did not reach the requirement never count if
        there are others, since a model only repeats what other checks test one by one.
        """
        if not self.covered.checks:
            return "no check"
        models = {each.name for each in self.covered.checks if each.model is not None}
        outcomes = {name: each.outcome_of(self.id) for name, each in self.verdicts.items()}
        seen = [each for name, each in outcomes.items() if name not in models or each != "not reached"]
        return next((each for each in WORST_FIRST if each in (seen or outcomes.values())), "not run")

    @property
    def bad(self) -> bool:
        """Whether a check of the requirement failed or broke."""
        return self.state in BAD

    def checks(self) -> list[tuple[Check, Verdict | None]]:
        """Return the requirement's checks with their verdicts; None for a check that did not run."""
        return [(each, self.verdicts.get(each.name)) for each in self.covered.checks]


@dataclass(frozen=True, slots=True)
class MatrixPart:
    """A part of the requirements, such as `DEV-ALIAS`. about: its subject."""

    name: str
    about: str
    rows: tuple[Row, ...]

    @property
    def area(self) -> str:
        """Area of the part: `DEV` of `DEV-ALIAS`."""
        return self.name.partition("-")[0]

    @property
    def counts(self) -> dict[str, int]:
        """Number of requirements in each state."""
        return counts(self.rows)

    @property
    def is_green(self) -> bool:
        """Whether every requirement passed."""
        return set(self.counts) == {"passed"}


def rows(coverage: Coverage, verdicts: Iterable[Verdict]) -> list[Row]:
    """Return a row for each requirement, in the catalogue's order."""
    by_check = {each.check: each for each in verdicts}
    statements = coverage.catalogue.statements
    return [
        Row(
            covered,
            tuple(statements[source] for source in covered.requirement.sources),
            {each.name: by_check[each.name] for each in covered.checks if each.name in by_check},
        )
        for covered in coverage
    ]


def parts(rows: Iterable[Row], coverage: Coverage) -> list[MatrixPart]:
    """Return the rows grouped by part."""
    about = coverage.catalogue.parts
    grouped = groupby(rows, lambda row: row.covered.requirement.part)
    return [MatrixPart(name, about.get(name, ""), tuple(members)) for name, members in grouped]


def runs(parts: Iterable[MatrixPart]) -> list[list[MatrixPart]]:
    """Return the parts in lists: adjacent parts of an area in which all passed together, each other part alone."""
    grouped = groupby(enumerate(parts), lambda each: each[1].area if each[1].is_green else each[0])
    return [[part for _, part in members] for _, members in grouped]


def counts(rows: Iterable[Row]) -> dict[str, int]:
    """Return the number of rows in each state that occurs."""
    states = [row.state for row in rows]
    return {each: states.count(each) for each in STATES if each in states}


def merged(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return one verdict for each check: the worst, if several notebooks show it."""
    worst: dict[str, Verdict] = {}
    for each in verdicts:
        known = worst.get(each.check)
        if known is None or WORST_FIRST.index(each.outcome) < WORST_FIRST.index(known.outcome):
            worst[each.check] = each
    return list(worst.values())


# --- reports/conformance.md ---------------------------------------------------------------------------------


def markdown(rows: list[Row], coverage: Coverage) -> str:
    """Return the matrix as Markdown, without dates, durations and names of machines, so that git shows real changes."""
    total = coverage.counts()
    size = (
        f"{total['statements']} statements · {total['requirements']} requirements "
        f"({total['requirements of level must']} must, {total['requirements of level choice']} choice) · "
        f"{total['checks']} checks · {total['mutants']} mutants"
    )
    lines = [
        "# Conformance",
        "",
        "Each requirement that labkit reads out of the platform's documents, the checks that play it against",
        "the lab, and the mutants: faults put into the platform on purpose, which those checks must notice.",
        "`make report` writes this file.",
        "",
        size,
        "",
        f"Requirements: {_counted(rows)}.",
    ]
    for part in parts(rows, coverage):
        lines += ["", f"## {part.name}: {part.about}", "", f"{_counted(part.rows)}.", ""]
        lines += ["| id | level | requirement | from | checks | mutants |", "|---|---|---|---|---|---|"]
        lines += [_line(row) for row in part.rows]
    return "\n".join(lines) + "\n"


def _counted(rows: Iterable[Row]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counts(rows).items())


def _line(row: Row) -> str:
    requirement = row.covered.requirement
    checks = [
        f"{MARKS[verdict.outcome_of(row.id)] if verdict else '·'} {check.name}{_reason(verdict, row.id)}"
        for check, verdict in row.checks()
    ]
    mutants = [each.name for each in row.covered.mutants]
    if requirement.not_mutable is not None:
        mutants.append(f"not mutable: {requirement.not_mutable}")
    cells = (
        f"{requirement.id}",
        requirement.level,
        requirement.text,
        "<br>".join(requirement.sources),
        "<br>".join(checks) or "none",
        "<br>".join(mutants),
    )
    return f"| {' | '.join(each.replace('|', '&#124;') for each in cells)} |"


def _reason(verdict: Verdict | None, requirement: str) -> str:
    outcome = "passed" if verdict is None else verdict.outcome_of(requirement)
    if verdict is None or outcome == "passed":
        return ""
    why = f": {verdict.reason or 'did not come up'}" if outcome in ("skipped", "not reached") else ""
    return f" ({outcome}{why})"
