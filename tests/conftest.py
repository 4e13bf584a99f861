"""Fixtures and settings of all tests: Hypothesis, a lab, a fork server, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.sizes import size

if TYPE_CHECKING:
    from labkit import Lab
    from labkit.conformance.fork_server import ForkServer


# Derandomized, so that runs are reproducible; no deadline, since the machine may be busy.
settings.register_profile("labkit", max_examples=size(30, 500), deadline=None, derandomize=True)
settings.load_profile("labkit")


@pytest.fixture
def lab() -> Iterator[Lab]:
    """A lab with seed 7, in memory, on a virtual clock."""
    from labkit import Lab  # most sessions need not import it

    with Lab(seed=7) as lab:
        yield lab


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    """Fork server whose processes run checks, mutants of the platform, and mutants of the mutation tool.

    A forked process cannot change it, so one serves all tests; its start takes 3.5 CPU s.
    Tests that use it are in one group, `forked`, so that only one worker starts it.
    """
    from labkit.conformance.fork_server import ForkServer  # most sessions need not import it
    from tests.conformance import mutation

    with ForkServer(mutation.PRELOAD) as server:
        yield server


@pytest.fixture(scope="session")
def fork_server() -> str:
    """The address of a running fork server of kernels and commands; empty where the system cannot fork."""
    from tests.forked_starts import shared_server  # most sessions need not import it

    return shared_server()


@pytest.fixture
def forks(fork_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have hunts fork their worker processes, where the system can fork. hunt/test_workers.py has them start anew."""
    if fork_server:
        from labkit.hunt.workers import worker  # most sessions need not import it
        from tests.forked_starts import forking

        monkeypatch.setattr(worker, "subprocess", forking(fork_server))


@pytest.fixture(scope="session")
def chromium_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Port of a browser for all tests (tests/chromium.py)."""
    from tests.chromium import started  # most sessions need not import it

    with started(tmp_path_factory.mktemp("chromium")) as port:
        yield port
