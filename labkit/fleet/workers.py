"""Runs a shard of a fleet in a worker process and reports its measurements to the coordinator.

A worker needs only the lab's address and the certificate of its CA: devices bring their credentials along. It keeps
lab time by its own system's clock. Its reports are plain data that can be added up.
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

from labkit.core.clock import Clock, Reading
from labkit.core.interrupts import SIGNALS
from labkit.core.loops import loop_factory
from labkit.fleet.accounts import Key, Sent
from labkit.fleet.device import Credentials
from labkit.fleet.ending import error_text, text_of
from labkit.fleet.live import Live
from labkit.fleet.measures import Tick
from labkit.fleet.plan import Failure, FaultKey, Plan, Row
from labkit.fleet.play import Play

PLAIN = frozenset({str, int, float, bool, type(None)})
PLAYS = "labkit-fleets"  # name of the dask worker's extension that holds its shards


@dataclass(frozen=True, slots=True)
class Share:
    """Devices for one worker.

    topic: of its messages; number: of the shard; attempt: from 1, incremented whenever its worker dies; until: lab
    time; reading: of the lab's clock.
    """

    topic: str
    number: int
    attempt: int
    plan: Plan
    until: float | None
    reading: Reading

    @property
    def key(self) -> tuple[str, int]:
        return (self.topic, self.number)


@dataclass(slots=True)
class Message:
    """A worker's report on its shard since the previous one.

    shown: state, epoch and notes of devices where they changed; faults: as DeviceFaults.take; error: why the shard
    ended; final: the last report.
    """

    share: int
    attempt: int
    tick: dict[str, Any] | None = None
    failures: list[Failure] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    sent: dict[Key, Sent] = field(default_factory=dict)
    shown: dict[int, dict[str, object]] = field(default_factory=dict)
    faults: Mapping[FaultKey, tuple[int, int]] = field(default_factory=dict)
    credentials: dict[int, Credentials] = field(default_factory=dict)
    cpu: float = 0.0
    latency: bytes | None = None  # of answers, in real time; in the final report
    error: str | None = None
    final: bool = False


@dataclass(frozen=True, slots=True)
class Noted:
    """A note of a device, of any class. data: pickled, None if it cannot be; text: shown in that case."""

    data: bytes | None
    text: str

    @classmethod
    def of(cls, value: object) -> object:
        """Return the value prepared for pickling; a plain value is returned unchanged."""
        if type(value) in PLAIN:
            return value
        try:
            data: bytes | None = pickle.dumps(value)
        except Exception:  # noqa: BLE001  its class is not ours
            data = None
        return cls(data, text_of(value, repr))

    @staticmethod
    def opened(value: object) -> object:
        """Return the value given to `of`, or its text if it cannot be unpickled."""
        if not isinstance(value, Noted):
            return value
        try:
            return value.text if value.data is None else pickle.loads(value.data)  # from our own workers
        except Exception:  # noqa: BLE001  its class is not known here
            return value.text


class Report:
    """Sends the reports of a shard, one per tick."""

    def __init__(self, share: Share, play: Play, tell: Callable[[bytes], object]) -> None:
        self._share = share
        self._play = play
        self._tell = tell
        self._shown: dict[int, dict[str, object]] = {}
        self._failures = 0
        self._rows = 0
        self._cpu = time.process_time()
        play.on_tick(self._tick)

    def _tick(self, tick: Tick) -> None:
        message = self._message()
        message.tick = tick.encode()
        self._tell(pickle.dumps(message))

    def end(self, error: str | None) -> None:
        message = self._message()
        message.final, message.error = True, error
        message.credentials = self._play.credentials()
        message.latency = self._play.timings.latency.encode()
        self._tell(pickle.dumps(message))

    def _message(self) -> Message:
        play = self._play
        shown = {
            number: {name: Noted.of(value) for name, value in play.shown(number).items()}
            for number in play.begun
        }
        changed = {number: each for number, each in shown.items() if self._shown.get(number) != each}
        self._shown = shown
        message = Message(self._share.number, self._share.attempt, shown=changed)
        message.failures, self._failures = play.failures[self._failures :], len(play.failures)
        message.rows = play.rows[:]
        play.rows.clear()
        message.sent = play.accounts.take()
        if play.plan.faults is not None:
            message.faults = play.plan.faults.take()
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

    share: Share = cloudpickle.loads(payload)
    plays: dict[tuple[str, int], Playing] = dask_worker.extensions.setdefault(PLAYS, {})

    def tell(data: bytes) -> None:
        dask_worker.log_event(share.topic, data)

    playing = plays[share.key] = Playing(share, tell)
    threading.Thread(target=playing.run, name=f"labkit fleet {share.number}", daemon=True).start()
    return os.getpid()


def command(key: tuple[str, int], name: str, args: tuple[float, ...], dask_worker: Any) -> None:
    """Call `stop`, `pause`, `resume` or `scale_arrivals` on a running shard; do nothing if it is over."""
    playing: Playing | None = dask_worker.extensions.get(PLAYS, {}).get(key)
    if playing is not None:
        playing.command(name, *args)


class Playing:
    """A shard that runs on its own event loop and thread."""

    def __init__(self, share: Share, tell: Callable[[bytes], object]) -> None:
        self._share = share
        self._tell = tell
        self._lock = threading.Lock()
        self._pending: list[tuple[str, tuple[float, ...]]] = []  # commands that came before the run existed
        self._play: Play | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self) -> None:
        _allow_descriptors()
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(self._run())

    def command(self, name: str, *args: float) -> None:
        with self._lock:
            if self._play is None or self._loop is None:
                self._pending.append((name, args))
            elif not self._loop.is_closed():
                self._loop.call_soon_threadsafe(getattr(self._play, name), *args)

    async def _run(self) -> None:
        clock = Clock.from_reading(self._share.reading)
        play = Play(self._share.plan, Live(clock))
        report = Report(self._share, play, self._tell)
        with self._lock:
            self._play, self._loop = play, asyncio.get_running_loop()
            for name, args in self._pending:
                getattr(play, name)(*args)
        error = None
        try:
            await play.run(self._share.until)
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
