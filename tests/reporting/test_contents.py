"""Links between the notebooks: the list in 00_start and the links to the next notebook are those of the folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from labkit.reporting.contents import (
    DURATIONS,
    LIST,
    START,
    entry,
    list_cell,
    listed,
    next_cell,
    rounded,
    write_links,
)
from labkit.reporting.notebooks import find_notebooks
from labkit.reporting.run_notebook import read
from tests.reporting.books import written

FOLDER = Path(__file__).parents[2] / "notebooks"
PATHS = {path.stem: path for path in find_notebooks(FOLDER)}
STORED = listed(read(PATHS[START]))
ENTRIES = [entry(path, STORED) for name, path in PATHS.items() if name != START]
REMEDY = "write the links: python -m labkit.reporting.notebooks notebooks/00_start.ipynb"


def test_the_list_is_that_of_the_folder() -> None:
    [cell] = [cell for cell in read(PATHS[START]).cells if cell.id == LIST]
    assert cell.source == list_cell(ENTRIES), REMEDY
    assert list(STORED) == [name for name in PATHS if name != START]
    assert set(STORED.values()) <= set(DURATIONS)
    assert [each.name for each in ENTRIES if len(each.about) < 20] == []


@pytest.mark.parametrize("name", PATHS)
def test_a_notebook_ends_with_a_link_to_the_next(name: str) -> None:
    cells = read(PATHS[name]).cells
    assert cells[-1].source == next_cell(ENTRIES, name), REMEDY
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    assert [each for each in links if not (FOLDER / each.partition("#")[0]).is_file()] == []


def test_each_notebook_is_reached_from_the_first() -> None:
    name, seen = START, [START]
    while following := re.match(r"Next: \[[^]]+\]\((\w+)\.ipynb\)\.", next_cell(ENTRIES, name)):
        name = following[1]
        seen.append(name)
    assert seen == list(PATHS)


def test_a_new_notebook_gets_its_line_and_its_links(tmp_path: Path) -> None:
    start = written(tmp_path / "00_start.ipynb", "# Start here")
    first = written(tmp_path / "01_a.ipynb", "# A\n\n**What you will see:** one\nthing. Then more.", "1")
    write_links([start, first], {"01_a": 7.5})
    assert read(start).cells[1].source == "## All notebooks\n\n- [A](01_a.ipynb), 10 s: one thing."
    assert read(start).cells[2].source == "Next: [A](01_a.ipynb)."
    ends = "This is the last notebook. All notebooks: [Start here](00_start.ipynb)."
    assert [cell.source for cell in read(first).cells[1:]] == ["1", ends]

    second = written(tmp_path / "02_b.ipynb", "# B\n\n**What you will see:** another.")
    write_links([start, first, second], {"02_b": 0.3})
    assert listed(read(start)) == {"01_a": 10, "02_b": 2}
    assert (
        read(first).cells[-1].source == "Next: [B](02_b.ipynb). All notebooks: [Start here](00_start.ipynb)."
    )
    before = [path.stat().st_mtime_ns for path in (start, first, second)]
    write_links([start, first, second], {})
    assert [path.stat().st_mtime_ns for path in (start, first, second)] == before


def test_a_folder_without_a_start_gets_no_links(tmp_path: Path) -> None:
    path = written(tmp_path / "01_a.ipynb", "# A", "1")
    write_links([path], {"01_a": 1.0})
    assert len(read(path).cells) == 2


def test_a_listed_duration_changes_only_if_it_is_far_off() -> None:
    assert [rounded(each) for each in (0.1, 2.1, 10, 61, 4000)] == [2, 5, 10, 120, 300]
    assert [rounded(each, 10) for each in (3, 15, 4000)] == [10, 10, 300]
    assert rounded(1, 10) == 2
