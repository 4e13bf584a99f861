"""Runs of notebooks during the checks: they wait for the verdicts, and end when the run ends early."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labkit.reporting.run_notebook import NotebookRun
from labkit.reporting.run_notebooks import VERDICTS_FILE, WORKERS, run_notebooks
from tests.reporting.books import SharedServer, written

pytestmark = [
    pytest.mark.xdist_group("kernels"),
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes"),
]
MANY = WORKERS + 2
PARAMETERS = "# parameters\nverdicts_file = ''"
BEGUN = "from pathlib import Path\nwith open('begun', 'w') as pipe:\n    pipe.write('x')"
ASKS = "print(Path(verdicts_file).read_text())"
GOES_ON = "_ = Path('went-on').write_text('')"

Play = Callable[[Callable[[object], object]], object]


@pytest.fixture
def planned(tmp_path: Path) -> list[tuple[Path, dict[str, Any]]]:
    """More notebooks than may run at once; each marks its begin, then waits for the verdicts."""
    os.mkfifo(tmp_path / "begun")
    paths = [
        written(tmp_path / f"{number}.ipynb", PARAMETERS, BEGUN, ASKS, GOES_ON) for number in range(MANY)
    ]
    return [(path, {VERDICTS_FILE: "verdicts"}) for path in paths]


def all_begin(folder: Path) -> None:
    with (folder / "begun").open("r+b", buffering=0) as pipe:
        for _ in range(MANY):
            assert pipe.read(1) == b"x"


def test_notebooks_that_wait_for_the_verdicts_let_others_run(
    planned: list[tuple[Path, dict[str, Any]]], tmp_path: Path, fork_server: str
) -> None:
    def play(progress: Callable[[object], object]) -> None:
        all_begin(tmp_path)  # it would not return if the waiting notebooks kept others from starting
        (tmp_path / "verdicts").write_text("the verdicts")
        progress(None)

    runs: list[NotebookRun] = []
    run_notebooks(planned, tmp_path / "out", play, 1, SharedServer(fork_server), runs.append)

    assert sorted(run.name for run in runs) == [path.stem for path, _ in planned]
    assert [run.error for run in runs] == [None] * MANY
    printed = [[each.text for cell in run.notebook.cells for each in cell.outputs] for run in runs]
    assert printed == [["the verdicts\n"]] * MANY
    assert all((tmp_path / "out" / f"{run.name}.html").exists() for run in runs)


def test_if_the_checks_cannot_run_no_notebook_continues(
    planned: list[tuple[Path, dict[str, Any]]], tmp_path: Path, fork_server: str
) -> None:
    def play(progress: Callable[[object], object]) -> None:
        all_begin(tmp_path)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_notebooks(planned, tmp_path / "out", play, 1, SharedServer(fork_server))
    assert not (tmp_path / "went-on").exists()
