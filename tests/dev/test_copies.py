"""Copies of the notebooks for a learner, and JupyterLab over them."""

import json
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner

from labkit.dev import __main__ as dev
from labkit.dev.copies import update
from tests.reporting.books import written


@pytest.fixture
def originals(tmp_path: Path) -> Path:
    """A notebook, a file that it reads, and what no notebook reads."""
    book = written(tmp_path / "notebooks" / "00_start.ipynb", "# Start", "seed = 7")
    for name in ("solutions/a/x.lua", "book/index.md", ".ipynb_checkpoints/00_start.ipynb"):
        path = book.parent / name
        path.parent.mkdir(parents=True)
        path.write_text("old")
    return book.parent


def test_copies_are_updated_until_they_are_edited(originals: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    assert update(originals, mine) == []
    assert {str(each.relative_to(mine)) for each in mine.rglob("[!.]*") if each.is_file()} == {
        "00_start.ipynb",
        "solutions/a/x.lua",
    }
    book = nbformat.read(mine / "00_start.ipynb", 4)
    book.cells[1].update(execution_count=3, outputs=[nbformat.v4.new_output("stream", text="half")])
    nbformat.write(book, mine / "00_start.ipynb")  # run, not edited
    assert update(originals, mine) == []
    assert "half" in (mine / "00_start.ipynb").read_text()

    written(originals / "00_start.ipynb", "# Start", "seed = 8")
    (originals / "solutions/a/x.lua").write_text("new")
    assert update(originals, mine) == []
    assert "seed = 8" in (mine / "00_start.ipynb").read_text()
    assert (mine / "solutions/a/x.lua").read_text() == "new"

    (mine / "solutions/a/x.lua").write_text("my own")
    assert update(originals, mine) == []  # the original is as it was when it was copied
    (originals / "solutions/a/x.lua").write_text("newest")
    for _ in range(2):
        assert update(originals, mine) == ["solutions/a/x.lua"]
        assert (mine / "solutions/a/x.lua").read_text() == "my own"
    (mine / "solutions/a/x.lua").unlink()
    assert update(originals, mine) == []
    assert (mine / "solutions/a/x.lua").read_text() == "newest"


def test_a_copy_goes_with_its_original_unless_it_is_edited(originals: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    update(originals, mine)
    (mine / "solutions/a/x.lua").write_text("my own")
    (originals / "00_start.ipynb").unlink()
    (originals / "solutions/a/x.lua").unlink()
    assert update(originals, mine) == []
    assert not (mine / "00_start.ipynb").exists()
    assert (mine / "solutions/a/x.lua").read_text() == "my own"


def test_jupyterlab_opens_the_first_copy_without_a_question(
    originals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr(dev, "CHECKOUT", originals.parent)
    monkeypatch.setattr("os.execv", lambda program, arguments: started.extend(arguments))
    result = CliRunner().invoke(dev.main, ["lab", "--no-browser"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    given = dict(each.removeprefix("--").split("=") for each in started if "=" in each)
    folder = Path(given["ServerApp.root_dir"])
    assert (folder / given["LabApp.default_url"].removeprefix("/lab/tree/")).exists()
    assert Path(given["LabApp.workspaces_dir"]).is_relative_to(folder)
    [settings] = Path(given["LabApp.user_settings_dir"]).rglob("notification.jupyterlab-settings")
    assert json.loads(settings.read_text())["fetchNews"] == "false"
    assert started[-1] == "--no-browser"
