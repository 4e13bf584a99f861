"""Requirements and checks whose verdict differs between two runs of the checks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from labkit.conformance.verdict import Verdict
from labkit.core.errors import LabError
from labkit.core.record_lines import one_line
from labkit.core.words import counted

Direction = Literal["worse", "better", "changed", "new", "gone"]
DIRECTIONS: tuple[Direction, ...] = ("worse", "better", "changed", "new", "gone")
MISSING = "missing"  # state of a requirement that a run does not have
SEEN = ("passed", "warned", "failed")  # states that say something about the platform, the best first
BAD = ("failed", "broken")  # states that make a report a failure
VERDICTS = "verdicts.json"
EXCHANGES = "exchanges.json"  # of checks that passed, by check
LONGEST = 300  # characters of a line


@dataclass(frozen=True)
class CheckRun:
    """One run of the checks: that of a report, or of a target.

    name: as given; states: of the requirements, by id; verdicts: by name of the check; version: of labkit; only: prefix
    to which the run was limited, empty if it was not.
    """

    name: str
    states: Mapping[str, str]
    verdicts: Mapping[str, Verdict]
    version: str
    only: str = ""

    @classmethod
    def read(cls, folder: Path, name: str) -> CheckRun:
        """Return the run of a report's folder. Raises LabError if it is no report, or one that cannot be read."""
        file = folder / VERDICTS
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            kept = _exchanges(folder)
            verdicts = {
                each["check"]: Verdict.from_dict({**each, "exchanges": kept.get(each["check"], [])})
                for each in data["verdicts"]
            }
            states = {str(id): str(state) for id, state in data["states"].items()}
            only = str(data["parameters"].get("only", ""))
            return cls(name, states, verdicts, str(data["labkit"]), only)
        except OSError as error:
            raise LabError(f"{name}: no report: {VERDICTS}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise LabError(
                f"{name}: {VERDICTS} is not that of a report of this version of labkit; `labkit report` makes it anew"
            ) from None


@dataclass(frozen=True)
class CheckChange:
    """A check whose outcome for a requirement differs.

    before, after: None for a run without it; each with the exchange to show, of a check that passed the one with the
    request that differed in the other run, or else its last one.
    """

    check: str
    title: str
    before: Verdict | None
    after: Verdict | None

    @classmethod
    def of(cls, name: str, title: str, before: Verdict | None, after: Verdict | None) -> CheckChange:
        """Return a change with the exchanges to show."""
        return cls(name, title, _with_exchange(before, after), _with_exchange(after, before))


@dataclass(frozen=True)
class RequirementChange:
    """A requirement whose state differs. text: its sentence, empty if labkit does not have it."""

    requirement: str
    text: str
    before: str
    after: str
    direction: Direction
    checks: tuple[CheckChange, ...] = ()


def direction(before: str, after: str) -> Direction:
    """Return what a change of a requirement's state means.

    worse: passed to any other state, warned to failed or to one that says nothing, and any state to failed or broken;
    better: failed or broken to passed or warned, and all else to passed; new, gone: it is missing in one run, except
    that a requirement which had passed or warned and is gone is worse; changed: the rest.
    """
    if before == MISSING:
        return "new"
    if after in BAD and before not in BAD:
        return "worse"
    if before in SEEN[:2] and (after not in SEEN or SEEN.index(after) > SEEN.index(before)):
        return "worse"
    if after == MISSING:
        return "gone"
    if after == "passed" or (before in BAD and after == "warned"):
        return "better"
    return "changed"


@dataclass(frozen=True)
class ReportDifference:
    """Difference of two runs of the checks.

    a, b: the runs, the earlier first; changes: requirements whose state differs, the worse first; new, gone: names of
    checks that only b, and only a, has.
    """

    a: CheckRun
    b: CheckRun
    changes: tuple[RequirementChange, ...]
    new: tuple[str, ...] = field(default=())
    gone: tuple[str, ...] = field(default=())

    kind = "reports"

    @classmethod
    def of(cls, a: CheckRun, b: CheckRun, sentences: Mapping[str, str]) -> ReportDifference:
        """Compare two runs. sentences: texts of the requirements, by id."""
        changes = [
            RequirementChange(
                id, sentences.get(id, ""), before, after, direction(before, after), tuple(_checks(a, b, id))
            )
            for id in dict.fromkeys([*a.states, *b.states])
            if (before := a.states.get(id, MISSING)) != (after := b.states.get(id, MISSING))
        ]
        changes.sort(key=lambda each: DIRECTIONS.index(each.direction))
        return cls(
            a,
            b,
            tuple(changes),
            tuple(each for each in b.verdicts if each not in a.verdicts),
            tuple(each for each in a.verdicts if each not in b.verdicts),
        )

    @property
    def is_worse(self) -> bool:
        """Whether a requirement got worse."""
        return any(each.direction == "worse" for each in self.changes)

    @property
    def counts(self) -> dict[str, int]:
        """Number of changed requirements in each direction."""
        counted = Counter(each.direction for each in self.changes)
        return {each: counted[each] for each in DIRECTIONS}

    @property
    def notes(self) -> list[str]:
        """Sentences about what makes the two runs hard to compare."""
        found = []
        if self.a.version != self.b.version:
            found.append(
                f"A is of labkit {self.a.version}, B of {self.b.version}: requirements may be new or gone"
            )
        if self.a.only != self.b.only:
            found.append(f"A checks {self.a.only or 'all'}, B {self.b.only or 'all'}: some are missing")
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return the difference as plain data, for JSON."""
        return {
            "kind": self.kind,
            "worse": self.is_worse,
            "a": _run_dict(self.a),
            "b": _run_dict(self.b),
            "counts": self.counts,
            "notes": self.notes,
            "changes": [_change_dict(each) for each in self.changes],
            "checks": {"new": [*self.new], "gone": [*self.gone]},
        }

    def __str__(self) -> str:
        lines = [
            _side_line("A", self.a),
            _side_line("B", self.b),
            *(f"note: {each}" for each in self.notes),
            "",
        ]
        counted = ", ".join(f"{count} {name}" for name, count in self.counts.items() if count)
        lines.append(f"requirements: {counted or 'no verdict changed'}")
        for change in self.changes:
            what = f"{change.before} → {change.after}"
            lines += ["", f"{change.direction:7} {change.requirement}  {what}  {change.text}".rstrip()]
            lines += [line for each in change.checks for line in _check_lines(each)]
        for name, checks in (("new", self.new), ("gone", self.gone)):
            lines += ["", f"checks that are {name}: {', '.join(checks)}"] if checks else []
        return "\n".join(lines)

    __repr__ = __str__


def _checks(a: CheckRun, b: CheckRun, requirement: str) -> Iterable[CheckChange]:
    """Return the checks of a requirement whose outcome differs."""
    for name in dict.fromkeys([*a.verdicts, *b.verdicts]):
        before, after = (_of(run.verdicts.get(name), requirement) for run in (a, b))
        shown = before or after
        if shown is not None and _outcome(before, requirement) != _outcome(after, requirement):
            yield CheckChange.of(name, shown.title, before, after)


def _with_exchange(verdict: Verdict | None, other: Verdict | None) -> Verdict | None:
    if verdict is None or verdict.exchange or not verdict.exchanges:
        return verdict
    if other is None or not (other.exchange or other.actual):  # it did not run, or was skipped
        return verdict
    request = other.exchange.partition("\n")[0]
    same = [each for each in verdict.exchanges if each.partition("\n")[0] == request]
    return replace(verdict, exchange=(same or verdict.exchanges)[-1])


def _exchanges(folder: Path) -> dict[str, list[str]]:
    """Return the exchanges of a report's checks that passed; none for a report that has none."""
    file = folder / EXCHANGES
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def _of(verdict: Verdict | None, requirement: str) -> Verdict | None:
    return verdict if verdict is not None and requirement in verdict.requirements else None


def _outcome(verdict: Verdict | None, requirement: str) -> str:
    return MISSING if verdict is None else verdict.outcome_of(requirement)


def _run_dict(run: CheckRun) -> dict[str, Any]:
    return {"name": run.name, "labkit": run.version, "only": run.only, "requirements": len(run.states)}


def _change_dict(change: RequirementChange) -> dict[str, Any]:
    return {
        "requirement": change.requirement,
        "text": change.text,
        "before": change.before,
        "after": change.after,
        "change": change.direction,
        "checks": [
            {
                "check": each.check,
                "title": each.title,
                "before": _verdict_dict(each.before),
                "after": _verdict_dict(each.after),
            }
            for each in change.checks
        ],
    }


def _verdict_dict(verdict: Verdict | None) -> dict[str, str] | None:
    if verdict is None:
        return None
    return {name: getattr(verdict, name) for name in ("outcome", "reason", "expected", "actual", "exchange")}


def _side_line(letter: str, run: CheckRun) -> str:
    return f"{letter}  {run.name}  ({counted(len(run.states), 'requirement')}, labkit {run.version})"


def _check_lines(change: CheckChange) -> Iterable[str]:
    yield f"  {change.title} ({change.check})"
    for letter, verdict in (("A", change.before), ("B", change.after)):
        if verdict is None:
            yield f"    {letter}  did not run"
            continue
        why = one_line(verdict.explanation(), LONGEST)
        yield f"    {letter}  {verdict.outcome}{': ' + why if why else ''}"
        yield from (f"       | {line}".rstrip() for line in verdict.exchange.splitlines())
