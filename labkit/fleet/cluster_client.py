"""Connection to a dask cluster, and serialization of a shard for its workers."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import current_process, parent_process
from multiprocessing.resource_tracker import ensure_running
from typing import TYPE_CHECKING, Any

from labkit.core.errors import LabError
from labkit.core.interrupts import SIGNALS
from labkit.fleet import workers
from labkit.fleet.workers import ShardTask

if TYPE_CHECKING:
    from distributed import Client


GUARD = (
    "each worker imports the script that wants it, so a script does this below `if __name__ == '__main__':`"
)
ANSWERED = 10.0  # real seconds in which a live scheduler or worker answers
CONNECTED = 5  # real seconds in which a scheduler has to accept the connection
WITHOUT_PAGES: dict[str, Any] = {  # dask serves no pages; it cannot be kept from listening
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


def pickle_shard(shard: ShardTask) -> bytes:
    """Return a pickled shard, with behaviour classes by value if a worker may be unable to import them.

    Raises LabError for a behaviour that cannot be pickled.
    """
    import cloudpickle

    modules = {type(member.behaviour).__module__ for member in shard.plan.members}
    with pickled_by_value(cloudpickle, modules):
        try:
            payload: bytes = cloudpickle.dumps(shard)
        except Exception as error:  # pickling a user's object may raise anything
            raise LabError(f"workers: a behaviour cannot travel to another process: {error}") from error
    return payload


@contextmanager
def pickled_by_value(cloudpickle: Any, names: Collection[str]) -> Iterator[None]:
    """Have cloudpickle pickle by value what these modules define, except labkit's: every worker has labkit."""
    found = []
    for name in names:
        module = sys.modules.get(name)
        if module is None or name == "__main__" or name.partition(".")[0] == "labkit":
            continue
        if name not in cloudpickle.list_registry_pickle_by_value():
            cloudpickle.register_pickle_by_value(module)
            found.append(module)
    try:
        yield
    finally:
        for module in found:
            cloudpickle.unregister_pickle_by_value(module)


def local_cluster(count: int) -> tuple[Client, Callable[[], object]]:
    """Return a client of `count` worker processes on this machine, and a function that closes client and workers.

    Scheduler and workers run any code that a client sends, so each cluster has its own key, in memory, which every
    connection must present. Raises LabError if no process starts.
    """
    import dask
    from distributed import Client, LocalCluster
    from distributed.security import Security

    if parent_process() is not None and getattr(current_process(), "_inheriting", False):
        raise LabError(GUARD)  # this process is a worker that imports the script which starts the cluster

    def start() -> tuple[Client, LocalCluster]:
        if hasattr(signal, "pthread_sigmask"):
            ensure_running()  # here, since it unblocks signals
            # The workers inherit it: `dask_setup` runs only seconds after their start.
            signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        with dask.config.set(WITHOUT_PAGES):  # also applies to the workers
            cluster = LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                security=Security.temporary(),
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # None would choose port 8787
                memory_limit=0,
                silence_logs=50,
                preload=[workers.__name__],
            )
        return Client(cluster), cluster

    def close() -> None:
        client, cluster = started.result()
        client.close()
        cluster.close()

    with ThreadPoolExecutor(1) as thread:  # which no signal interrupts: half a cluster could not be closed
        started = thread.submit(start)
        try:
            return started.result()[0], close
        except (RuntimeError, OSError) as error:
            raise LabError(f"workers: no process of them starts: {error} ({GUARD})") from error
        except KeyboardInterrupt:
            with suppress(RuntimeError, OSError):
                close()
            raise


def addresses(client: Client) -> Collection[str] | None:
    """Return the addresses of a cluster's workers, None while the scheduler does not answer.

    It asks the scheduler, since `Client.scheduler_info` returns a cached answer, which may lack the workers.
    """
    scheduler = client.scheduler
    if scheduler is None:  # the client is reconnecting
        return None
    ask = partial(scheduler.identity, n_workers=-1)
    try:
        workers: dict[str, Any] = client.sync(ask, callback_timeout=ANSWERED)["workers"]
    except (OSError, TimeoutError):
        return None
    return workers


def client_of(given: Any) -> tuple[Client, Callable[[], object]]:
    """Return a client of a given dask client, cluster or scheduler address, and a function that closes it.

    A given client is not closed. Raises LabError for anything else, and if no scheduler answers.
    """
    from distributed import Client

    if isinstance(given, Client):
        if given.asynchronous:
            raise LabError("cluster: expected a client for blocking calls, not Client(asynchronous=True)")
        return given, lambda: None
    if isinstance(given, str) or hasattr(given, "scheduler_address"):
        try:
            client = _connected(given)
        except (OSError, ValueError) as error:
            raise LabError(f"cluster: no scheduler at {given!r} within {CONNECTED} s: {error}") from None
        return client, client.close
    raise LabError(f"cluster: expected a dask Client, a cluster or the address of a scheduler, not {given!r}")


def _connected(given: Any) -> Client:
    """Return a new client of a cluster or of an address. Raises OSError or ValueError if no scheduler answers."""
    from distributed import Client

    class Connected(Client):
        """Client that closes itself if it cannot connect.

        Otherwise the garbage collector closes it, possibly in the thread of its own event loop, which would wait for
        itself.
        """

        def __init__(self) -> None:
            try:
                super().__init__(given, timeout=CONNECTED)  # type: ignore[no-untyped-call]
            except BaseException:
                self.close()  # type: ignore[no-untyped-call]
                raise

    return Connected()
