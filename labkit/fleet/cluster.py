"""Coordinator of a fleet whose devices run on the workers of a dask cluster, in several processes or machines.

It runs in the lab's process: it assigns shards, adds up the workers' reports, and restarts the devices of a dead worker
on another one, in a new epoch. Shards do not go through dask's task queue, which would restart them on its own: a shard
starts by a call in the worker's process, and runs in its own thread.
"""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from labkit.core.chance import fresh_seed
from labkit.core.errors import LabError
from labkit.core.host_time import monotonic
from labkit.core.words import counted
from labkit.fleet.cluster_client import ANSWERED, addresses, pickle_shard
from labkit.fleet.device import Credentials
from labkit.fleet.fleet_run import OwnFleetRun
from labkit.fleet.intervals import Intervals
from labkit.fleet.measures import Latency, Measures, Tick, Timings
from labkit.fleet.plan import OVER, Plan
from labkit.fleet.shapes import Delayed, Portion, scaled
from labkit.fleet.workers import Message, PickledNote, ShardTask, begin, command, ready
from labkit.labtime.clock import Clock

if TYPE_CHECKING:
    from distributed import Client


@dataclass(slots=True)
class Death:
    """Death of a worker during a run.

    time: lab time; devices: number of its unfinished devices; epoch: the highest epoch in which they restart, None
    until they do.
    """

    time: float
    worker: str
    pid: int
    devices: int
    epoch: int | None = None


@dataclass(slots=True)
class ShardRecord:
    """Shard of the fleet and its state. attempt: number of its starts; last: lab time of its worker's last report."""

    number: int
    plan: Plan
    worker: str | None = None  # address
    pid: int = 0
    attempt: int = 0
    last: float = 0.0
    states: Mapping[str, int] = field(default_factory=dict)
    death: Death | None = None  # of the previous worker
    done: bool = False


LIVENESS_INTERVAL = 0.5  # real seconds between two checks for dead workers
PATIENCE = 60.0  # real seconds to wait for a worker, and for shards to end after the run
REPORT_INTERVAL = 1.0  # real seconds between two reports of a worker, at most


class ClusterFleetRun(OwnFleetRun):
    """A run of devices on the workers of a cluster.

    shards: number of shards; close: called when the run is over.
    """

    def __init__(
        self, plan: Plan, clock: Clock, client: Client, shards: int, close: Callable[[], object]
    ) -> None:
        super().__init__(plan, clock)
        self.deaths: list[Death] = []
        self.timings: WorkerTimings = WorkerTimings()
        self.until: float | None = None
        self._client = client
        self._close = close
        self._topic = f"labkit-fleet-{fresh_seed():08x}"
        self._intervals = Intervals(self.began, plan.every)
        self._shown: dict[int, dict[str, object]] = {}
        self._credentials: dict[int, Credentials] = {}
        self._error: str | None = None
        self._stopped = False
        self._changed = asyncio.Event()
        count = min(shards, len(plan.members))
        others = {member.identity: member.credentials for member in plan.members}
        shard_plan = replace(plan, every=self._report_interval(), others=others)
        self._shards = [
            ShardRecord(number, replace(shard_plan, members=tuple(plan.members[number::count])))
            for number in range(count)
        ]

    async def prepare(self) -> None:
        """Make the workers import their modules now, so that it does not delay the run."""
        with suppress(OSError):  # a worker died, which _check_workers finds
            await self._ask(ready, within=PATIENCE)

    async def run(self, until: float | None) -> None:
        """Run the devices until lab time reaches `until`, all have ended, or `stop` is called.

        Raises LabError if a shard cannot be run, or if there is no worker for a minute.
        """
        self.began, self.until, self.timings = self.clock.now(), until, WorkerTimings()
        self._intervals = Intervals(self.began, self.plan.every)
        loop = asyncio.get_running_loop()

        def receive(event: tuple[float, bytes]) -> None:  # runs in a thread of dask
            with suppress(RuntimeError):  # the lab was closed
                loop.call_soon_threadsafe(self._receive, event[1])

        try:
            await asyncio.to_thread(self._client.subscribe_topic, self._topic, receive)
            await self._supervise()
        finally:
            self.timings.end()  # closing the cluster may take seconds
            await asyncio.to_thread(self._close_cluster)
            self._emit_rest()
            self._finished.set()
        if self._error is not None:
            raise LabError(f"workers: {self._error}")

    def stop(self) -> None:
        """End the run as soon as the workers have ended their devices."""
        self._stopped = True
        self._changed.set()

    def pause(self) -> None:
        """Pause all devices."""
        self.paused = True
        self._changed.set()

    def resume(self) -> None:
        """Resume all devices."""
        self.paused = False
        self._changed.set()

    def scale_arrivals(self, factor: float) -> None:
        """Multiply the arrival rate by `factor`: see LocalFleetRun.scale_arrivals."""
        scaled(self.arrivals, factor)
        self._changed.set()

    def shown(self, number: int) -> dict[str, object]:
        """Return state, epoch and notes of a device, as its worker reported last."""
        return self._shown.get(number, {"state": "waiting", "epoch": 0})

    def epochs(self) -> dict[int, int]:
        """Return the last epoch of each device that has begun, by number."""
        found = self._known_epochs()
        return {each.number: found[each.identity] for each in self.plan.members if each.identity in found}

    def credentials(self) -> dict[int, Credentials]:
        """Return the credentials of each device after the run, by number."""
        return dict(self._credentials)

    def workers(self) -> list[dict[str, object]]:
        """Return a table row for each shard, and one for each worker that died."""
        rows: list[dict[str, object]] = [
            {"worker": each.worker, "pid": each.pid, "devices": len(each.plan.members), "died": None}
            for each in self._shards
        ]
        rows += [
            {"worker": each.worker, "pid": each.pid, "devices": each.devices, "died": each.time}
            for each in self.deaths
        ]
        return rows

    # --- shards

    async def _supervise(self) -> None:
        """Start shards, restart the shards of dead workers, and send commands, until all shards are over."""
        sent, factor = (False, False), 1.0
        waited = monotonic()  # since when it has been waiting for a worker, or for the shards to end
        while not all(shard.done for shard in self._shards):
            alive = await self._check_workers()
            over = self._stopped or (self.until is not None and self.clock.now() >= self.until)
            orphans = [shard for shard in self._shards if shard.worker is None and not shard.done]
            if over:
                for shard in orphans:
                    shard.done = True
            elif alive:
                for shard in orphans:
                    await self._start(shard, min(alive, key=self._load))
            requested = (self._stopped, self.paused)
            if requested != sent:
                await self._command("stop" if self._stopped else "pause" if self.paused else "resume")
                sent = requested
            if self.arrivals is not None and self.arrivals.factor != factor:
                factor = self.arrivals.factor
                await self._command("scale_arrivals", factor)
            if not over and not orphans and alive is not None:
                waited = monotonic()
            elif monotonic() - waited > PATIENCE:
                state = "the scheduler is gone" if alive is None else f"{counted(len(alive), 'worker')} there"
                self._error = self._error or f"no answer for {PATIENCE:.0f} s, {state}"
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), LIVENESS_INTERVAL)
            self._changed.clear()

    async def _check_workers(self) -> Collection[str] | None:
        """Reassign the shards of workers that are missing from two successive answers of the scheduler.

        Return the addresses of the live workers, None while the scheduler does not answer.
        """
        alive = await asyncio.to_thread(addresses, self._client)
        missing = self._missing(alive)
        if missing:
            await asyncio.sleep(LIVENESS_INTERVAL)
            alive = await asyncio.to_thread(addresses, self._client)
            for shard in missing & self._missing(alive):
                self._reassign(self._shards[shard])
        return alive

    def _missing(self, alive: Collection[str] | None) -> set[int]:
        """Return the numbers of the running shards whose workers are not in `alive`."""
        if alive is None:
            return set()
        running = (shard for shard in self._shards if shard.worker is not None and not shard.done)
        return {shard.number for shard in running if shard.worker not in alive}

    def _load(self, address: str) -> int:
        return sum(shard.worker == address for shard in self._shards if not shard.done)

    def _reassign(self, shard: ShardRecord) -> None:
        """Release the shard of a dead worker: another worker starts its devices in a new epoch."""
        assert shard.worker is not None
        epochs, members = self._known_epochs(), []
        for member in shard.plan.members:
            state = str(self.shown(member.number)["state"])
            known = epochs.get(member.identity, 0)
            restarted = replace(member, epoch=max(known + 1, member.epoch))
            members.append(replace(member, state=state) if state in OVER else restarted)
            if known and not members[-1].over:
                self.accounts.broken(member.identity, known)
        unfinished = sum(not member.over for member in members)
        shard.death = Death(self.clock.now(), shard.worker, shard.pid, unfinished)
        self.deaths.append(shard.death)
        shard.plan = replace(shard.plan, members=tuple(members))
        shard.worker, shard.states = None, Counter(member.state for member in members)
        shard.done = not unfinished

    def _known_epochs(self) -> dict[str, int]:
        """Return the last known epoch of each device, by identity."""
        found = self.accounts.epochs()
        for member in self.plan.members:
            reported = self._shown.get(member.number, {}).get("epoch", 0)
            assert isinstance(reported, int)
            if reported:
                found[member.identity] = max(found.get(member.identity, 0), reported)
        return found

    async def _start(self, shard: ShardRecord, worker: str) -> None:
        shard.attempt += 1
        shard.last = self.clock.now()
        plan = shard.plan
        if plan.devices is not None:
            portion = Portion(plan.devices, shard.number, len(self._shards))
            plan = replace(plan, devices=Delayed(portion, shard.last - self.began))
        if plan.arrivals is not None:
            plan = replace(plan, arrivals=Delayed(plan.arrivals, shard.last - self.began))
        payload = pickle_shard(
            ShardTask(self._topic, shard.number, shard.attempt, plan, self.until, self.clock.reading())
        )
        shard.worker, shard.states = worker, Counter(member.state for member in plan.members)
        try:
            answers = await self._ask(begin, payload, worker=worker)
        except OSError:  # the worker died, which _check_workers finds
            return
        except Exception as error:  # noqa: BLE001  a user's class may raise anything when it is unpickled
            self._error, shard.done, self._stopped = f"{type(error).__name__}: {error}", True, True
            return
        shard.pid = answers[worker]
        if shard.death is not None:
            shard.death.epoch = max(member.epoch for member in plan.members if not member.over)
        if self.paused:
            await self._command("pause")
        if self.arrivals is not None and self.arrivals.factor != 1:
            await self._command("scale_arrivals", self.arrivals.factor)

    async def _command(self, name: str, *args: float) -> None:
        calls = [
            self._ask(command, (self._topic, shard.number), name, args, worker=shard.worker)
            for shard in self._shards
            if shard.worker is not None and not shard.done
        ]
        await asyncio.gather(*calls, return_exceptions=True)  # _check_workers finds the dead

    async def _ask(
        self,
        function: Callable[..., object],
        *args: object,
        worker: str | None = None,
        within: float = ANSWERED,
    ) -> Any:
        """Call a function in one worker or in all, and return the results by address. Raises OSError on a timeout."""
        # the public `run` has no timeout
        ask = partial(self._client.sync, self._client._run, callback_timeout=within)
        return await asyncio.to_thread(ask, function, *args, workers=None if worker is None else [worker])

    def _close_cluster(self) -> None:
        with suppress(OSError, TimeoutError):
            self._client.unsubscribe_topic(self._topic)
        self._close()

    # --- reports of the workers

    def _receive(self, data: bytes) -> None:
        message: Message = pickle.loads(data)  # from our own workers
        shard = self._shards[message.shard]
        self.failures += message.failures
        self.rows += message.rows
        self.accounts.put(message.sent)
        self.written.update(dict.fromkeys(message.written))
        self.timings.workers += message.cpu
        if message.latency is not None:
            self.timings.latency.merge(Latency.decode(message.latency))
        if message.tick is not None:
            tick = Tick.decode(message.tick)
            measures = Measures(tick.requests, Counter(tick.errors), tick.latency)
            self.total.merge(measures)
            since = shard.last if message.attempt == shard.attempt else tick.time - self._report_interval()
            self._intervals.add(measures, since, tick.time)
            if message.attempt == shard.attempt:
                shard.last, shard.states = max(shard.last, tick.time), tick.devices
        if self.plan.faults is not None:
            self.plan.faults.put(message.faults)
        # late figures of a dead worker are added up, but its states are outdated
        if message.attempt == shard.attempt:
            for each, shown in message.shown.items():
                self._shown[each] = {name: PickledNote.unpickled(value) for name, value in shown.items()}
            self._credentials.update(message.credentials)
            if message.final:
                shard.done = True
                self._error = self._error or message.error
                if message.error is not None:
                    self._stopped = True
                self._changed.set()
        self._emit_complete()

    def _emit_complete(self) -> None:
        """Emit the intervals that every running shard has reported."""
        while running := [shard for shard in self._shards if not shard.done]:
            when = self._intervals.due
            if any(shard.worker is None or shard.last < when for shard in running):
                return
            self._emit(when, self._intervals.take(), self._states())

    def _emit_rest(self) -> None:
        now = self.clock.now()
        for when, measures in self._intervals.rest(now if self.until is None else min(self.until, now)):
            self._emit(when, measures, self._states())

    def _states(self) -> Counter[str]:
        states: Counter[str] = Counter()
        for shard in self._shards:
            states.update(shard.states)
        return states

    def _report_interval(self) -> float:
        """Return the lab seconds between two reports of a worker."""
        return min(self.plan.every, REPORT_INTERVAL * self.clock.rate)


class WorkerTimings(Timings):
    """Real durations of a run on a cluster; CPU time is the sum of all workers."""

    def __init__(self) -> None:
        super().__init__()
        self.workers = 0.0

    def so_far(self) -> tuple[float, float]:
        real, _ = super().so_far()
        return real, self.workers
