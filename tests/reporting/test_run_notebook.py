"""Run of one notebook: in this interpreter, in its own folder, with validated parameters, and always saved."""

import sys
from pathlib import Path

import pytest

from labkit.reporting.parameters import ParameterError
from labkit.reporting.run_notebook import NotebookError, code_cells, read, run_notebook
from tests.reporting.books import written

PRINT = (
    "import os, sys\nprint(sys.executable, os.getcwd(), seed, os.environ['IPYTHONDIR'] != 'mine', sep='\\n')"
)


def test_it_runs_in_this_interpreter_with_its_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "none"))
    monkeypatch.setenv("IPYTHONDIR", "mine")
    path = written(
        tmp_path / "a {b}.ipynb",
        "# A title\n## not this",
        "# parameters\nseed = 7",
        PRINT,
        kernel="no-such-kernel",
    )
    before = path.read_bytes()
    cells = []
    run = run_notebook(path, tmp_path / "out" / "a.ipynb", {"seed": 8}, progress=lambda: cells.append(1))
    assert run.error is None
    assert (run.name, run.title) == ("a {b}", "A title")
    [output] = code_cells(run.notebook)[-1].outputs
    assert output.text.splitlines() == [sys.executable, str(tmp_path), "8", "True"]
    assert len(cells) == 3  # cells: declared parameters, injected parameters, and the one with the output
    assert read(tmp_path / "out" / "a.ipynb") == run.notebook
    assert "papermill" not in (tmp_path / "out" / "a.ipynb").read_text()
    assert path.read_bytes() == before


def test_printed_text_is_one_output(tmp_path: Path, fork_server: str) -> None:
    slowly = "import time\nfor n in range(3):\n    print(n, flush=True)\n    time.sleep(0.3)"
    run = run_notebook(written(tmp_path / "a.ipynb", slowly), server=fork_server)
    [output] = code_cells(run.notebook)[-1].outputs
    assert output.text == "0\n1\n2\n"


def test_an_unknown_parameter_is_an_error_before_anything_runs(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    path = written(tmp_path / "a.ipynb", "# parameters\nseed = 7", f"open({str(mark)!r}, 'w').close()")
    with pytest.raises(ParameterError, match=r"a\.ipynb: unknown parameter 'sede'; there are: seed"):
        run_notebook(path, tmp_path / "out.ipynb", {"sede": 8})
    assert not mark.exists()
    assert not (tmp_path / "out.ipynb").exists()


def test_a_cell_that_raises_is_reported_and_the_notebook_saved(tmp_path: Path, fork_server: str) -> None:
    path = written(
        tmp_path / "a.ipynb", "# Title", "print('before')", "# text", "x = 0\n1 / x", "print('after')"
    )
    run = run_notebook(path, tmp_path / "out.ipynb", server=fork_server)
    assert run.error is not None
    assert (run.error.number, run.error.source) == (2, "x = 0\n1 / x")
    assert str(run.error) == "cell 2: ZeroDivisionError: division by zero\n    x = 0\n    1 / x"
    assert "ZeroDivisionError" in run.error.traceback
    assert "\x1b" not in run.error.traceback
    first, second, third = code_cells(read(tmp_path / "out.ipynb"))
    assert first.outputs[0].text == "before\n"
    assert second.outputs[0].ename == "ZeroDivisionError"
    assert third.outputs == []
    assert len(run.notebook.cells) == 5  # papermill's own notes on the error are removed


def test_a_kernel_that_dies_is_reported_with_its_output(tmp_path: Path, fork_server: str) -> None:
    dying = "import os\nos.write(2, b'last words')\nos._exit(3)"
    run = run_notebook(
        written(tmp_path / "a.ipynb", "print('before')", dying), tmp_path / "out.ipynb", server=fork_server
    )
    assert run.error is not None
    assert (run.error.number, run.error.source, run.error.message) == (2, dying, "the kernel died")
    assert "last words" in run.error.traceback
    assert code_cells(read(tmp_path / "out.ipynb"))[0].outputs[0].text == "before\n"


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"cells": 1}'])
def test_a_file_that_is_no_notebook_is_an_error(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "a.ipynb"
    if text is not None:
        path.write_text(text)
    with pytest.raises(NotebookError, match=r"a\.ipynb"):
        run_notebook(path)


FLEET = """
from labkit import Lab
from labkit.fleet.behaviour import Behaviour

class Reporter(Behaviour):
    async def run(self, device):
        for _ in range(5):
            await device.write(temperature=20)
            await device.sleep(60)

lab = Lab(seed=7)
fleet = lab.product("thermostat", resources={"temperature": "number"}).fleet(3, Reporter)
dashboard = fleet.dashboard()
dashboard
"""


def test_a_live_view_is_saved_as_a_picture_of_its_last_state(tmp_path: Path, fork_server: str) -> None:
    shown = "import IPython.display\nIPython.display.Image(dashboard._picture())"
    path = written(tmp_path / "a.ipynb", FLEET, "fleet.run(minutes=10).summary", shown, "lab.close()")
    run = run_notebook(path, tmp_path / "out.ipynb", server=fork_server)
    assert run.error is None, run.error.traceback
    view, summary, picture, _ = (cell.outputs for cell in code_cells(run.notebook))
    assert summary[0].data["text/plain"] == "'3 devices, 5 min of lab time, 15 requests'"
    assert set(view[0].data) == {"image/png", "text/plain"}
    assert view[0].data["text/plain"] == "<dashboard of 3 devices of thermostat>"
    assert view[0].data["image/png"].strip() == picture[0].data["image/png"].strip()
    assert "widgets" not in run.notebook.metadata
