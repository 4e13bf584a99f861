"""Fixture: one fork server for all tests of reporting, since each would take seconds to import."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from labkit.conformance.fork_server import AVAILABLE, ForkServer, is_ready
from labkit.reporting import provisioner
from labkit.reporting.preload import PRELOAD

PATIENCE = 60.0  # seconds of real time


@pytest.fixture(scope="session")
def fork_server() -> Iterator[str]:
    """The address of a running fork server, the same as for the comparison of notebooks."""
    if not AVAILABLE:
        yield ""
    elif address := os.environ.get(provisioner.ADDRESS):
        _await(address)
        yield address
    else:
        with ForkServer(PRELOAD) as server:
            _await(server.address)
            yield server.address


def _await(address: str) -> None:
    end = time.monotonic() + PATIENCE
    while not is_ready(address):
        assert time.monotonic() < end
        time.sleep(0.02)
