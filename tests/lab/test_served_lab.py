"""The examples of the README and of the book in a lab of another process: the handles are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import labkit
from labkit.dev.book import SOURCES
from labkit.lab.served_lab import ServedLab
from tests.dev import blocks

ROOT = Path(__file__).parents[2]
PAGES = (  # that pass no function to the lab
    ROOT / "README.md",
    SOURCES / "tutorials" / "first-device.md",
    SOURCES / "tutorials" / "people-and-social-login.md",
    SOURCES / "tutorials" / "notifications.md",
    SOURCES / "how-to" / "let-two-solutions-talk.md",
)


@pytest.mark.sampled
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_an_example_runs_unchanged(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    monkeypatch.setattr(labkit, "Lab", ServedLab)
    with blocks.page(path, tmp_path, port=0) as examples:
        for each in examples:
            each.evaluate()
        assert isinstance(examples[0].namespace["lab"], ServedLab)
