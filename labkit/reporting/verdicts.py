"""A table of verdicts: how a notebook shows them, and how a report finds them in an executed notebook."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from labkit.conformance.verdict import Outcome, Verdict
from labkit.core.errors import LabkitError

if TYPE_CHECKING:
    import pandas
    from nbformat import NotebookNode  # importing it takes longer than most checks

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
BAD: tuple[Outcome, ...] = ("failed", "broken")  # what makes a run a failure
SHOWN: tuple[Outcome, ...] = ("failed", "warned", "not reached")  # that show what was expected
MARKS = {"passed": "✓", "failed": "✗", "warned": "!", "skipped": "–", "broken": "?", "not reached": "…"}
MOST_IDS = 12  # requirements of one verdict that a table names
METADATA = "labkit"  # under this key an output's metadata carries its verdicts: nbval leaves metadata alone


class PlayedError(LabkitError):
    """A file that is no verdicts.json of a report."""


class Verdicts:
    """Verdicts as a table that a notebook shows; without durations, so that two runs show the same."""

    def __init__(self, verdicts: Iterable[Verdict], name: str = "") -> None:
        self.verdicts = tuple(verdicts)
        self.name = name

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __add__(self, other: Verdicts) -> Verdicts:
        return Verdicts((*self, *other), ", ".join(filter(None, (self.name, other.name))))

    @property
    def counts(self) -> dict[str, int]:
        """How many of each outcome, in a fixed order."""
        return {each: sum(verdict.outcome == each for verdict in self) for each in OUTCOMES}

    @property
    def good(self) -> bool:
        """Did no check fail or break, and was none left out for something that failed?"""
        return not any(self.counts[each] for each in (*BAD, "not reached"))

    def summary(self) -> str:
        """One line: `DEV-TIME: 4 checks, 4 passed`."""
        counted = [f"{count} {outcome}" for outcome, count in self.counts.items() if count]
        checks = f"{len(self)} check{'' if len(self) == 1 else 's'}"
        return f"{self.name or 'checks'}: {', '.join([checks, *counted])}"

    def frame(self) -> pandas.DataFrame:
        """The verdicts as a DataFrame, a row each."""
        import pandas

        rows = [[" ".join(each.requirements), each.title, each.outcome, each.reason] for each in self]
        return pandas.DataFrame(rows, columns=["requirements", "check", "verdict", "reason"])

    def by_part(self) -> pandas.DataFrame:
        """How many checks of each outcome speak for each part of the requirements (`DEV-ALIAS`)."""
        import pandas

        counted: dict[str, dict[str, int]] = {}
        for verdict in self:
            for part in dict.fromkeys(each.rpartition("-")[0] for each in verdict.requirements):
                row = counted.setdefault(part, dict.fromkeys(OUTCOMES, 0))
                row[verdict.outcome] += 1
        frame = pandas.DataFrame.from_dict(counted, orient="index", columns=list(OUTCOMES))
        return frame.rename_axis("part")

    # ---- how it shows itself

    def __repr__(self) -> str:
        lines = [self.summary()]
        for each in self:
            lines.append(f"  {MARKS[each.outcome]} {' '.join(_ids(each))}  {each.title}{_because(each)}")
            if each.outcome in SHOWN:
                lines += [f"      expected {each.expected}", f"      actual   {each.actual}"]
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[Any, Any]:
        shown = {"text/plain": repr(self), "text/html": self._html()}
        return shown, {METADATA: {"verdicts": [each.as_dict() for each in self]}}

    def _html(self) -> str:
        """What needs attention as a table; what passed folded below it."""
        rest = [each for each in self if each.outcome != "passed"]
        passed = [each for each in self if each.outcome == "passed"]
        parts = [f"<p><b>{escape(self.summary())}</b></p>"]
        parts += [_table(rest)] if rest else []
        parts += [folded_html(f"{len(passed)} passed", _table(passed))] if passed else []
        return "\n".join(parts)


def folded_html(title: str, html: str) -> str:
    """HTML that is shown once the title is clicked, and on paper."""
    return f"<details><summary>{escape(title)}</summary>\n{html}\n</details>"


def read_verdicts(path: Path) -> list[Verdict]:
    """The verdicts in a report's verdicts.json. Raises PlayedError where there are none."""
    try:
        return [
            Verdict.from_dict(values) for values in json.loads(path.read_text(encoding="utf-8"))["verdicts"]
        ]
    except OSError as error:
        raise PlayedError(f"played: {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise PlayedError(f"played: {path}: is no verdicts.json of a report") from error


def collected(notebook: NotebookNode) -> list[Verdict]:
    """The verdicts that an executed notebook shows."""
    return [
        Verdict.from_dict(values)
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for values in output.get("metadata", {}).get(METADATA, {}).get("verdicts", [])
    ]


def _because(verdict: Verdict) -> str:
    return f": {verdict.reason}" if verdict.reason else ""


def _ids(verdict: Verdict) -> list[str]:
    """The requirements that it speaks of, as many as a reader looks at: a model has up to two hundred, all in the
    matrix.
    """
    first, more = verdict.blamed[:MOST_IDS], len(verdict.blamed) - MOST_IDS
    return [*first, f"and {more} more"] if more > 0 else [*first]


def _table(verdicts: Iterable[Verdict]) -> str:
    rows = "\n".join(_row(each) for each in verdicts)
    return (
        "<table>\n<thead><tr><th>requirement</th><th>check</th><th>verdict</th></tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody>\n</table>"
    )


def _row(verdict: Verdict) -> str:
    ids = "<br>".join(map(escape, _ids(verdict)))
    title = escape(verdict.title)
    if verdict.reason:
        title += f"<br><i>{escape(verdict.reason)}</i>"
    if verdict.expected or verdict.actual:
        for name, value in (("expected", verdict.expected), ("actual", verdict.actual)):
            title += f"<br>{name} <code>{escape(value)}</code>"
    if verdict.exchange:
        title += f"<pre>{escape(verdict.exchange)}</pre>"
    left = "style='text-align:left; white-space:nowrap'"
    return (
        f"<tr><td {left}>{ids}</td><td style='text-align:left'>{title}</td>"
        f"<td {left}>{MARKS[verdict.outcome]} {verdict.outcome}</td></tr>"
    )
