"""Child processes of the bench, forked from a process with its imports."""

import pytest

from labkit.bench import control


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch, fork_server: str) -> None:
    """Make the bench fork its child processes, where the system can fork."""
    if fork_server:
        from tests.forked_starts import forking  # most sessions need not import it

        monkeypatch.setattr(control, "subprocess", forking(fork_server))
