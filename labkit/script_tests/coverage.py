"""Coverage of a solution's scripts by its tests: the lines that can run, how often each ran, and pages of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from labkit.core.code_lines import LineCounts
from labkit.core.errors import LabError
from labkit.core.extras import needs
from labkit.core.files import shown_path, write_whole

if TYPE_CHECKING:
    import pandas
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
HIT, MISSED, NONE = "hit", "missed", ""


@dataclass(frozen=True)
class FileCoverage:
    """Coverage of a Lua file.

    file: its path below the solution's folder; counts: how often each line that can run ran, by line from 1; source:
    its text; note: why no line of it can have run, such as that the solution does not load it; else empty.
    """

    folder: Path
    file: str
    counts: Mapping[int, int]
    source: str
    note: str = ""

    @property
    def lines(self) -> int:
        """Number of lines that can run."""
        return len(self.counts)

    @property
    def ran(self) -> int:
        """Number of lines that ran."""
        return sum(count > 0 for count in self.counts.values())

    @property
    def missed(self) -> list[int]:
        """Lines that did not run, in order."""
        return sorted(line for line, count in self.counts.items() if not count)

    @property
    def percent(self) -> float:
        """Per cent of the lines that ran; 100 if none can run."""
        return _percent(self.ran, self.lines)

    @property
    def missed_ranges(self) -> str:
        """Lines that did not run as text, such as `3-5, 9`; lines that cannot run are no gap."""
        ranges: list[list[int]] = []
        for line in sorted(self.counts):
            if self.counts[line]:
                ranges.append([])
            elif ranges:
                ranges[-1].append(line)
            else:
                ranges = [[line]]
        return ", ".join(
            str(each[0]) if len(each) == 1 else f"{each[0]}-{each[-1]}" for each in ranges if each
        )


class ScriptCoverage(Sequence[FileCoverage]):
    """Coverage of a solution's files, by name. As text and in a cell: a table.

    It counts runs of routes, event handlers, websockets and modules, of the solution's set-up, and of modules in tests.
    Files with tests are left out.
    """

    def __init__(self, files: Iterable[FileCoverage]) -> None:
        self._files = tuple(files)

    @property
    def lines(self) -> int:
        """Number of lines that can run in all files."""
        return sum(each.lines for each in self._files)

    @property
    def ran(self) -> int:
        """Number of lines that ran in all files."""
        return sum(each.ran for each in self._files)

    @property
    def percent(self) -> float:
        """Per cent of the lines that ran; 100 if none can run."""
        return _percent(self.ran, self.lines)

    def frame(self) -> pandas.DataFrame:
        """Return a DataFrame with one row per file: file, lines (that can run), ran, percent, missed (text), note."""
        with needs("tables"):
            import pandas

        rows = [
            (each.file, each.lines, each.ran, each.percent, each.missed_ranges, each.note)
            for each in self._files
        ]
        return pandas.DataFrame(rows, columns=["file", "lines", "ran", "percent", "missed", "note"])

    def plus(self, counts: LineCounts) -> ScriptCoverage:
        """Return this coverage with the counts of further runs; other files and lines are ignored."""
        return ScriptCoverage(
            replace(
                each,
                counts={
                    line: count + counts.get(each.file, {}).get(line, 0)
                    for line, count in each.counts.items()
                },
            )
            for each in self._files
        )

    def write(self, folder: str | Path) -> Path:
        """Write HTML pages that can be read offline, and lcov.info, into a folder. Return the path of index.html.

        Raises LabError if it cannot be written.
        """
        folder = make_folder(Path(folder))
        names = page_names(each.file for each in self._files)
        try:
            for each, name in zip(self._files, names, strict=True):
                _write(folder / name, file_page(each))
            _write(folder / INDEX, index_page(self, names))
            _write(folder / LCOV, self.lcov())
        except OSError as error:
            raise LabError(f"{folder}: cannot be written: {error.strerror or error}") from None
        return folder / INDEX

    def lcov(self) -> str:
        """Return the coverage as lcov's tracefile, with paths relative to the working folder if they are below it."""
        parts = []
        for each in self._files:
            counts = "".join(f"DA:{line},{each.counts[line]}\n" for line in sorted(each.counts))
            path = shown_path(each.folder / each.file).replace("\n", " ")  # a line has no way to name that
            parts.append(f"TN:\nSF:{path}\n{counts}LF:{each.lines}\nLH:{each.ran}\nend_of_record\n")
        return "".join(parts)

    def plain(self) -> dict[str, Any]:
        """Return the coverage as a dict for JSON: lines, ran, percent, and files with the same, missed and counts."""
        files = [
            {
                "file": each.file,
                "lines": each.lines,
                "ran": each.ran,
                "percent": round(each.percent, 2),
                "missed": each.missed,
                "counts": {str(line): each.counts[line] for line in sorted(each.counts)},
                "note": each.note,
            }
            for each in self._files
        ]
        return {"lines": self.lines, "ran": self.ran, "percent": round(self.percent, 2), "files": files}

    @overload
    def __getitem__(self, index: int) -> FileCoverage: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[FileCoverage]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._files[index]

    def __len__(self) -> int:
        return len(self._files)

    def __repr__(self) -> str:
        rows = [(each.file, each.ran, each.lines, each.note or each.missed_ranges) for each in self._files]
        rows.append(("all files" if len(rows) != 1 else "the file", self.ran, self.lines, ""))
        width = max(len(shown_name(name)) for name, *_ in rows)
        lines = [
            f"{shown_name(name):{width}}  {ran:>5} of {lines:>5} lines  {shown_percent(ran, lines):>5}  {missed}"
            for name, ran, lines, missed in rows
        ]
        return "\n".join(each.rstrip() for each in lines)

    def _repr_html_(self) -> str:
        return table(self)


def make_folder(folder: Path) -> Path:
    """Make a folder for pages unless it is there, and return it. Raises LabError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"{folder}: cannot be made: {error.strerror or error}") from None
    return folder


def failure_of(coverage: ScriptCoverage, least: float) -> str:
    """Return a sentence if the coverage is below `least` per cent, else an empty text."""
    if coverage.percent >= least:
        return ""
    return f"coverage: {coverage.percent:.2f} % of the lines ran, expected at least {least:g} %"


def encoded(coverage: ScriptCoverage) -> str:
    """Return the counts by file as JSON, for another process."""
    return json.dumps({each.file: dict(each.counts) for each in coverage})


def decoded(text: str) -> LineCounts:
    """Return the counts that `encoded` returned as text."""
    return {
        file: {int(line): count for line, count in each.items()} for file, each in json.loads(text).items()
    }


def _percent(ran: int, lines: int) -> float:
    return 100 * ran / lines if lines else 100.0


def _write(file: Path, text: str) -> None:
    write_whole(file, text, errors="surrogateescape")


# ---- pages


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


INDEX, LCOV = "index.html", "lcov.info"
