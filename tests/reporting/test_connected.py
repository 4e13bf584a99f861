"""Notebooks whose labs run in another process: equal outputs, and cells that are skipped with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from labkit.core.errors import SettingsError
from labkit.reporting import connected
from labkit.reporting.connected import SKIPPED, MissingNames, connects
from labkit.reporting.notebooks import IGNORED
from labkit.reporting.run_notebook import code_cells, read, run_notebook
from labkit.settings.notebooks import notebooks_folder
from tests import forked_starts
from tests.dev import forked_command

# without a lab; a service of a cell; speed of the process; plays, whose labs are of this process; programs beside
# a lab; checks alone
OTHERS = {
    *("00_start", "13_run_a_real_solution", "24_performance"),
    *("30_hunt", "32_sweep", "33_your_firmware", "90_conformance"),
}
NOTEBOOKS = sorted({path.stem for path in notebooks_folder().glob("[0-9]*.ipynb")} - OTHERS)
# Number of skipped cells: with a handler, faults of one and of a fleet of one's own, such a fleet and its charts.
OWN_PROCESS = {"04_metrics_pattern": 1, "12_faults": 7, "22_faults_and_recovery": 8, "31_two_futures": 3}


@pytest.fixture
def connecting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_LAB", "connect")


@pytest.fixture
def forking(monkeypatch: pytest.MonkeyPatch, fork_server: str) -> str:
    """Address of a fork server for the kernels, which have it fork the servers of their labs, too."""
    if fork_server:
        monkeypatch.setenv(forked_command.ADDRESS, fork_server)
        monkeypatch.setattr(connected, "STARTUP", connected.STARTUP + forked_starts.STARTUP)
    return fork_server


@pytest.mark.sampled
@pytest.mark.usefixtures("connecting")
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_has_its_stored_outputs(name: str, tmp_path: Path, forking: str) -> None:
    verdicts = tmp_path / "verdicts.json"
    verdicts.write_text(json.dumps({"verdicts": []}))  # its checks have a test of their own
    path = notebooks_folder() / f"{name}.ipynb"
    run = run_notebook(path, parameters={"verdicts_file": str(verdicts)}, server=forking)
    assert run.error is None
    got = {each.source: each for each in code_cells(run.notebook)}
    skipped = compared = 0
    for cell in code_cells(read(path)):
        ran = got[cell.source]
        if SKIPPED in ran.metadata.get("tags", []):
            assert "the lab's own process" in shown(ran)
            skipped += 1
        elif IGNORED not in cell.metadata.get("tags", []) and "verdicts_file" not in cell.source:
            assert shown(ran) == shown(cell), cell.source
            compared += 1
    assert skipped == OWN_PROCESS.get(name, 0)
    assert compared >= 2


def test_cells_that_cannot_run_here_and_cells_that_need_those_are_skipped(tmp_path: Path) -> None:
    sources = [
        "from labkit.reporting.notebook import skip_unless\nskip_unless(1, 'never said')\nsaid = 1",
        "skip_unless('', 'needs a C compiler')\nprogram = said",
        "program",
        "print(said)",
    ]
    cells = [new_code_cell(each) for each in sources]
    cells[3].metadata["tags"] = ["own-process"]
    run = run_notebook(save(tmp_path / "book.ipynb", cells))
    assert run.error is None
    assert [shown(each) for each in code_cells(run.notebook)] == [
        "",
        "skipped: needs a C compiler\n",
        "skipped: needs program, which a skipped cell defines\n",
        "1\n",
    ]


@pytest.mark.usefixtures("connecting")
def test_cells_that_need_functions_and_cells_that_need_those_are_skipped(tmp_path: Path) -> None:
    sources = [
        "from labkit import Lab\nlab = Lab(seed=7)\nacme = lab.solution('acme')\nlab.seed, type(lab).__name__",
        "twilio = lab.service('Twilio', send=lambda to: to)",
        "twilio.calls",
        "acme.Keystore.set(key='a', value=1)\nacme.Keystore.get(key='a')",
        "acme.Twilio.send(to=1)",
        "twilio = 2",
        "twilio",
        "lab.close()",
    ]
    cells = [new_code_cell(each) for each in sources]
    cells[4].metadata["tags"] = ["own-process"]
    run = run_notebook(save(tmp_path / "book.ipynb", cells))
    assert run.error is None
    outputs = [shown(each) for each in code_cells(run.notebook)]
    own = "need the lab's own process"
    assert outputs[0] == "(7, 'ServedLab')"
    assert outputs[1].startswith(
        "skipped: service: takes Python functions or objects, which need the lab's own process"
    )
    assert outputs[2] == f"skipped: needs twilio, which a cell defines that needs{own[4:]}\n"
    assert outputs[3] == "{'value': '1'}"
    assert outputs[4] == f"skipped: needs what a cell does that needs{own[4:]}\n"
    assert outputs[5:] == ["", "2", ""]
    skipped = [SKIPPED in each.metadata.get("tags", []) for each in code_cells(run.notebook)]
    assert skipped == [False, True, True, False, True, False, False, False]


@pytest.mark.usefixtures("connecting")
def test_another_error_ends_the_notebook(tmp_path: Path) -> None:
    cells = [new_code_cell(each) for each in ("from labkit import Lab\nLab(sed=3)", "1")]
    run = run_notebook(save(tmp_path / "book.ipynb", cells))
    assert run.error is not None
    assert "SettingsError" in run.error.message


def test_names_are_missing_until_they_are_defined_again() -> None:
    missing = MissingNames()
    missing.skipped(new_code_cell("def f(): pass\nclass C: pass\na = 1"))
    assert missing.reason(new_code_cell("%time f()")) is None
    assert missing.reason(new_code_cell("b = f(C)")) == (
        "needs C, f, which a cell defines that needs the lab's own process"
    )
    assert missing.reason(new_code_cell("print(b)")) is not None
    assert missing.reason(new_code_cell("C = 1\n[a for a in range(C)]\nfor f in (): pass")) is None
    assert missing.reason(new_code_cell("a += 1")) is not None
    assert missing.reason(new_code_cell("def g(x, a): return [C for C in x]\ng(1, 2)")) is None
    assert missing.reason(new_code_cell("def g(): return f\ng()")) is not None
    assert missing.reason(new_code_cell("def g(): return f\nf = 1")) is None
    missing.ran(new_code_cell("b = 2"))
    assert missing.reason(new_code_cell("print(b)")) is None


def test_labkit_lab_has_one_value() -> None:
    assert connects({"LABKIT_LAB": "connect"})
    assert not connects({})
    with pytest.raises(SettingsError, match="LABKIT_LAB: expected 'connect' or nothing, not 'no'"):
        connects({"LABKIT_LAB": "no"})


def save(path: Path, cells: list[NotebookNode]) -> Path:
    nbformat.write(new_notebook(cells=cells), path)
    return path


def shown(cell: NotebookNode) -> str:
    """Return the outputs of a cell as text."""
    return "".join(
        each.text
        if each.output_type == "stream"
        else each.get("data", {}).get("text/plain", each.output_type)
        for each in cell.outputs
    )
