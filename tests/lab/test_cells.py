"""Errors in a cell: two lines with the problem, the expected value and the place, without frames of labkit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

Run = Callable[[str], list[str]]
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    shell = InteractiveShell()
    shell.run_cell("from labkit import Lab, LabError\nlab = Lab(seed=1)\np = lab.product('p')")
    yield shell
    shell.run_cell("lab.close()")
    if shell.history_manager is not None:
        shell.history_manager.end_session()


@pytest.fixture
def shown(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(cell: str) -> list[str]:
        capsys.readouterr()
        shell.run_cell(cell)
        return ANSI.sub("", capsys.readouterr().out).strip().splitlines()

    return run


class TestErrors:
    def test_are_two_lines(self, shown: Run) -> None:
        assert shown("device = p.device('d')\n\ndevice.write(message=None)") == [
            "LabError: message: None is no value; omit it to store nothing, '' is the empty text",
            "line 3 of the cell: device.write(message=None)",
        ]

    def test_of_the_platforms_thread_are_no_longer(self, shown: Run) -> None:
        assert shown("p.settings.auth = 'magic'") == [
            "SettingsError: product 'p'.auth: expected 'token', 'password' or 'certificate', not 'magic'",
            "line 1 of the cell: p.settings.auth = 'magic'",
        ]

    def test_name_the_file_of_a_helper(self, shown: Run, tmp_path: Path) -> None:
        helper = tmp_path / "helper_of_cells.py"
        helper.write_text("def close(lab):\n    return lab.clock.advance(-1)\n")
        lines = shown(
            f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport helper_of_cells as h\nh.close(lab)"
        )
        assert lines[0].startswith("LabError: a clock cannot go back")
        assert lines[1:] == [f"{helper}, line 2: return lab.clock.advance(-1)"]

    def test_of_a_cells_own_are_shown_too(self, shown: Run) -> None:
        assert shown("def f():\n    raise LabError('mine')\nf()") == [
            "LabError: mine",
            "line 2 of the cell: raise LabError('mine')",
        ]

    def test_of_arguments_that_do_not_fit_name_those_that_do(self, shown: Run) -> None:
        lines = shown("lab.product()")
        assert lines[0].startswith(
            "ArgumentError: Lab.product() missing 1 required positional argument: 'id'; its arguments are: id, replace"
        )
        assert lines[1:] == ["line 1 of the cell: lab.product()"]

    def test_show_all_frames_with_labkit_debug(self, shown: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LABKIT_DEBUG", "1")
        lines = shown("lab.product('q', auth='magic')")
        assert sum("labkit" in line for line in lines) > 3
