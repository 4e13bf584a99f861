"""The command line without Jupyter, and `python -m labkit`."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from labkit import __version__
from labkit.core import extras
from tests.rig import invoked


def test_python_m_labkit_is_labkit() -> None:
    shown = subprocess.check_output([sys.executable, "-m", "labkit", "list", "--help"], text=True)
    assert shown.startswith("Usage: labkit list ")


def test_the_version_is_that_of_the_package() -> None:
    assert invoked("--version").output == f"labkit, version {__version__}\n"


def test_a_report_without_jupyter_names_the_extra_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "papermill" else find_spec(name))
    result = invoked("report")
    assert result.exit_code == 1
    assert (
        result.output == "labkit: report runs notebooks, which takes papermill: pip install 'labkit[lab]'\n"
    )
