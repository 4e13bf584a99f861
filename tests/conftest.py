"""Defaults for every test: how hypothesis searches, and which items stay together on a worker."""

import pytest
from hypothesis import settings

from tests.sizes import size

# Derandomized, so that a run says the same twice; no deadline, since the machine may be busy.
settings.register_profile("labkit", max_examples=size(50, 500), deadline=None, derandomize=True)
settings.load_profile("labkit")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the cells of a notebook on one worker: they share a kernel. Tests are spread one by one."""
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
