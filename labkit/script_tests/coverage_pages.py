"""HTML of coverage: a page for each file and an index, without external resources, and the table of a cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Environment

    from labkit.script_tests.coverage import FileCoverage, ScriptCoverage

TEMPLATES = Path(__file__).parent / "templates"
HIT, MISSED, NONE = "hit", "missed", ""


class SourceLine(NamedTuple):
    """A line of a file's page. times: how often it ran, None if it cannot; mark: its CSS class."""

    number: int
    text: str
    times: int | None
    mark: str


def page_names(files: Iterable[str]) -> list[str]:
    """Return a name for the page of each file, safe for all systems and in links, none of them twice."""
    names: list[str] = []
    for file in files:
        name = re.sub(r"[^A-Za-z0-9-]+", "_", file.removesuffix(".lua")).strip("_")[:100] or "file"
        name = f"{name}.lua"
        used = {each.lower() for each in names}
        number = 1
        unique = name
        while f"{unique}.html".lower() in used:
            number += 1
            unique = f"{name}-{number}"
        names.append(f"{unique}.html")
    return names


def shown_name(name: str) -> str:
    """Return a file's name in one line, with escapes for what cannot be printed."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in name)


def shown_percent(ran: int, lines: int) -> str:
    """Return the per cent of lines as text, rounded down, so that only all of them are 100; `-` if none can run."""
    return f"{100 * ran // lines} %" if lines else "-"


def file_page(file: FileCoverage) -> str:
    """Return the HTML page of a file: its text, with the count of each line that can run."""
    texts = file.source.split("\n")
    if texts[-1] == "":
        texts.pop()
    lines = []
    for number, text in enumerate(texts, 1):
        count = file.counts.get(number)
        mark = NONE if count is None else HIT if count else MISSED
        lines.append(SourceLine(number, text, count, mark))
    firsts = [
        each.number
        for before, each in zip([None, *lines], lines, strict=False)
        if each.mark == MISSED and (before is None or before.mark != MISSED)
    ]
    return _rendered("coverage_file.html.j2", file=file, lines=lines, firsts=firsts)


def index_page(coverage: ScriptCoverage, names: Sequence[str]) -> str:
    """Return the HTML page with all files. names: of their pages."""
    return _rendered("coverage.html.j2", coverage=coverage, rows=list(zip(coverage, names, strict=True)))


def table(coverage: ScriptCoverage) -> str:
    """Return the coverage as an HTML table for a cell."""
    return _rendered("coverage_table.html.j2", coverage=coverage)


def _rendered(template: str, **values: Any) -> str:
    text = _environment().get_template(template).render(values)
    return text.encode(errors="replace").decode()


@cache  # for all pages of a process
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"shown_name": shown_name}
    environment.globals |= {"shown_percent": shown_percent}
    return environment
