"""Table of verdicts, as a notebook shows it; and functions that read verdicts from notebooks and reports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from labkit.conformance.verdict import Outcome, Verdict
from labkit.core.errors import LabkitError
from labkit.core.words import counted

if TYPE_CHECKING:
    import pandas
    from nbformat import NotebookNode  # its import takes longer than most checks

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
BAD: tuple[Outcome, ...] = ("failed", "broken")  # outcomes that make a run a failure
SHOWN: tuple[Outcome, ...] = ("failed", "warned", "not reached")  # shown with expected and actual value
MARKS = {"passed": "✓", "failed": "✗", "warned": "!", "skipped": "–", "broken": "?", "not reached": "…"}
MOST_IDS = 12  # requirements of one verdict that a table lists
METADATA = "labkit"  # key of the verdicts in an output's metadata, which nbval does not compare


class VerdictsFileError(LabkitError):
    """A file is missing, or is not the verdicts.json of a report."""


class Verdicts:
    """Verdicts, shown as a table in a notebook. Without durations, so that two runs show the same output.

    name: what was checked, such as `DEV-TIME`, for the summary; chosen: ids of the requirements that were asked for, by
    default those of all verdicts. Others are neither named first nor counted: a check may have many of them, too.
    """

    def __init__(self, verdicts: Iterable[Verdict], name: str = "", chosen: Iterable[str] = ()) -> None:
        self.verdicts = tuple(verdicts)
        self.name = name
        self.chosen = tuple(chosen) or tuple(dict.fromkeys(id for each in self for id in each.requirements))

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __add__(self, other: Verdicts) -> Verdicts:
        """Return the verdicts of both, one for each check: that which did not pass, if any."""
        names = ", ".join(filter(None, (self.name, other.name)))
        both = {each.check: each for each in (*self, *other)}
        both |= {each.check: each for each in self if each.outcome != "passed"}
        return Verdicts(both.values(), names, dict.fromkeys((*self.chosen, *other.chosen)))

    @property
    def counts(self) -> dict[str, int]:
        """Number of verdicts with each outcome, in a fixed order."""
        return {each: sum(verdict.outcome == each for verdict in self) for each in OUTCOMES}

    @property
    def good(self) -> bool:
        """Whether no check failed, broke or could not be reached."""
        return not any(self.counts[each] for each in (*BAD, "not reached"))

    def summary(self) -> str:
        """Return the counts in one line: `DEV-TIME: 4 checks, 4 passed`."""
        parts = [f"{count} {outcome}" for outcome, count in self.counts.items() if count]
        return f"{self.name or 'checks'}: {', '.join([counted(len(self), 'check'), *parts])}"

    def frame(self) -> pandas.DataFrame:
        """Return a DataFrame with a row for each verdict."""
        import pandas

        rows = [[" ".join(each.requirements), each.title, each.outcome, each.reason] for each in self]
        return pandas.DataFrame(rows, columns=["requirements", "check", "verdict", "reason"])

    def by_part(self, names: Mapping[str, str] | None = None) -> pandas.DataFrame:
        """Return a DataFrame with the number of checks by outcome, for each part (`DEV-ALIAS`) that was asked for.

        names: of parts that are shown under another name; parts with the same name are one row.
        """
        import pandas

        parts = {each: each.rpartition("-")[0] for each in self.chosen}
        parts = {each: (names or {}).get(part, part) for each, part in parts.items()}
        counted = {part: dict.fromkeys(OUTCOMES, 0) for part in parts.values()}
        for verdict in self:
            for part in {parts[each] for each in verdict.requirements if each in parts}:
                counted[part][verdict.outcome] += 1
        counted = {part: row for part, row in counted.items() if any(row.values())}
        frame = pandas.DataFrame.from_dict(counted, orient="index", columns=list(OUTCOMES))
        return frame.rename_axis("part")

    # ---- display in notebooks

    def __repr__(self) -> str:
        lines = [self.summary()]
        for each in self:
            lines.append(f"  {MARKS[each.outcome]} {' '.join(self._ids(each))}  {each.title}{_because(each)}")
            if each.outcome in SHOWN:
                lines += [f"      expected {each.expected}", f"      actual   {each.actual}"]
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[Any, Any]:
        shown = {"text/plain": repr(self), "text/html": self._html()}
        plain = [
            {**each.as_dict(), "exchanges": []} for each in self
        ]  # those of a report are in a file of their own
        return shown, {METADATA: {"verdicts": plain}}

    def _html(self) -> str:
        """Return HTML with a table of the verdicts that did not pass, and a folded table of the others."""
        rest = [each for each in self if each.outcome != "passed"]
        passed = [each for each in self if each.outcome == "passed"]
        parts = [f"<p><b>{escape(self.summary())}</b></p>"]
        parts += [self._table(rest)] if rest else []
        parts += [folded_html(f"{len(passed)} passed", self._table(passed))] if passed else []
        return "\n".join(parts)

    def _ids(self, verdict: Verdict) -> list[str]:
        """Return the first requirements, those asked for before others, and the number of the rest: a model check has
        up to two hundred.
        """
        ids = sorted(verdict.blamed, key=lambda each: each not in self.chosen)
        return [*ids[:MOST_IDS], f"and {len(ids) - MOST_IDS} more"] if len(ids) > MOST_IDS else ids

    def _table(self, verdicts: Iterable[Verdict]) -> str:
        rows = "\n".join(_row(each, self._ids(each)) for each in verdicts)
        return (
            "<table>\n<thead><tr><th>requirement</th><th>check</th><th>verdict</th></tr></thead>\n"
            f"<tbody>\n{rows}\n</tbody>\n</table>"
        )


def folded_html(title: str, html: str) -> str:
    """Return HTML that is folded until the title is clicked."""
    return f"<details><summary>{escape(title)}</summary>\n{html}\n</details>"


def read_verdicts(path: Path) -> list[Verdict]:
    """Return the verdicts in a report's verdicts.json. Raises VerdictsFileError if the file is missing or another."""
    try:
        return [
            Verdict.from_dict(values) for values in json.loads(path.read_text(encoding="utf-8"))["verdicts"]
        ]
    except OSError as error:
        raise VerdictsFileError(f"verdicts_file: {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise VerdictsFileError(f"verdicts_file: {path}: is no verdicts.json of a report") from error


def collect_verdicts(notebook: NotebookNode) -> list[Verdict]:
    """Return the verdicts in the outputs of an executed notebook."""
    return [
        Verdict.from_dict(values)
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for values in output.get("metadata", {}).get(METADATA, {}).get("verdicts", [])
    ]


def _because(verdict: Verdict) -> str:
    return f": {verdict.reason}" if verdict.reason else ""


def _row(verdict: Verdict, ids: Iterable[str]) -> str:
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
        f"<tr><td {left}>{'<br>'.join(map(escape, ids))}</td><td style='text-align:left'>{title}</td>"
        f"<td {left}>{MARKS[verdict.outcome]} {verdict.outcome}</td></tr>"
    )
