"""The command line without Jupyter, and `python -m labkit`."""

import subprocess
import sys
from importlib.util import find_spec
from types import ModuleType
from typing import cast

import pytest

from labkit import __main__, __version__, settings
from labkit.core import extras
from tests.rig import invoked


def test_python_m_labkit_is_labkit() -> None:
    shown = subprocess.check_output([sys.executable, "-m", "labkit", "list", "--help"], text=True)
    assert shown.startswith("Usage: labkit list ")


class Interrupts:
    """Something at which an interrupt comes: a module as it is imported, or a function as it is called."""

    def __getattr__(self, name: str) -> object:
        raise KeyboardInterrupt

    def __call__(self, *_: object, **__: object) -> object:
        raise KeyboardInterrupt


def test_an_interrupt_is_a_sentence_from_the_start_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(settings, "load", Interrupts())
    result = invoked("serve")
    assert (result.exit_code, result.output) == (130, "labkit serve: interrupted\n")
    monkeypatch.setitem(sys.modules, "labkit.cli", cast(ModuleType, Interrupts()))
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert (ended.value.code, capsys.readouterr().err) == (130, "labkit: interrupted while it started\n")


def test_the_version_is_that_of_the_package() -> None:
    assert invoked("--version").output == f"labkit, version {__version__}\n"


def test_a_report_without_jupyter_names_the_extra_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "papermill" else find_spec(name))
    result = invoked("report")
    assert result.exit_code == 1
    assert (
        result.output == "labkit: report runs notebooks, which takes papermill: pip install 'labkit[lab]'\n"
    )
