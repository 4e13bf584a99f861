"""Clients of a dask cluster, and how a share of a fleet travels to its workers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import current_process, parent_process
from typing import TYPE_CHECKING, Any

from labkit.core.errors import LabError
from labkit.fleet import workers
from labkit.fleet.workers import Share

if TYPE_CHECKING:
    from distributed import Client


GUARD = (
    "each worker imports the script that wants it, so a script does this below `if __name__ == '__main__':`"
)
CONNECTED = 5  # real seconds until a scheduler has to be there


def by_value(share: Share) -> bytes:
    """A share as bytes; classes of its behaviours that a worker may not be able to import travel whole.

    Raises LabError for a behaviour that cannot travel.
    """
    import cloudpickle

    modules = {type(member.behaviour).__module__ for member in share.plan.members}
    with _travelling(cloudpickle, modules):
        try:
            payload: bytes = cloudpickle.dumps(share)
        except Exception as error:  # whatever an object of the user's raises when it is pickled
            raise LabError(f"workers: a behaviour cannot travel to another process: {error}") from error
    return payload


@contextmanager
def _travelling(cloudpickle: Any, names: set[str]) -> Iterator[None]:
    """Have classes of these modules pickled by value: all but labkit's, which every worker has."""
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


def local(count: int) -> tuple[Client, Callable[[], object]]:
    """A client of so many processes on this machine, and what closes them. Raises LabError where they do not start."""
    from distributed import Client, LocalCluster

    if parent_process() is not None and getattr(current_process(), "_inheriting", False):
        raise LabError(GUARD)  # this is such a process, and it imports the script that wants it
    try:
        cluster = LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=0,
            silence_logs=50,
            preload=[workers.__name__],
        )
        client = Client(cluster)
    except (RuntimeError, OSError) as error:
        raise LabError(f"workers: no process of them starts: {error} ({GUARD})") from error

    def close() -> None:
        client.close()
        cluster.close()

    return client, close


def of_cluster(given: Any) -> tuple[Client, Callable[[], object]]:
    """A client of what is given: a client, a cluster, or the address of a scheduler. Raises LabError for others."""
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
    """A client of a cluster or of an address. Raises OSError or ValueError where there is no scheduler."""
    from distributed import Client

    class Connected(Client):
        """Closed where it cannot begin. Else it is when it is forgotten: perhaps by its own loop, which then would
        have to wait for itself.
        """

        def __init__(self) -> None:
            try:
                super().__init__(given, timeout=CONNECTED)  # type: ignore[no-untyped-call]
            except BaseException:
                self.close()  # type: ignore[no-untyped-call]
                raise

    return Connected()
