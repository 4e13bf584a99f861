"""Callers of `plays_over` on the workers of a dask cluster.

Each call is a task of dask, which runs again elsewhere if its worker dies. The task has a worker process of labkit call
the item (worker.py), so that an item over its limit can be killed: dask cannot end a task that runs.
"""

from __future__ import annotations

import threading
from typing import Any

from labkit.core.chance import fresh_seed
from labkit.core.errors import LabError
from labkit.core.extras import check_installed
from labkit.fleet.cluster_client import addresses, client_of
from labkit.hunt.workers.worker import ATTEMPTS, Worker, WorkerError
from labkit.hunt.workers.worker_process import WorkerReply

PATIENCE = 60.0  # real seconds to wait for a worker where the cluster has none
INTERVAL = 5.0  # real seconds between two looks at the cluster's workers
EXTENSION = "labkit-hunt"  # name of the dask worker's extension that holds idle processes


class Cluster:
    """Connection to a dask cluster. function: pickled; within: limit of a call in real seconds, None for none.

    threads: of all its workers. Raises LabError if no scheduler answers, or if the cluster has no workers.
    """

    def __init__(self, dask: Any, function: bytes, within: float | None) -> None:
        check_installed("lab", "plays on a dask cluster take", "distributed")
        self.client, self._disconnect = client_of(dask)
        self.key = f"{EXTENSION}-{fresh_seed():08x}"
        self.within = within
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
            self.threads: int = sum(self.client.nthreads().values())
            self.function = self.client.scatter(function, broadcast=True, hash=False)
        except (OSError, TimeoutError) as error:
            self._disconnect()
            raise LabError(f"dask: the cluster has no workers: {error}") from None

    def caller(self) -> DaskCaller:
        """Return a new caller."""
        return DaskCaller(self)

    def close(self) -> None:
        """End the processes on the workers, and disconnect."""
        try:
            self.client.run(end_processes, self.key, on_error="ignore")
        except (
            OSError,
            TimeoutError,
            RuntimeError,
            ValueError,
        ):  # the cluster has gone, and its processes with it
            pass
        finally:
            self._disconnect()


class DaskCaller:
    """Caller that has one item after the other called on some worker of the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._closed = threading.Event()
        self._future: Any = None

    def call(self, item: bytes) -> WorkerReply:
        """Call an item on the cluster. Raises LabError if the cluster has no workers for a minute."""
        from distributed import KilledWorker

        cluster = self._cluster
        self._future = future = cluster.client.submit(
            call_there, cluster.key, cluster.function, item, cluster.within, pure=False
        )
        try:
            self._wait(future)
            return self._reply(future.result())
        except KilledWorker:
            raise WorkerError("the dask workers that had it died") from None
        except OSError as error:
            raise LabError(f"dask: the cluster does not answer: {error}") from None

    def close(self) -> None:
        """Cancel the call under way."""
        self._closed.set()
        if self._future is not None:
            self._future.cancel()

    def _wait(self, future: Any) -> None:
        from distributed import TimeoutError as LateError
        from distributed import wait

        alone = 0.0
        while not self._closed.is_set():
            try:
                wait(future, timeout=INTERVAL)
                break
            except (LateError, TimeoutError):
                alone = 0.0 if addresses(self._cluster.client) else alone + INTERVAL
                if alone >= PATIENCE:
                    raise LabError(f"dask: the cluster had no workers for {PATIENCE:g} s") from None
        if self._closed.is_set() or future.cancelled():
            raise LabError("dask: the call was cancelled, or the cluster has gone")

    @staticmethod
    def _reply(given: WorkerReply | tuple[str, bool]) -> WorkerReply:
        if isinstance(given, tuple):
            text, late = given
            raise WorkerError(text, late=late)
        return given


class Processes:
    """Worker processes of one `plays_over` beside one dask worker."""

    def __init__(self) -> None:
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._closed = False

    def take(self, function: bytes) -> Worker:
        """Return an idle process, or a new one."""
        if self._closed:
            raise WorkerError("its caller has stopped")
        worker = self._idle.pop() if self._idle else Worker(function)
        self._all.add(worker)
        return worker

    def give_back(self, worker: Worker) -> None:
        """Keep a process for later calls, or close it if it cannot be called any more."""
        if worker.is_usable and not self._closed:
            self._idle.append(worker)
        else:
            self._all.discard(worker)
            worker.close()

    def close(self) -> None:
        """Kill all processes."""
        self._closed = True
        for each in self._all:
            each.kill()
        for each in self._idle:
            each.close()


def call_there(
    key: str, function: bytes, item: bytes, within: float | None
) -> WorkerReply | tuple[str, bool]:
    """Call an item in a worker process beside this dask worker. Return the text and `late` of a WorkerError."""
    from distributed import get_worker

    processes = _processes(get_worker(), key)
    lost = 0
    while True:
        try:
            worker = processes.take(function)
            try:
                return worker.call(item, within)
            finally:
                processes.give_back(worker)
        except WorkerError as error:
            lost += 1
            if error.late or lost == ATTEMPTS:
                return str(error), error.late


def end_processes(key: str, dask_worker: Any) -> None:
    """End the processes of one `plays_over`. Called in each dask worker at the end."""
    _processes(dask_worker, key).close()


def _processes(worker: Any, key: str) -> Processes:
    found: dict[str, Processes] = worker.extensions.setdefault(EXTENSION, {})
    return found.setdefault(key, Processes())
