"""A fleet over several processes or machines: its devices are dealt to the workers of a dask cluster.

What is here lives beside the lab: it hands out shares, adds up what the workers tell, and when a worker dies has its
devices start elsewhere, in a new epoch. Nothing goes through the queue of tasks, which would start a share again
unasked: a share begins by a call in the worker's process, and plays in a thread of its own.
"""

from __future__ import annotations

import asyncio
import pickle
import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from labkit.core.chance import fresh_seed
from labkit.core.clock import Clock
from labkit.core.errors import LabError
from labkit.core.marks import Mark
from labkit.fleet.accounts import Accounts
from labkit.fleet.cluster_client import ANSWERED, addresses, by_value
from labkit.fleet.device import Credentials
from labkit.fleet.intervals import Intervals
from labkit.fleet.measures import Latency, Measures, Tick, Timings
from labkit.fleet.plan import OVER, Failure, Plan, Row
from labkit.fleet.shapes import Delayed, Dial, Portion, scaled
from labkit.fleet.shares import Dealt, Death
from labkit.fleet.workers import Message, Noted, Share, begin, command, ready

if TYPE_CHECKING:
    from distributed import Client

LOOKED = 0.5  # real seconds between two looks at who is alive
PATIENCE = 60.0  # real seconds: for a worker to be there, and for shares to end once they should
REPORTED = 1.0  # real seconds: so often a worker tells, at least


class ClusterPlay:
    """A run of devices on the workers of a cluster; it is used as a Play is.

    shares: into how many the devices are dealt; close: called when the run is over.
    """

    def __init__(
        self, plan: Plan, clock: Clock, client: Client, shares: int, close: Callable[[], object]
    ) -> None:
        self.plan = plan
        self.paused = False
        self.ticks: list[Tick] = []
        self.failures: list[Failure] = []
        self.rows: list[Row] = []
        self.deaths: list[Death] = []
        self.total = Measures()
        self.marks: list[Mark] = []  # of the lab while it lasted
        self.rate: float | None = clock.rate  # of lab time; None once it has changed
        self.accounts = Accounts()
        self.arrivals = None if plan.arrivals is None else Dial(plan.arrivals)
        self.lag: Callable[[], float | None] = lambda: None  # of handlers, since it was asked last
        self.timings = WorkerTimings()
        self.began = clock.now()
        self.until: float | None = None
        self._clock = clock
        self._client = client
        self._close = close
        self._topic = f"labkit-fleet-{fresh_seed():08x}"
        self._subscribers: list[Callable[[Tick], object]] = []
        self._intervals = Intervals(self.began, plan.every)
        self._shown: dict[int, dict[str, object]] = {}
        self._held: dict[int, Credentials] = {}
        self._error: str | None = None
        self._stopped = False
        self._changed = asyncio.Event()
        self._finished = asyncio.Event()
        count = min(shares, len(plan.members))
        others = {member.identity: member.credentials for member in plan.members}
        dealt = replace(plan, every=self._reported(), others=others)
        self._shares = [
            Dealt(number, replace(dealt, members=tuple(plan.members[number::count])))
            for number in range(count)
        ]

    # --- as a Play

    def on_tick(self, callback: Callable[[Tick], object]) -> None:
        """Call `callback` with each tick, on the lab's loop."""
        self._subscribers.append(callback)

    async def prepare(self) -> None:
        """Have the workers ready to play, so that their start takes nothing of a run's time."""
        with suppress(OSError):  # one died; who looks for the dead finds it
            await self._ask(ready, within=PATIENCE)

    async def run(self, until: float | None) -> None:
        """Have the devices live until lab time reaches `until`, all have ended, or `stop`.

        Raises LabError where a share cannot be played, or no worker is there for a minute.
        """
        self.began, self.until, self.timings = self._clock.now(), until, WorkerTimings()
        self._intervals = Intervals(self.began, self.plan.every)
        loop = asyncio.get_running_loop()

        def told(event: tuple[float, bytes]) -> None:  # on a thread of dask's
            with suppress(RuntimeError):  # the lab was closed
                loop.call_soon_threadsafe(self._told, event[1])

        try:
            await asyncio.to_thread(self._client.subscribe_topic, self._topic, told)
            await self._oversee()
        finally:
            self.timings.end()  # a cluster of its own takes seconds to end
            await asyncio.to_thread(self._end)
            self._tell_rest()
            self._finished.set()
        if self._error is not None:
            raise LabError(f"workers: {self._error}")

    def stop(self) -> None:
        """End the run as soon as the workers have ended their devices."""
        self._stopped = True
        self._changed.set()

    def pause(self) -> None:
        """Let no device go on."""
        self.paused = True
        self._changed.set()

    def resume(self) -> None:
        """Let the devices go on."""
        self.paused = False
        self._changed.set()

    def scale_arrivals(self, factor: float) -> None:
        """As Play.scale_arrivals."""
        scaled(self.arrivals, factor)
        self._changed.set()

    async def finished(self) -> None:
        """Return once the run is over and all is cleaned up."""
        await self._finished.wait()

    def shown(self, number: int) -> dict[str, object]:
        """State, epoch and notes of a device, as its worker told last."""
        return self._shown.get(number, {"state": "waiting", "epoch": 0})

    def epochs(self) -> dict[int, int]:
        """The last epoch of each device that has begun, by number."""
        found = self._epochs()
        return {each.number: found[each.identity] for each in self.plan.members if each.identity in found}

    def credentials(self) -> dict[int, Credentials]:
        """What each device holds after the run, by number."""
        return dict(self._held)

    def workers(self) -> list[dict[str, object]]:
        """A row for each share as it is now, and for each worker that died."""
        rows: list[dict[str, object]] = [
            {"worker": each.worker, "pid": each.pid, "devices": len(each.plan.members), "died": None}
            for each in self._shares
        ]
        rows += [
            {"worker": each.worker, "pid": each.pid, "devices": each.devices, "died": each.time}
            for each in self.deaths
        ]
        return rows

    # --- shares

    async def _oversee(self) -> None:
        """Start shares, start those of dead workers again, and pass on commands, until all are over."""
        passed, factor = (False, False), 1.0
        waited = time.monotonic()  # for a worker to be there, or for the shares to end
        while not all(share.done for share in self._shares):
            alive = await self._look()
            over = self._stopped or (self.until is not None and self._clock.now() >= self.until)
            orphans = [share for share in self._shares if share.worker is None and not share.done]
            if over:
                for share in orphans:
                    share.done = True
            elif alive:
                for share in orphans:
                    await self._start(share, min(alive, key=self._load))
            wanted = (self._stopped, self.paused)
            if wanted != passed:
                await self._command("stop" if self._stopped else "pause" if self.paused else "resume")
                passed = wanted
            if self.arrivals is not None and self.arrivals.factor != factor:
                factor = self.arrivals.factor
                await self._command("scale_arrivals", factor)
            if not over and not orphans and alive is not None:
                waited = time.monotonic()
            elif time.monotonic() - waited > PATIENCE:
                there = "the scheduler is gone" if alive is None else f"{len(alive)} workers are there"
                self._error = self._error or f"no answer for {PATIENCE:.0f} s, {there}"
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), LOOKED)
            self._changed.clear()

    async def _look(self) -> Collection[str] | None:
        """Bury the workers that are missing from two answers of the scheduler, some time apart.

        Return the addresses of those that are alive, None while the scheduler does not answer.
        """
        alive = await asyncio.to_thread(addresses, self._client)
        missing = self._missing(alive)
        if missing:
            await asyncio.sleep(LOOKED)
            alive = await asyncio.to_thread(addresses, self._client)
            for share in missing & self._missing(alive):
                self._bury(self._shares[share])
        return alive

    def _missing(self, alive: Collection[str] | None) -> set[int]:
        """The numbers of the shares whose workers are not among these."""
        if alive is None:
            return set()
        playing = (share for share in self._shares if share.worker is not None and not share.done)
        return {share.number for share in playing if share.worker not in alive}

    def _load(self, address: str) -> int:
        return sum(share.worker == address for share in self._shares if not share.done)

    def _bury(self, share: Dealt) -> None:
        """Take its share from a worker that died: the devices begin elsewhere in an epoch that none has seen."""
        assert share.worker is not None
        epochs, members = self._epochs(), []
        for member in share.plan.members:
            state = str(self.shown(member.number)["state"])
            known = epochs.get(member.identity, 0)
            begins = replace(member, epoch=max(known + 1, member.epoch))
            members.append(replace(member, state=state) if state in OVER else begins)
            if known and not members[-1].over:
                self.accounts.broken(member.identity, known)
        going = sum(not member.over for member in members)
        share.death = Death(self._clock.now(), share.worker, share.pid, going)
        self.deaths.append(share.death)
        share.plan = replace(share.plan, members=tuple(members))
        share.worker, share.states = None, Counter(member.state for member in members)
        share.done = not going

    def _epochs(self) -> dict[str, int]:
        """The last epoch of each device that anybody knows of."""
        found = self.accounts.epochs()
        for member in self.plan.members:
            told = self._shown.get(member.number, {}).get("epoch", 0)
            assert isinstance(told, int)
            if told:
                found[member.identity] = max(found.get(member.identity, 0), told)
        return found

    async def _start(self, share: Dealt, worker: str) -> None:
        share.attempt += 1
        share.last = self._clock.now()
        plan = share.plan
        if plan.devices is not None:
            portion = Portion(plan.devices, share.number, len(self._shares))
            plan = replace(plan, devices=Delayed(portion, share.last - self.began))
        if plan.arrivals is not None:
            plan = replace(plan, arrivals=Delayed(plan.arrivals, share.last - self.began))
        payload = by_value(
            Share(self._topic, share.number, share.attempt, plan, self.until, self._clock.reading())
        )
        share.worker, share.states = worker, Counter(member.state for member in plan.members)
        try:
            answers = await self._ask(begin, payload, worker=worker)
        except OSError:  # it died before it began; who looks for the dead finds it
            return
        except Exception as error:  # noqa: BLE001  of the user's own classes, where they arrive
            self._error, share.done, self._stopped = f"{type(error).__name__}: {error}", True, True
            return
        share.pid = answers[worker]
        if share.death is not None:
            share.death.epoch = max(member.epoch for member in plan.members if not member.over)
        if self.paused:
            await self._command("pause")
        if self.arrivals is not None and self.arrivals.factor != 1:
            await self._command("scale_arrivals", self.arrivals.factor)

    async def _command(self, name: str, *args: float) -> None:
        asked = [
            self._ask(command, (self._topic, share.number), name, args, worker=share.worker)
            for share in self._shares
            if share.worker is not None and not share.done
        ]
        await asyncio.gather(*asked, return_exceptions=True)  # who looks for the dead finds those that died

    async def _ask(
        self,
        function: Callable[..., object],
        *args: object,
        worker: str | None = None,
        within: float = ANSWERED,
    ) -> Any:
        """Call a function in a worker, or in all of them; the results by address. Raises OSError where none comes."""
        ask = partial(
            self._client.sync, self._client._run, callback_timeout=within
        )  # `run` would wait for ever
        return await asyncio.to_thread(ask, function, *args, workers=None if worker is None else [worker])

    def _end(self) -> None:
        with suppress(OSError, TimeoutError):
            self._client.unsubscribe_topic(self._topic)
        self._close()

    # --- what the workers tell

    def _told(self, data: bytes) -> None:
        message: Message = pickle.loads(data)  # from our own workers
        share = self._shares[message.share]
        self.failures += message.failures
        self.rows += message.rows
        self.accounts.put(message.sent)
        self.timings.workers += message.cpu
        if message.latency is not None:
            self.timings.latency.merge(Latency.decode(message.latency))
        if message.tick is not None:
            tick = Tick.decode(message.tick)
            counted = Measures(tick.requests, Counter(tick.errors), tick.latency)
            self.total.merge(counted)
            since = share.last if message.attempt == share.attempt else tick.time - self._reported()
            self._intervals.add(counted, since, tick.time)
            if message.attempt == share.attempt:
                share.last, share.states = max(share.last, tick.time), tick.devices
        if self.plan.faults is not None:
            self.plan.faults.put(message.faults)
        # what a dead worker said late counts, but says nothing of what is now
        if message.attempt == share.attempt:
            for each, shown in message.shown.items():
                self._shown[each] = {name: Noted.opened(value) for name, value in shown.items()}
            self._held.update(message.credentials)
            if message.final:
                share.done = True
                self._error = self._error or message.error
                if message.error is not None:
                    self._stopped = True
                self._changed.set()
        self._tell()

    def _tell(self) -> None:
        """Tell the intervals that every share has told."""
        while going := [share for share in self._shares if not share.done]:
            when = self._intervals.due
            if any(share.worker is None or share.last < when for share in going):
                return
            self._emit(when, self._intervals.take())

    def _tell_rest(self) -> None:
        now = self._clock.now()
        for when, measures in self._intervals.rest(now if self.until is None else min(self.until, now)):
            self._emit(when, measures)

    def _emit(self, when: float, measures: Measures) -> None:
        states: Counter[str] = Counter()
        for share in self._shares:
            states.update(share.states)
        devices = {state: count for state, count in states.items() if count}
        tick = measures.tick(when, devices, self.lag())
        self.ticks.append(tick)
        if self.rate != self._clock.rate:
            self.rate = None
        for callback in tuple(self._subscribers):
            callback(tick)

    def _reported(self) -> float:
        """Seconds of lab time between two messages of a worker."""
        return min(self.plan.every, REPORTED * self._clock.rate)


class WorkerTimings(Timings):
    """Real durations; CPU time is that of all workers."""

    def __init__(self) -> None:
        super().__init__()
        self.workers = 0.0

    def so_far(self) -> tuple[float, float]:
        real, _ = super().so_far()
        return real, self.workers
