"""Fixture: a folder with the files that a lab.yaml refers to."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fw-1.2.bin").write_bytes(b"firmware")
    (tmp_path / "metrics").mkdir()
    return tmp_path
