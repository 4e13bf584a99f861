"""Runs of fleets that the lab's process performs for other ones, and their streams."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable

from labkit.control.fleet_runs import FleetRunsControl
from labkit.control.play_data import (
    DeviceState,
    FaultCount,
    PlayBegun,
    PlayInterval,
    PlayState,
    described_credentials,
)
from labkit.core.errors import LabError, LabkitError, UnknownError
from labkit.fleet.play import Play
from labkit.fleet.run_faults import RunFaults

KEPT = 10  # ended runs that outlive their clients; the oldest is forgotten
ACTIVE = 32  # runs at once, as on a running clock

PlayEvent = PlayBegun | PlayInterval | PlayState


class StartedPlay:
    """A run in a task of its own. outlives: whether it continues when the client that started it has gone."""

    def __init__(self, play: Play, perform: Callable[[], Awaitable[None]], outlives: bool) -> None:
        self.id = secrets.token_hex(8)
        self.play = play
        self.outlives = outlives
        self.changed = asyncio.Event()  # set, and replaced, at each interval and at the end
        self._error: Exception | None = None
        play.on_tick(lambda tick: self._notify())
        self.task = asyncio.get_running_loop().create_task(self._perform(perform))

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return self.task.done()

    async def _perform(self, perform: Callable[[], Awaitable[None]]) -> None:
        try:
            await perform()
        except Exception as error:  # noqa: BLE001  its client gets it
            self._error = error
        finally:
            asyncio.get_running_loop().call_soon(self._notify)  # once the task is done

    def _notify(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def state(self) -> PlayState:
        """Return the state of the run."""
        play, error = self.play, self._error
        real, cpu = play.timings.so_far()
        known = isinstance(error, LabkitError)
        return PlayState(
            run=self.id,
            product=play.plan.product,
            count=len(play.plan.members),
            over=self.over,
            paused=play.paused,
            began=play.began,
            rate=play.rate,
            error=None if error is None else str(error) if known else f"{type(error).__name__}: {error}",
            kind=type(error).__name__ if known else None,
            failures=list(play.failures),
            marks=list(play.marks),
            written=dict(play.written),
            devices=[
                DeviceState(
                    number=number,
                    state=each.state,
                    epoch=each.epoch,
                    notes=dict(each.notes),
                    credentials=described_credentials(each.credentials),
                )
                for number, each in play.begun.items()
            ],
            accounts=play.accounts.states(),
            faults=_counts(play.plan.faults),
            real=real,
            cpu=cpu,
            sending=play.timings.latency.pairs(),
        )


def _counts(faults: object) -> list[FaultCount]:
    if not isinstance(faults, RunFaults):
        return []
    return [
        FaultCount(fault=fault, device=number, seen=each.seen, hits=each.hits)
        for (fault, number), each in faults.counts.items()
    ]


class PlayStream(AsyncIterator[PlayEvent]):
    """A run from its beginning: that, each interval, and its state at the end.

    close: called when the reader has gone.
    """

    def __init__(self, started: StartedPlay, close: Callable[[], object] = lambda: None) -> None:
        self._started = started
        self._close = close
        self._begun = self._ended = False
        self._ticks = self._rows = self._failures = self._marks = 0

    async def __anext__(self) -> PlayEvent:
        started, play = self._started, self._started.play
        while True:
            changed = started.changed
            if not self._begun:
                self._begun = True
                return PlayBegun(run=started.id, time=play.began)
            if self._ticks < len(play.ticks):
                return self._interval()
            if self._ended:
                raise StopAsyncIteration
            if started.over:
                self._ended = True
                return started.state()
            await changed.wait()

    def _interval(self) -> PlayInterval:
        play = self._started.play
        rows, failures, marks = (
            play.rows[self._rows :],
            play.failures[self._failures :],
            play.marks[self._marks :],
        )
        self._rows += len(rows)
        self._failures += len(failures)
        self._marks += len(marks)
        self._ticks += 1
        return PlayInterval.of(play.ticks[self._ticks - 1], rows, failures, marks)

    async def aclose(self) -> None:
        """End the stream."""
        self._close()


class StartedPlays:
    """The runs that the lab's process performs for other ones."""

    def __init__(self, runs: FleetRunsControl) -> None:
        self._runs = runs
        self._started: dict[str, StartedPlay] = {}

    def start(self, play: Play, seconds: float, counted: bool, outlives: bool) -> PlayStream:
        """Start a run, and return its stream, whose end ends a run that does not outlive its client."""
        if sum(not each.over for each in self._started.values()) >= ACTIVE:
            raise LabError(f"{ACTIVE} runs are in progress: end one of them first (plays.stop)")
        started = StartedPlay(play, lambda: self._runs.run(play, seconds, counted), outlives)
        ended = [each.id for each in self._started.values() if each.over]
        for each in ended[: max(len(ended) - KEPT, 0)]:
            del self._started[each]
        self._started[started.id] = started
        return PlayStream(started, lambda: self._leave(started))

    def _leave(self, started: StartedPlay) -> None:
        if not started.outlives:
            started.play.stop()
            started.task.add_done_callback(lambda _: self._started.pop(started.id, None))

    def find(self, id: str) -> StartedPlay:
        """Return a run. Raises UnknownError for an unknown one."""
        if id not in self._started:
            raise UnknownError(f"no run {id!r}; it may have ended with its client")
        return self._started[id]

    def all(self) -> list[StartedPlay]:
        """Return the runs in progress, and those that have ended and outlived their clients."""
        return list(self._started.values())

    async def close(self) -> None:
        """End all runs."""
        tasks = [each.task for each in self._started.values() if not each.over]
        for each in self._started.values():
            each.play.stop()
        await asyncio.gather(*tasks, return_exceptions=True)
