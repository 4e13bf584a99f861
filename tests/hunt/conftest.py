"""Fixture of hunts over several processes."""

from __future__ import annotations

import pytest

from labkit.hunt.workers import worker
from tests.hunt import forked_workers


@pytest.fixture
def forks(fork_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have hunts fork their worker processes, where the system can fork. test_workers.py has them start anew."""
    if fork_server:
        monkeypatch.setattr(worker, "subprocess", forked_workers.popen(fork_server))
