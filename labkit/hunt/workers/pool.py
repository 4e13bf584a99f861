"""Calls of one function with many items, over worker processes or a dask cluster: `plays_over`, `PlayWorkers`.

What it promises:

- Results come as they are ready, in any order, each as an `ItemOutcome` with its item. Every item that was taken has
  exactly one outcome, unless the caller stops early.
- `items` may be a generator. The next item is taken when a worker is free, in the caller's thread, within `next()`: a
  caller can choose later items by earlier outcomes. When `items` ends, the outcomes of items under way still come.
- An error of the function is the outcome's `error`, with the worker's traceback as text. Nothing else stops.
- A worker process that dies loses no item: its item runs again in a new process. If that one dies, too, the outcome is
  `died`. An item over its limit of real time is killed, with the processes that it has started: the outcome is `late`.
  Without workers it is interrupted as by Ctrl-C, which not everything heeds: a line on standard error then says so.
- To stop early, close the iterator (`with closing(plays_over(…)) as plays:`), or break out of its loop. Ctrl-C raises
  KeyboardInterrupt in the caller, as everywhere; workers ignore it, and are killed when the iterator is closed. The
  outcomes that the caller has got stay.
- Processes start anew with labkit's modules (`spawn`, never `fork`), so it works on every system, within any thread,
  and in a script without `if __name__ == "__main__"`. Functions of a cell, of a script and of modules that are not
  installed travel by value, with cloudpickle; what they print is dropped.
- With `dask=`, each thread of the cluster's workers has such a process beside it: limits and deaths are the same there,
  and dask runs the items of a dead worker or machine on another one.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar, cast

from labkit.core.errors import LabError
from labkit.core.extras import needs
from labkit.core.progress import PERIOD, tick
from labkit.fleet.cluster_client import pickled_by_value
from labkit.hunt.workers.time_limit import checked_limit, time_limit
from labkit.hunt.workers.worker import ATTEMPTS, Worker, WorkerError
from labkit.hunt.workers.worker_process import WorkerReply

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class ItemOutcome(Generic[T, R]):
    """Outcome of one item.

    item: as given; result: of the function, None if it failed; error: of the function, or a WorkerError that says how
    the process ended; traceback: of the function's error, as text; seconds: real time of the call, 0.0 if the process
    has ended; late: whether it was killed after its limit; died: whether its processes ended by themselves.
    """

    item: T
    result: R | None = None
    error: BaseException | None = None
    traceback: str = field(default="", repr=False)
    seconds: float = 0.0
    late: bool = False
    died: bool = False


class ItemCaller(Protocol):
    """Place where one item after the other is called. Its calls run in a thread of their own."""

    def call(self, item: bytes) -> WorkerReply:
        """Return the reply for a pickled item. Raises WorkerError if the item has none."""

    def close(self) -> None:
        """End a call under way, from another thread. No call follows."""


class _Later:
    """Class of LATER."""


LATER = _Later()  # yielded by `items` instead of an item, to be asked again after the next outcome


class PlayWorkers(Generic[T, R]):
    """Workers that stay for several calls of `plays`, one after the other, until `close`.

    workers, function, within, dask: as of `plays_over`, which has the same errors.
    """

    def __init__(
        self,
        workers: int | None,
        function: Callable[[T], R],
        *,
        within: float | None = None,
        dask: Any = None,
    ) -> None:
        if workers is not None and (type(workers) is not int or workers < 0):
            raise LabError(f"workers: expected a number of processes, not {workers!r}")
        checked_limit(within)
        if not callable(function):
            raise LabError(f"expected a function, not {function!r}")
        if workers == 0 and dask is not None:
            raise LabError(
                "workers: 0 is this process alone, which a dask cluster is not; leave one of them out"
            )
        self._function = function
        self._within = within
        self._count = 0
        self._slots: list[_Slot[T, R]] = []
        self._stale: set[_Slot[T, R]] = set()  # busy with items whose outcomes nobody reads any more
        self._done: SimpleQueue[tuple[_Slot[T, R], ItemOutcome[T, R] | BaseException]] = SimpleQueue()
        self._disconnect: Callable[[], object] = lambda: None
        if workers == 0:
            return
        data = pickled(function)
        if dask is None:
            self._caller: Callable[[], ItemCaller] = partial(_Process, data, within)
            self._count = workers or usable_cores()
        else:
            from labkit.hunt.workers.dask_workers import Cluster

            cluster = Cluster(dask, data, within)
            self._caller, self._disconnect = cluster.caller, cluster.close
            self._count = workers or cluster.threads

    def plays(self, items: Iterable[T | _Later]) -> Generator[ItemOutcome[T, R], None, None]:
        """Call the function with each item, and yield the outcomes as they come.

        A caller that ends the iterator early gets no outcome of what is under way, which goes on.
        """
        if not self._count:
            yield from _here(self._function, items, self._within)
            return
        left = iter(items)
        idle = [each for each in self._slots if each not in self._stale]
        busy: set[_Slot[T, R]] = set()
        try:
            while True:
                while idle or len(self._slots) < self._count:
                    item = next(left, LATER)
                    if isinstance(item, _Later):
                        break
                    busy.add(self._begin(item, idle))
                if not (busy or self._stale):
                    return
                slot, outcome = _next(self._done)
                idle.append(slot)
                if slot in self._stale:
                    self._stale.remove(slot)
                    continue
                busy.remove(slot)
                if isinstance(outcome, BaseException):
                    raise outcome
                yield outcome
        finally:
            self._stale |= busy

    def close(self) -> None:
        """End the calls under way, and the processes."""
        try:
            for each in self._slots:
                each.close()
        finally:
            self._disconnect()

    def _begin(self, item: T, idle: list[_Slot[T, R]]) -> _Slot[T, R]:
        """Have an item called by an idle slot or a new one, and return the slot."""
        import cloudpickle

        data = _dumped(cloudpickle, item, "an item")
        if not idle:
            idle.append(_Slot(self._caller(), self._done))
            self._slots.append(idle[-1])
        slot = idle.pop()
        slot.begin(item, data)
        return slot


def plays_over(
    workers: int | None,
    function: Callable[[T], R],
    items: Iterable[T],
    *,
    within: float | None = None,
    dask: Any = None,
) -> Generator[ItemOutcome[T, R], None, None]:
    """Call a function with each item, in several processes, and yield the outcomes as they come.

    workers: number of processes; None for one for each core, or each thread of the cluster; 0 to call the function in
    this process and thread. function: of one item; it and the items are pickled. within: limit of one
    call, in real seconds, None for none. dask: address of a scheduler, a Client or a cluster, to use its workers. The
    module's docstring says what holds for errors, dead workers and interrupts.
    Raises LabError for other arguments, a function or an item that cannot be pickled, and if no process starts.
    """
    return _played(PlayWorkers(workers, function, within=within, dask=dask), items)


def _played(pool: PlayWorkers[T, R], items: Iterable[T]) -> Generator[ItemOutcome[T, R], None, None]:
    with closing(pool):
        yield from pool.plays(items)


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pickled(function: Callable[..., object]) -> bytes:
    """Return a pickled function, by value if another process may be unable to import its module.

    Raises LabError for a function that cannot be pickled, naming the reason.
    """
    with needs("lab"):
        import cloudpickle
    with pickled_by_value(cloudpickle, {each for each in _modules(function) if not _is_installed(each)}):
        return _dumped(cloudpickle, function, "the function")


def _dumped(cloudpickle: Any, value: object, name: str) -> bytes:
    try:
        return cast(bytes, cloudpickle.dumps(value))
    except Exception as error:  # pickling a user's object may raise anything
        raise LabError(f"{name} cannot travel to another process: {error}") from error


def _modules(function: object) -> set[str]:
    """Return the names of the modules of a function and of what it holds: partial, story, bound method."""
    found: set[str] = set()
    seen: set[int] = set()
    pending = [function]
    while pending:
        each = pending.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        module = getattr(each if callable(each) else type(each), "__module__", None)
        if isinstance(module, str):
            found.add(module)
        if isinstance(each, partial):
            pending += [each.func, *each.args, *each.keywords.values()]
        elif isinstance(each, list | tuple | set):
            pending += each
        elif isinstance(each, dict):
            pending += each.values()
        elif callable(each):
            pending += [getattr(each, "__self__", None), *getattr(each, "__dict__", {}).values()]
    return found


def _is_installed(name: str) -> bool:
    """Return whether every process can import a module: the standard library, installed packages, built-in ones."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if name == "__main__" or name.partition(".")[0] in sys.stdlib_module_names:
        return True  # cloudpickle itself pickles what __main__ defines by value
    return file is not None and "site-packages" in Path(file).parts


def _here(
    function: Callable[[T], R], items: Iterable[T | _Later], within: float | None
) -> Generator[ItemOutcome[T, R], None, None]:
    """Call the function in this process."""
    for item in items:
        if isinstance(item, _Later):  # each outcome has come already
            continue
        began = time.perf_counter()
        try:
            with time_limit(within):
                result = function(item)
            outcome = ItemOutcome(item, result, seconds=time.perf_counter() - began)
        except Exception as error:  # noqa: BLE001  the caller's, as from another process
            late = isinstance(error, WorkerError) and error.late
            seconds = time.perf_counter() - began
            outcome = ItemOutcome(item, None, error, traceback.format_exc(), seconds=seconds, late=late)
        yield outcome


def _next(done: SimpleQueue[T]) -> T:
    """Return the next entry; a KeyboardInterrupt is raised meanwhile, which an endless wait delays on some systems."""
    while True:
        tick()
        with suppress(Empty):
            return done.get(timeout=PERIOD)


class _Slot(Generic[T, R]):
    """Thread that has one caller call one item after the other."""

    def __init__(self, caller: ItemCaller, done: SimpleQueue[Any]) -> None:
        self._caller = caller
        self._done = done
        self._items: SimpleQueue[tuple[T, bytes] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="labkit plays", daemon=True)
        self._thread.start()

    def begin(self, item: T, data: bytes) -> None:
        """Have an item called. data: the item, pickled."""
        self._items.put((item, data))

    def close(self) -> None:
        """End the call under way, and the thread."""
        self._items.put(None)
        self._caller.close()
        self._thread.join()

    def _run(self) -> None:
        while (given := self._items.get()) is not None:
            try:
                outcome: object = _outcome(given[0], partial(self._caller.call, given[1]))
            except BaseException as error:  # noqa: BLE001  raised in the thread that reads the outcomes
                outcome = error
            self._done.put((self, outcome))


def _outcome(item: T, call: Callable[[], WorkerReply]) -> ItemOutcome[T, Any]:
    """Return the outcome of an item from its reply."""
    try:
        reply = call()
    except WorkerError as error:
        return ItemOutcome(item, error=error, late=error.late, died=not error.late)
    if reply.error is not None:
        return ItemOutcome(item, None, pickle.loads(reply.error), reply.traceback, reply.seconds)
    try:
        return ItemOutcome(item, pickle.loads(reply.result), seconds=reply.seconds)
    except Exception as error:  # noqa: BLE001  unpickling a user's object may raise anything
        return ItemOutcome(item, error=LabError(f"the result cannot be read: {error}"), seconds=reply.seconds)


class _Process:
    """Caller that has one worker process at a time, and replaces one that has ended."""

    def __init__(self, function: bytes, within: float | None) -> None:
        self._function = function
        self._within = within
        self._lock = threading.Lock()
        self._closed = False
        self._worker: Worker | None = Worker(function)

    def call(self, item: bytes) -> WorkerReply:
        """Call an item; again in a new process if the first one ended by itself."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._usable().call(item, self._within)
            except WorkerError as error:
                if error.late or attempt == ATTEMPTS or self._closed:
                    raise
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Kill the process. A call under way raises WorkerError."""
        with self._lock:
            self._closed = True
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            worker.close()

    def _usable(self) -> Worker:
        with self._lock:
            if self._closed:
                raise WorkerError("the iterator of the outcomes was closed")
            if self._worker is None or not self._worker.is_usable:
                if self._worker is not None:
                    self._worker.close()
                self._worker = Worker(self._function)
            return self._worker
