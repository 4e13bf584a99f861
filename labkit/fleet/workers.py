"""Runs a shard of a fleet in a worker process and reports its measurements to the coordinator.

A worker needs only the lab's address, the certificate of its CA, and the devices with their credentials. It computes
lab time from the clock of its own system. Its reports are plain data that can be added up.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.core.interrupts import SIGNALS
from labkit.core.process import loop_factory
from labkit.fleet.accounts import Key, Sent
from labkit.fleet.device import Credentials
from labkit.fleet.ending import error_text, text_of
from labkit.fleet.live import Live
from labkit.fleet.local_run import LocalFleetRun
from labkit.fleet.measures import Tick
from labkit.fleet.plan import FaultKey, Plan, RequestRow
from labkit.labtime.clock import Clock, Reading
from labkit.labtime.device_scheduler import Failure

PLAIN = frozenset({str, int, float, bool, type(None)})  # types of notes that every process can unpickle
SHARD_RUNS = "labkit-fleets"  # name of the dask worker's extension that holds its shards


@dataclass(frozen=True, slots=True)
class ShardTask:
    """Devices for one worker, sent to it at its start.

    topic: dask topic of its messages; number: of the shard; attempt: from 1, incremented when its worker dies; until:
    lab time; reading: of the lab's clock.
    """

    topic: str
    number: int
    attempt: int
    plan: Plan
    until: float | None
    reading: Reading

    @property
    def key(self) -> tuple[str, int]:
        """Key of the running shard in its worker's process."""
        return (self.topic, self.number)


@dataclass(slots=True)
class Message:
    """Report of a worker on its shard since the previous report.

    shown: state, epoch and notes of the devices that changed; sent: as Accounts.take; faults: as DeviceFaults.take;
    written: aliases that devices wrote for the first time; cpu: seconds; error: why the
    shard ended; final: whether this is the last report.
    """

    shard: int
    attempt: int
    tick: dict[str, Any] | None = None
    failures: list[Failure] = field(default_factory=list)
    rows: list[RequestRow] = field(default_factory=list)
    sent: dict[Key, Sent] = field(default_factory=dict)
    shown: dict[int, dict[str, object]] = field(default_factory=dict)
    faults: Mapping[FaultKey, tuple[int, int]] = field(default_factory=dict)
    credentials: dict[int, Credentials] = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    cpu: float = 0.0
    latency: bytes | None = None  # of answers, in real time; in the final report
    error: str | None = None
    final: bool = False


@dataclass(frozen=True, slots=True)
class PickledNote:
    """Note of a device, of any class. data: pickled, None if that fails; text: what is shown then."""

    data: bytes | None
    text: str

    @classmethod
    def of(cls, value: object) -> object:
        """Return a value that can be pickled: plain values unchanged, others as a PickledNote."""
        if type(value) in PLAIN:
            return value
        try:
            data: bytes | None = pickle.dumps(value)
        except Exception:  # noqa: BLE001  a user's class may raise anything
            data = None
        return cls(data, text_of(value, repr))

    @staticmethod
    def unpickled(value: object) -> object:
        """Return the value given to `of`, or its text if it cannot be unpickled."""
        if not isinstance(value, PickledNote):
            return value
        try:
            return value.text if value.data is None else pickle.loads(value.data)  # from our own workers
        except Exception:  # noqa: BLE001  its class may be missing in this process
            return value.text


class ShardReport:
    """Sender of a shard's reports, one per tick. send: passes a pickled Message to the coordinator."""

    def __init__(self, shard: ShardTask, fleet_run: LocalFleetRun, send: Callable[[bytes], object]) -> None:
        self._shard = shard
        self._fleet_run = fleet_run
        self._send = send
        self._shown: dict[int, dict[str, object]] = {}
        self._failures = 0
        self._rows = 0
        self._written: set[str] = set()
        self._cpu = time.process_time()
        fleet_run.on_tick(self._tick)

    def _tick(self, tick: Tick) -> None:
        message = self._message()
        message.tick = tick.encode()
        self._send(pickle.dumps(message))

    def end(self, error: str | None) -> None:
        """Send the final report. error: why the shard ended early, None if it did not."""
        message = self._message()
        message.final, message.error = True, error
        message.credentials = self._fleet_run.credentials()
        message.latency = self._fleet_run.timings.latency.encode()
        self._send(pickle.dumps(message))

    def _message(self) -> Message:
        fleet_run = self._fleet_run
        shown = {
            number: {name: PickledNote.of(value) for name, value in fleet_run.shown(number).items()}
            for number in fleet_run.begun
        }
        changed = {number: each for number, each in shown.items() if self._shown.get(number) != each}
        self._shown = shown
        message = Message(self._shard.number, self._shard.attempt, shown=changed)
        message.failures, self._failures = fleet_run.failures[self._failures :], len(fleet_run.failures)
        message.rows = fleet_run.rows[:]
        fleet_run.rows.clear()
        message.sent = fleet_run.accounts.take()
        message.written = frozenset(fleet_run.written.keys() - self._written)
        self._written |= message.written
        if fleet_run.plan.faults is not None:
            message.faults = fleet_run.plan.faults.take()
        cpu = time.process_time()
        message.cpu, self._cpu = cpu - self._cpu, cpu
        return message


def dask_setup(worker: object) -> None:
    """Ignore SIGINT and SIGTERM in a worker of a local cluster: dask calls this when the worker starts.

    A terminal, a kernel and a service manager send them to all processes of a lab, but the lab's own process needs the
    workers to end its run.
    """
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)


def ready() -> int:
    """Import the modules that a run needs, which may take seconds. Return the worker's process id."""
    import cloudpickle  # noqa: F401

    return os.getpid()


def begin(payload: bytes, dask_worker: Any) -> int:
    """Run a shard in a thread of this worker, and return the process id. Called on the worker's event loop."""
    import cloudpickle

    shard: ShardTask = cloudpickle.loads(payload)
    shard_runs: dict[tuple[str, int], ShardRun] = dask_worker.extensions.setdefault(SHARD_RUNS, {})

    def send(data: bytes) -> None:
        dask_worker.log_event(shard.topic, data)

    shard_run = shard_runs[shard.key] = ShardRun(shard, send)
    threading.Thread(target=shard_run.run, name=f"labkit fleet {shard.number}", daemon=True).start()
    return os.getpid()


def command(key: tuple[str, int], name: str, args: tuple[float, ...], dask_worker: Any) -> None:
    """Call `stop`, `pause`, `resume` or `scale_arrivals` on a running shard; do nothing if it is over."""
    shard_run: ShardRun | None = dask_worker.extensions.get(SHARD_RUNS, {}).get(key)
    if shard_run is not None:
        shard_run.command(name, *args)


class ShardRun:
    """Running shard, in its own thread with its own event loop."""

    def __init__(self, shard: ShardTask, send: Callable[[bytes], object]) -> None:
        self._shard = shard
        self._send = send
        self._lock = threading.Lock()
        self._pending: list[tuple[str, tuple[float, ...]]] = []  # commands received before the run began
        self._fleet_run: LocalFleetRun | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self) -> None:
        """Run the shard in the current thread until it is over."""
        _allow_descriptors()
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(self._run())

    def command(self, name: str, *args: float) -> None:
        """Call a method of the run in its own thread, or when the run begins. Thread-safe."""
        with self._lock:
            if self._fleet_run is None or self._loop is None:
                self._pending.append((name, args))
            elif not self._loop.is_closed():
                self._loop.call_soon_threadsafe(getattr(self._fleet_run, name), *args)

    async def _run(self) -> None:
        clock = Clock.from_reading(self._shard.reading)
        fleet_run = LocalFleetRun(self._shard.plan, Live(clock))
        report = ShardReport(self._shard, fleet_run, self._send)
        with self._lock:
            self._fleet_run, self._loop = fleet_run, asyncio.get_running_loop()
            for name, args in self._pending:
                getattr(fleet_run, name)(*args)
        error = None
        try:
            await fleet_run.run(self._shard.until)
        except Exception as raised:  # noqa: BLE001  reported to the coordinator
            error = error_text(raised)
        finally:
            clock.close()
            report.end(error)


def _allow_descriptors() -> None:
    """Raise this process' limit of open files to the system's maximum."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
