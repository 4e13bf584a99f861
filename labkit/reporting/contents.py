"""Links between the notebooks: 00_start lists all others, and each notebook ends with a link to the next.

The files themselves say all that the links need: a name gives the place, the first heading the title, the sentence
after "What you will see:" what the notebook shows. Durations are measured whenever outputs are stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from labkit.reporting.run_notebook import NotebookRun, read

START = "00_start"
LIST = "00-list"  # id of the cell with the list
PROMISE = "**What you will see:** "
DURATIONS = (2, 5, 10, 20, 30, 60, 120, 300)  # seconds, as the list shows them


@dataclass(frozen=True, slots=True)
class NotebookEntry:
    """Entry of one notebook in their list. duration: seconds that it takes, 0 where it was never measured."""

    name: str
    title: str
    about: str
    duration: int = 0

    @property
    def link(self) -> str:
        """Markdown link to the notebook."""
        return f"[{self.title}]({self.name}.ipynb)"

    @property
    def line(self) -> str:
        """Line of the list."""
        return f"- {self.link}, {self.duration} s: {self.about}"


def entry(path: Path, durations: Mapping[str, int]) -> NotebookEntry:
    """Return the entry of a notebook. durations: by name."""
    notebook = read(path)
    _, _, promise = notebook.cells[0].source.partition(PROMISE)
    about = re.split(r"(?<=\.)\s", " ".join(promise.split()))[0]
    return NotebookEntry(path.stem, NotebookRun(path, notebook).title, about, durations.get(path.stem, 0))


def listed(notebook: NotebookNode) -> dict[str, int]:
    """Return the durations in the list of 00_start, by name of the notebook and in the order of the list."""
    text = next((cell.source for cell in notebook.cells if cell.get("id") == LIST), "")
    return {name: int(seconds) for name, seconds in re.findall(r"\]\((\w+)\.ipynb\), (\d+) s:", text)}


def rounded(seconds: float, before: int = 0) -> int:
    """Return a duration as the list shows it. before: the listed one, which stays unless it is off by two steps."""
    step = next((n for n, each in enumerate(DURATIONS) if seconds <= each), len(DURATIONS) - 1)
    if before in DURATIONS and abs(DURATIONS.index(before) - step) < 2:
        return before
    return DURATIONS[step]


def list_cell(entries: Iterable[NotebookEntry]) -> str:
    """Return the source of the cell that lists the notebooks."""
    return "## All notebooks\n\n" + "\n".join(each.line for each in entries)


def next_cell(entries: list[NotebookEntry], name: str) -> str:
    """Return the source of a notebook's last cell. entries: of all notebooks but 00_start."""
    names = [START, *(each.name for each in entries)]
    following = entries[names.index(name) :]
    first = f"Next: {following[0].link}." if following else "This is the last notebook."
    return first if name == START else f"{first} All notebooks: [Start here]({START}.ipynb)."


def write_links(paths: Iterable[Path], measured: Mapping[str, float]) -> None:
    """Write the list of 00_start and the last cell of each notebook, where they differ.

    paths: all notebooks of a folder; a folder without 00_start gets no links. measured: seconds that notebooks took.
    """
    files = {path.stem: path for path in paths}
    if START not in files:
        return
    durations = listed(read(files[START]))
    durations |= {name: rounded(seconds, durations.get(name, 0)) for name, seconds in measured.items()}
    entries = [entry(path, durations) for name, path in files.items() if name != START]
    for name, path in files.items():
        cells = {f"{name.partition('_')[0]}-next": next_cell(entries, name)}
        if name == START:
            cells = {LIST: list_cell(entries), **cells}
        _write_cells(path, cells)


def _write_cells(path: Path, sources: Mapping[str, str]) -> None:
    """Write text cells with these ids, at the end of the notebook if they are new."""
    notebook = read(path)
    known = {cell.get("id"): cell for cell in notebook.cells}
    if all(name in known and known[name].source == source for name, source in sources.items()):
        return
    for name, source in sources.items():
        if name in known:
            known[name].source = source
        else:
            notebook.cells.append(nbformat.v4.new_markdown_cell(source, id=name))
    nbformat.write(notebook, path)
