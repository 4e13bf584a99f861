"""Fixtures and settings of all tests: Hypothesis, a lab, a fork server, and a browser."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.guard import PATIENCE
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
def fork_server() -> Iterator[str]:
    """The address of a running fork server of kernels and commands, the same as for the comparison of notebooks.

    Empty where the system cannot fork.
    """
    from labkit.conformance.fork_server import AVAILABLE, ForkServer  # most sessions need not import it
    from labkit.reporting import provisioner
    from labkit.reporting.preload import PRELOAD

    if not AVAILABLE:
        yield ""
    elif address := os.environ.get(provisioner.ADDRESS):
        _await(address)
        yield address
    else:
        with ForkServer(PRELOAD) as server:
            _await(server.address)
            yield server.address


@pytest.fixture
def forks(fork_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have hunts fork their worker processes, where the system can fork. hunt/test_workers.py has them start anew."""
    if fork_server:
        from labkit.hunt.workers import worker  # most sessions need not import it
        from tests.forked_starts import forking

        monkeypatch.setattr(worker, "subprocess", forking(fork_server))


def _await(address: str) -> None:
    from labkit.conformance.fork_server import is_ready

    end = time.monotonic() + PATIENCE
    while not is_ready(address):
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="session")
def chromium_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Port of a browser for all tests (tests/chromium.py)."""
    from tests.chromium import started  # most sessions need not import it

    with started(tmp_path_factory.mktemp("chromium")) as port:
        yield port
