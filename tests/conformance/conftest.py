"""What tests of checks share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from labkit.conformance import mutation
from labkit.conformance.fork_server import ForkServer


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    """Nothing that is done in a process that it forks reaches it, so one does for all; it takes 3.5 CPU s to be there.

    Those who use it are in one group, `forked`: another worker would have one of its own.
    """
    with ForkServer(mutation.PRELOAD) as server:
        yield server
