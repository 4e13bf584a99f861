"""Runs of fleets as clients of the lab start and follow them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import NamedTuple, TypeAlias

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
from labkit.fleet.fleet_run import FleetRun
from labkit.fleet.local_run import LocalFleetRun
from labkit.fleet.run_faults import RunFaults

KEPT = 10  # ended runs that outlive their clients; the oldest is forgotten
ACTIVE = 32  # runs at once, as on a running clock

FleetRunEvent: TypeAlias = FleetRunBegun | FleetRunInterval | FleetRunState


class StartedRun(NamedTuple):
    """A run in a task of its own. outlives: whether it continues when the client that started it has gone."""

    fleet_run: LocalFleetRun
    task: asyncio.Task[None]
    outlives: bool


def state_of(fleet_run: FleetRun) -> FleetRunState:
    """Return the state of a run."""
    error = fleet_run.error
    real, cpu = fleet_run.timings.so_far()
    known = isinstance(error, LabkitError)
    return FleetRunState(
        run=fleet_run.id,
        product=fleet_run.plan.product,
        count=len(fleet_run.plan.members),
        over=fleet_run.ended,
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

    def __init__(self, fleet_run: FleetRun, close: Callable[[], object] = lambda: None) -> None:
        self._fleet_run = fleet_run
        self._close = close
        self._begun = self._ended = False
        self._ticks = self._rows = self._failures = self._marks = 0

    async def __anext__(self) -> FleetRunEvent:
        fleet_run = self._fleet_run
        while True:
            changed = fleet_run.changed
            if not self._begun:
                self._begun = True
                return FleetRunBegun(run=fleet_run.id, time=fleet_run.began)
            if self._ticks < len(fleet_run.ticks):
                return self._interval()
            if self._ended:
                raise StopAsyncIteration
            if fleet_run.ended:
                self._ended = True
                return state_of(fleet_run)
            await changed.wait()

    def _interval(self) -> FleetRunInterval:
        fleet_run = self._fleet_run
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
    """The runs of fleets that clients may start and follow. running: those in progress, the lab's own among them."""

    def __init__(self, runs: FleetRunsControl, running: Mapping[str, FleetRun]) -> None:
        self._runs = runs
        self._running = running
        self._started: dict[str, StartedRun] = {}

    def start(
        self, fleet_run: LocalFleetRun, seconds: float, counted: bool, outlives: bool
    ) -> FleetRunStream:
        """Start a run, and return its stream, whose end ends a run that does not outlive its client."""
        if sum(not each.task.done() for each in self._started.values()) >= ACTIVE:
            raise LabError(f"{ACTIVE} runs are in progress: end one of them first (fleets.stop)")

        async def perform() -> None:
            with suppress(Exception):  # its client gets it with the state
                await self._runs.run(fleet_run, seconds, counted)

        task = asyncio.get_running_loop().create_task(perform())
        ended = [id for id, each in self._started.items() if each.task.done()]
        for id in ended[: max(len(ended) - KEPT, 0)]:
            del self._started[id]
        self._started[fleet_run.id] = started = StartedRun(fleet_run, task, outlives)
        return FleetRunStream(fleet_run, lambda: self._leave(started))

    def _leave(self, started: StartedRun) -> None:
        if not started.outlives:
            started.fleet_run.stop()
            started.task.add_done_callback(lambda _: self._started.pop(started.fleet_run.id, None))

    def find(self, id: str) -> FleetRun:
        """Return a run. Raises UnknownError for an unknown one."""
        for each in self.all():
            if each.id == id:
                return each
        raise UnknownError(f"no run {id!r}; it may have ended with its client")

    def all(self) -> list[FleetRun]:
        """Return the runs in progress, and those that have ended and outlived their clients."""
        started = {id: each.fleet_run for id, each in self._started.items()}
        return list({**started, **self._running}.values())

    async def close(self) -> None:
        """End all runs."""
        tasks = [each.task for each in self._started.values() if not each.task.done()]
        for each in self._started.values():
            each.fleet_run.stop()
        await asyncio.gather(*tasks, return_exceptions=True)
