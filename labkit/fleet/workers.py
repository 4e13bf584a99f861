"""A share of a fleet in a worker process: what is asked of it, what it does, and what it tells meanwhile.

A worker needs the lab's address and the certificate of its CA, and nothing else of the lab: devices bring their
credentials along. It keeps lab time by its own system's clock. What it tells is plain data that adds up.
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
PLAYS = "labkit-fleets"  # the extension of a dask worker that holds what it plays


@dataclass(frozen=True, slots=True)
class Share:
    """Devices for one worker. topic: under which it tells; number: of the share; attempt: from 1, one more each time
    that a worker with it died; until: lab time; reading: of the lab's clock."""

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
    """What a worker tells of a share since it told last. shown: of devices whose state, epoch or notes changed; faults:
    how often each could have hit each device, and did; error: why the whole share ended; final: nothing comes after.
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
    latency: bytes | None = None  # of answers, in real time, once it is over
    error: str | None = None
    final: bool = False


@dataclass(frozen=True, slots=True)
class Noted:
    """What a device noted, of any class. data: None where it cannot travel; text: which stands for it then."""

    data: bytes | None
    text: str

    @classmethod
    def of(cls, value: object) -> object:
        """The value itself where it is plain."""
        if type(value) in PLAIN:
            return value
        try:
            data: bytes | None = pickle.dumps(value)
        except Exception:  # noqa: BLE001  its class is not ours
            data = None
        return cls(data, text_of(value, repr))

    @staticmethod
    def opened(value: object) -> object:
        """What `of` was given, or its text."""
        if not isinstance(value, Noted):
            return value
        try:
            return value.text if value.data is None else pickle.loads(value.data)  # from our own workers
        except Exception:  # noqa: BLE001  its class is not known here
            return value.text


class Report:
    """Tells what a play has done, tick by tick."""

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
    """Ignore SIGINT and SIGTERM in a worker of a cluster of ours: dask calls this as it starts.

    A terminal, a kernel and a service manager send them to all processes of a lab, whose own process needs the workers
    to end its run.
    """
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)


def ready() -> int:
    """Import in a worker what playing takes, which may last seconds; its process id."""
    import cloudpickle  # noqa: F401

    return os.getpid()


def begin(payload: bytes, dask_worker: Any) -> int:
    """Start to play a share in a thread of this worker; its process id. Runs on the worker's own loop."""
    import cloudpickle

    share: Share = cloudpickle.loads(payload)
    plays: dict[tuple[str, int], Playing] = dask_worker.extensions.setdefault(PLAYS, {})

    def tell(data: bytes) -> None:
        dask_worker.log_event(share.topic, data)

    playing = plays[share.key] = Playing(share, tell)
    threading.Thread(target=playing.run, name=f"labkit fleet {share.number}", daemon=True).start()
    return os.getpid()


def command(key: tuple[str, int], name: str, args: tuple[float, ...], dask_worker: Any) -> None:
    """Have a share `stop`, `pause`, `resume` or `scale_arrivals`; nothing where it is over."""
    playing: Playing | None = dask_worker.extensions.get(PLAYS, {}).get(key)
    if playing is not None:
        playing.command(name, *args)


class Playing:
    """A share that is played, on a loop and a thread of its own."""

    def __init__(self, share: Share, tell: Callable[[bytes], object]) -> None:
        self._share = share
        self._tell = tell
        self._lock = threading.Lock()
        self._waiting: list[
            tuple[str, tuple[float, ...]]
        ] = []  # commands that came before the play was there
        self._play: Play | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self) -> None:
        _allow_descriptors()
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(self._run())

    def command(self, name: str, *args: float) -> None:
        with self._lock:
            if self._play is None or self._loop is None:
                self._waiting.append((name, args))
            elif not self._loop.is_closed():
                self._loop.call_soon_threadsafe(getattr(self._play, name), *args)

    async def _run(self) -> None:
        clock = Clock.from_reading(self._share.reading)
        play = Play(self._share.plan, Live(clock))
        report = Report(self._share, play, self._tell)
        with self._lock:
            self._play, self._loop = play, asyncio.get_running_loop()
            for name, args in self._waiting:
                getattr(play, name)(*args)
        error = None
        try:
            await play.run(self._share.until)
        except Exception as raised:  # noqa: BLE001  whatever it is, who started the fleet learns of it
            error = error_text(raised)
        finally:
            clock.close()
            report.end(error)


def _allow_descriptors() -> None:
    """Let this process have as many connections as the system allows at all."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
