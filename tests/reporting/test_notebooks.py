"""The notebooks of this project: their form, and reproducible stored outputs."""

import json
import re
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from nbformat import NotebookNode

from labkit.conformance.coverage import coverage
from labkit.reporting.contents import PROMISE, START
from labkit.reporting.notebooks import IGNORED, find_notebooks, main, refresh, without_unstable_outputs
from labkit.reporting.parameters import declared
from labkit.reporting.run_notebook import NotebookError, code_cells, read
from tests.reporting.books import written

FOLDER = Path(__file__).parents[2] / "notebooks"
COMMITTED = find_notebooks(FOLDER)
VOLATILE = {
    "a port": r"(localhost|127\.0\.0\.1):\d",
    "a path": r"/(home|Users|root|tmp|work|var|usr)/|[A-Z]:\\\\|site-packages",
    "an address in memory": r"0x[0-9a-f]{8,}",
    # lab time, which repeats, has more decimals
    "a duration": r"\b\d+\.\d{1,2} ?(s|ms|µs)\b|[Ww]all time|per loop",
    "progress": r"it/s|\d+%\|",
}


def texts(notebook: NotebookNode) -> str:
    """Return all texts of a notebook's outputs, without pictures."""
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    shown = [output.get("text", "") for output in outputs]
    shown += [text for each in outputs for kind, text in each.get("data", {}).items() if "image" not in kind]
    return "\n".join(shown)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
class TestCommitted:
    def test_it_has_an_introduction_and_parameters(self, path: Path) -> None:
        book = read(path)
        assert re.match(r"\d\d_[a-z_]+$", path.stem)
        assert book.cells[0].cell_type == "markdown"
        assert book.cells[0].source.startswith("# ")
        assert PROMISE in book.cells[0].source
        if path.stem == START:
            return
        parameters = declared(book, path.name)
        assert {"target", "seed"} <= set(parameters)
        assert parameters["target"] == "lab"

    def test_its_outputs_are_of_a_complete_run(self, path: Path) -> None:
        cells = code_cells(read(path))
        assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
        assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]

    def test_nothing_volatile_is_stored(self, path: Path) -> None:
        book = read(path)
        assert nbformat.writes(without_unstable_outputs(read(path))) == nbformat.writes(book)
        found = {what: re.search(pattern, texts(book)) for what, pattern in VOLATILE.items()}
        assert not {what: match[0] for what, match in found.items() if match}

    def test_each_picture_has_an_alternative_text(self, path: Path) -> None:
        outputs = [output for cell in code_cells(read(path)) for output in cell.outputs]
        kept = [each.metadata for each in outputs if "image/png" in each.get("data", {})]
        assert all(len(each["image/png"]["alt"]) > 20 for each in kept)

    def test_it_shows_verdicts(self, path: Path) -> None:
        assert path.stem == START or re.search(r"\d+ checks?, \d+ passed", texts(read(path)))

    def test_no_link_leads_outside(self, path: Path) -> None:
        text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
        assert not re.search(r"\]\(https?:|<(img|a|script|link)\b", text)


def test_the_conformance_notebook_has_all_areas() -> None:
    source = "\n".join(cell.source for cell in code_cells(read(FOLDER / "90_conformance.ipynb")))
    played = set(re.findall(r'verdicts\(\s*"([A-Z]+)"', source))
    assert played == {each.requirement.area for each in coverage()}


# --- writing outputs ----------------------------------------------------------------------------------------


def test_outputs_are_written_in_place_and_reproducible(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.ipynb",
        "# Title",
        "# parameters\nseed = 7\nwatched = True",
        "import time\nprint(seed, watched)",
        "time.time()",
        kernel="old",
    )
    book = read(path)
    book.cells[-1].metadata["tags"] = [IGNORED]
    book.cells[-1].metadata["execution"] = {"started": "now"}
    book.metadata["language_info"] = {"name": "python", "version": "3.8.1"}
    nbformat.write(book, path)
    assert CliRunner().invoke(main, [str(path)]).exit_code == 0
    first = path.read_bytes()
    assert CliRunner().invoke(main, [str(path)]).exit_code == 0
    assert path.read_bytes() == first
    stored = json.loads(first)
    assert stored["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    parameters, printed, ignored = stored["cells"][1:]
    assert parameters["metadata"] == {"tags": ["parameters"]}
    assert (printed["execution_count"], printed["outputs"][0]["text"]) == (2, ["7 False\n"])
    assert (ignored["execution_count"], ignored["outputs"], ignored["metadata"]) == (
        3,
        [],
        {"tags": [IGNORED]},
    )


def test_a_notebook_that_raises_is_not_changed(tmp_path: Path) -> None:
    path = written(tmp_path / "a.ipynb", "1 / 0")
    before = path.read_bytes()
    with pytest.raises(NotebookError, match=r"a\.ipynb: cell 1: ZeroDivisionError"):
        refresh(path)
    assert path.read_bytes() == before


def test_help_and_an_unknown_name_run_nothing(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert "store their outputs in place" in result.output
    wrong = CliRunner().invoke(main, [str(tmp_path / "nope.ipynb")])
    assert wrong.exit_code == 2
    assert "nope.ipynb' does not exist" in wrong.output
