"""The README's examples in a lab of another process: the handles are the same."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import labkit
from labkit.lab.served_lab import ServedLab

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
SECTIONS = ("A first result", "People", "Messages", "Solutions together")  # that pass no function to the lab


def example(title: str) -> str:
    """Return the example of a section."""
    [section] = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", README, re.DOTALL | re.MULTILINE)
    [block] = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return str(block)


@pytest.mark.parametrize("title", SECTIONS)
def test_an_example_of_the_readme_runs_unchanged(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(labkit, "Lab", ServedLab)
    shown = doctest.DocTestParser().get_doctest(example(title), {"Lab": ServedLab}, title, "README.md", 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(shown).failed == 0
    assert runner.summarize().attempted > 5
