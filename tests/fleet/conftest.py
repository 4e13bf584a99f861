"""Event loops of async tests (tests of connections run on both, the others on asyncio's), and workers of dask."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable, Iterator, Mapping

import pytest
import uvloop

PRELOAD = (
    "labkit.cli",
    "labkit.core.process",
    "labkit.platform",
    "distributed",
    "labkit.fleet.workers",
    "uvloop",
)
BOTH = frozenset({"test_connection", "test_transport"})


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    if item.path.stem in BOTH:
        return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
    return {"asyncio": asyncio.new_event_loop}


@pytest.fixture(scope="module")
def forked_workers() -> Iterator[None]:
    """Make dask fork its worker processes from one that has imported all they need, which takes seconds of CPU time."""
    import dask  # most sessions need not import it
    from distributed.utils import get_mp_context

    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context()  # it sets a list of its own the first time
        multiprocessing.get_context("forkserver").set_forkserver_preload([*PRELOAD])
        yield
