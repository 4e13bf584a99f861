"""For every test: how hypothesis searches, a fork server, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.sizes import size

if TYPE_CHECKING:
    from labkit.conformance.fork_server import ForkServer

# Derandomized, so that a run says the same twice; no deadline, since the machine may be busy.
settings.register_profile("labkit", max_examples=size(30, 500), deadline=None, derandomize=True)
settings.load_profile("labkit")


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    """Forks processes that play checks, mutants of the platform, and mutants of the mutation tool.

    Nothing that is done in a process that it forks reaches it, so one does for all; it takes 3.5 CPU s to be there.
    Those who use it are in one group, `forked`: another worker would have one of its own.
    """
    from labkit.conformance.fork_server import ForkServer  # what most sessions need not import
    from tests.conformance import mutation

    with ForkServer(mutation.PRELOAD) as server:
        yield server


@pytest.fixture(scope="session")
def chromium_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Where a browser for all tests listens (tests/chromium.py)."""
    from tests.chromium import started  # what most sessions need not import

    with started(tmp_path_factory.mktemp("chromium")) as port:
        yield port
