"""Runs of fleets that the lab's process performs for other ones, and their streams."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias

from labkit.control.fleet_run_data import (
    DeviceState,
    FaultCount,
    FleetRunBegun,
    FleetRunInterval,
    FleetRunState,
    described_credentials,
)
from labkit.control.fleet_runs import FleetRunsControl
from labkit.core.errors import LabError, LabkitError, UnknownError
from labkit.fleet.local_run import LocalFleetRun
from labkit.fleet.run_faults import RunFaults

KEPT = 10  # ended runs that outlive their clients; the oldest is forgotten
ACTIVE = 32  # runs at once, as on a running clock

FleetRunEvent: TypeAlias = FleetRunBegun | FleetRunInterval | FleetRunState


class StartedRun:
    """A run in a task of its own. outlives: whether it continues when the client that started it has gone."""

    def __init__(
        self, fleet_run: LocalFleetRun, perform: Callable[[], Awaitable[None]], outlives: bool
    ) -> None:
        self.id = secrets.token_hex(8)
        self.fleet_run = fleet_run
        self.outlives = outlives
        self.changed = asyncio.Event()  # set, and replaced, at each interval and at the end
        self._error: Exception | None = None
        fleet_run.on_tick(lambda tick: self._notify())
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

    def state(self) -> FleetRunState:
        """Return the state of the run."""
        fleet_run, error = self.fleet_run, self._error
        real, cpu = fleet_run.timings.so_far()
        known = isinstance(error, LabkitError)
        return FleetRunState(
            run=self.id,
            product=fleet_run.plan.product,
            count=len(fleet_run.plan.members),
            over=self.over,
            paused=fleet_run.paused,
            began=fleet_run.began,
            rate=fleet_run.rate,
            error=None if error is None else str(error) if known else f"{type(error).__name__}: {error}",
            kind=type(error).__name__ if known else None,
            failures=list(fleet_run.failures),
            marks=list(fleet_run.marks),
            written=dict(fleet_run.written),
            devices=[
                DeviceState(
                    number=number,
                    state=each.state,
                    epoch=each.epoch,
                    notes=dict(each.notes),
                    credentials=described_credentials(each.credentials),
                )
                for number, each in fleet_run.begun.items()
            ],
            accounts=fleet_run.accounts.states(),
            faults=_counts(fleet_run.plan.faults),
            real=real,
            cpu=cpu,
            sending=fleet_run.timings.latency.pairs(),
        )


def _counts(faults: object) -> list[FaultCount]:
    if not isinstance(faults, RunFaults):
        return []
    return [
        FaultCount(fault=fault, device=number, seen=each.seen, hits=each.hits)
        for (fault, number), each in faults.counts.items()
    ]


class FleetRunStream(AsyncIterator[FleetRunEvent]):
    """A run from its beginning: that, each interval, and its state at the end.

    close: called when the reader has gone.
    """

    def __init__(self, started: StartedRun, close: Callable[[], object] = lambda: None) -> None:
        self._started = started
        self._close = close
        self._begun = self._ended = False
        self._ticks = self._rows = self._failures = self._marks = 0

    async def __anext__(self) -> FleetRunEvent:
        started, fleet_run = self._started, self._started.fleet_run
        while True:
            changed = started.changed
            if not self._begun:
                self._begun = True
                return FleetRunBegun(run=started.id, time=fleet_run.began)
            if self._ticks < len(fleet_run.ticks):
                return self._interval()
            if self._ended:
                raise StopAsyncIteration
            if started.over:
                self._ended = True
                return started.state()
            await changed.wait()

    def _interval(self) -> FleetRunInterval:
        fleet_run = self._started.fleet_run
        rows, failures, marks = (
            fleet_run.rows[self._rows :],
            fleet_run.failures[self._failures :],
            fleet_run.marks[self._marks :],
        )
        self._rows += len(rows)
        self._failures += len(failures)
        self._marks += len(marks)
        self._ticks += 1
        return FleetRunInterval.of(fleet_run.ticks[self._ticks - 1], rows, failures, marks)

    async def aclose(self) -> None:
        """End the stream."""
        self._close()


class StartedRuns:
    """The runs that the lab's process performs for other ones."""

    def __init__(self, runs: FleetRunsControl) -> None:
        self._runs = runs
        self._started: dict[str, StartedRun] = {}

    def start(
        self, fleet_run: LocalFleetRun, seconds: float, counted: bool, outlives: bool
    ) -> FleetRunStream:
        """Start a run, and return its stream, whose end ends a run that does not outlive its client."""
        if sum(not each.over for each in self._started.values()) >= ACTIVE:
            raise LabError(f"{ACTIVE} runs are in progress: end one of them first (fleets.stop)")
        started = StartedRun(fleet_run, lambda: self._runs.run(fleet_run, seconds, counted), outlives)
        ended = [each.id for each in self._started.values() if each.over]
        for each in ended[: max(len(ended) - KEPT, 0)]:
            del self._started[each]
        self._started[started.id] = started
        return FleetRunStream(started, lambda: self._leave(started))

    def _leave(self, started: StartedRun) -> None:
        if not started.outlives:
            started.fleet_run.stop()
            started.task.add_done_callback(lambda _: self._started.pop(started.id, None))

    def find(self, id: str) -> StartedRun:
        """Return a run. Raises UnknownError for an unknown one."""
        if id not in self._started:
            raise UnknownError(f"no run {id!r}; it may have ended with its client")
        return self._started[id]

    def all(self) -> list[StartedRun]:
        """Return the runs in progress, and those that have ended and outlived their clients."""
        return list(self._started.values())

    async def close(self) -> None:
        """End all runs."""
        tasks = [each.task for each in self._started.values() if not each.over]
        for each in self._started.values():
            each.fleet_run.stop()
        await asyncio.gather(*tasks, return_exceptions=True)
