"""For every test: how hypothesis searches, and a browser."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.sizes import size

# Derandomized, so that a run says the same twice; no deadline, since the machine may be busy.
settings.register_profile("labkit", max_examples=size(30, 500), deadline=None, derandomize=True)
settings.load_profile("labkit")


@pytest.fixture(scope="session")
def chromium_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Where a browser for all tests listens (tests/chromium.py)."""
    from tests.chromium import started  # what most sessions need not import

    with started(tmp_path_factory.mktemp("chromium")) as port:
        yield port
