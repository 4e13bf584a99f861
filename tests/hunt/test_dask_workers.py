"""Calls on a dask cluster: the same outcomes, and workers that die."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from labkit import LabError
from labkit.hunt.workers.pool import plays_over

pytestmark = [
    pytest.mark.sampled,
    pytest.mark.xdist_group("dask"),
    pytest.mark.filterwarnings("ignore"),  # warnings of dask itself
]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0, silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_outcomes_and_limits(client: Client) -> None:
    def plays(item: int) -> tuple[int, int]:
        if item == 1:
            raise ValueError("one")
        if item == 2:
            os._exit(3)
        if item == 3:
            time.sleep(600)
        return item, os.getppid()

    outcomes = {each.item: each for each in plays_over(None, plays, range(8), within=10, dask=client)}
    workers = set(client.run(os.getpid).values())
    for item in (0, 4, 5, 6, 7):
        result = outcomes[item].result
        assert result is not None
        assert result[0] == item
        assert result[1] in workers  # beside a worker of dask
    assert (repr(outcomes[1].error), outcomes[2].died, outcomes[3].late) == ("ValueError('one')", True, True)
    assert client.run(lambda dask_worker: dask_worker.extensions.keys() & {"labkit-hunt"})  # it was there


def test_a_worker_that_dies_loses_no_item(client: Client, tmp_path: Path) -> None:
    def plays(item: int) -> int:
        if item == 2:
            try:
                (tmp_path / "died").touch(exist_ok=False)
            except FileExistsError:
                return item
            os.kill(os.getppid(), signal.SIGKILL)  # the worker of dask, beside which this process runs
            time.sleep(600)
        return item

    found = list(plays_over(2, plays, range(6), dask=client.scheduler.address if client.scheduler else None))
    assert sorted(each.result for each in found if each.result is not None) == [*range(6)]
    assert (tmp_path / "died").exists()


def test_no_scheduler() -> None:
    with pytest.raises(LabError, match=r"cluster: no scheduler at 'tcp://127.0.0.1:9'"):
        plays_over(None, str, [1], dask="tcp://127.0.0.1:9")
