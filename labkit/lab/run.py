"""The handle of a run of a fleet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from labkit.core.errors import LabError
from labkit.core.extras import needs
from labkit.core.marks import Mark
from labkit.fleet.accounts import Accounts, of_route
from labkit.fleet.cluster import ClusterPlay
from labkit.fleet.cluster_client import addresses
from labkit.fleet.device import Credentials
from labkit.fleet.measures import Latency, Tick, frame
from labkit.fleet.plan import Failure, Plan
from labkit.fleet.play import Play
from labkit.lab.portal import Task
from labkit.lab.progress import Progress
from labkit.lab.runtime import Runtime
from labkit.lab.show import card, of_devices, of_failures, of_requests, of_workers
from labkit.lab.solution import Solution

if TYPE_CHECKING:
    import pandas


T = TypeVar("T")


class Spread(NamedTuple):
    """A dask client over whose workers a fleet is played, what closes it, and how many shares there are (None: one for
    each worker)."""

    client: Any
    close: Callable[[], object]
    shares: int | None


class Run:
    """A run of a fleet, under way or over."""

    def __init__(
        self,
        runtime: Runtime,
        plan: Plan,
        lasting: float | None,
        keep: Callable[[Mapping[int, Credentials], Mapping[int, int]], None],
        accounts: bool | Solution = False,
        spread: Spread | None = None,
    ) -> None:
        self._runtime = runtime
        self._plan = plan
        self._keep = keep
        self.lasting = lasting
        self._play = self._prepared(spread)
        self._counted = accounts is not False
        self._route: Solution | None = None
        self._handler = self._follow_handler(accounts)
        self._ending = Ending(self._play)
        runtime.keep(self._ending)
        self._task: Task[None] = runtime.begin(self._live)

    def _follow_handler(self, accounts: bool | Solution) -> str:
        """Have the accounts know what a handler gets. Return in words which handler that is."""
        run, plays, handled = self._runtime.run, self._runtime.control.plays, self._play.accounts.handled
        product, identities = self._plan.product, [member.identity for member in self._plan.members]
        if accounts is True:
            run(plays.account, product, identities, handled)
            return "by a handler that the run added: accounts=<your solution> measures your own"
        if not isinstance(accounts, Solution):
            return ""
        if run(plays.account_of, accounts.id, product, identities, handled):
            return f"as the handler of {accounts.id!r} returned the numbers"
        self._route = accounts
        return f"as GET /accounts of {accounts.id!r} answers"

    def _prepared(self, spread: Spread | None) -> Play | ClusterPlay:
        run, control = self._runtime.run, self._runtime.control.plays
        if spread is None:
            return run(control.prepare, self._plan)
        try:
            shares = spread.shares or len(addresses(spread.client) or ())
            if not shares:
                raise LabError("cluster: it has no worker")
            return run(control.spread, self._plan, spread.client, shares, spread.close)
        except BaseException:
            spread.close()
            raise

    async def _live(self) -> None:
        try:
            await self._follow()
        finally:  # before whoever waits goes on, perhaps with the next run
            self._runtime.forget(self._ending)
            self._keep(self._play.credentials(), self._play.epochs())

    async def _follow(self) -> None:
        plays = self._runtime.control.plays
        stop_watching = plays.watch_stored(self._play) if self._counted else None
        try:
            await plays.play(self._play, self.lasting)
            if self._counted:  # what was acknowledged is on its way to handlers
                await self._runtime.control.settle()
        finally:
            if stop_watching is not None:
                stop_watching()
        if self._counted:
            await plays.take_stock(self._play)
        if self._route is not None:
            answer = await self._route.ask_here("GET", "/accounts")
            if answer.status_code != 200:
                raise LabError(
                    f"accounts: {self._route!r} answers GET /accounts with {answer.status_code}: give it that route, "
                    f"or a handler of `device datapoint` that returns the number which it handled"
                )
            try:
                told = answer.json()
            except ValueError:
                raise LabError(
                    f"accounts: {self._route!r} answers GET /accounts with no JSON: {answer.text!r:.100}"
                ) from None
            for identity, value in of_route(told):
                self._play.accounts.handled(identity, value)

    # --- while it goes on

    @property
    def done(self) -> bool:
        return self._task.done

    @property
    def began(self) -> float:
        """Lab time."""
        return self._play.began

    @property
    def every(self) -> float:
        """Seconds of lab time of an interval."""
        return self._plan.every

    @property
    def ticks(self) -> list[Tick]:
        """The intervals so far."""
        return list(self._play.ticks)

    def on_tick(self, callback: Callable[[Tick], object]) -> None:
        """Call `callback` with each tick from now on, on the lab's own thread."""
        self._play.on_tick(callback)

    def wait(self, progress: bool | None = None) -> Run:
        """Return once the run is over. An interrupt (Ctrl-C, the stop button of a cell) ends it cleanly.

        progress: show a bar, None for at a terminal and in JupyterLab alone.
        """
        with Progress(self, progress):
            try:
                self._task.future.result()
            except KeyboardInterrupt:
                self.stop()
                raise
        return self

    def stop(self) -> Run:
        """End the run; returns once all its devices have ended."""
        if not self.done:
            self._call(self._play.stop)
            self._task.future.result()
        return self

    def pause(self) -> None:
        """Let no device go on; on a virtual clock, time stands still."""
        self._call(self._play.pause)

    def resume(self) -> None:
        """Let the devices go on."""
        self._call(self._play.resume)

    @property
    def paused(self) -> bool:
        return self._play.paused

    @property
    def arrivals(self) -> float | None:
        """How many times the arrivals that the run was given there are now; None where it was given none."""
        return None if self._play.arrivals is None else self._play.arrivals.factor

    def scale_arrivals(self, factor: float) -> None:
        """Have `factor` times as many requests arrive as the run was told, from each device's next one on.

        Raises LabError for a run that was given no `arrivals`, and for a factor that is not above 0.
        """
        self._call(lambda: self._play.scale_arrivals(factor))

    # --- what came of it

    def frame(self) -> pandas.DataFrame:
        """A row an interval, by lab time of its end: requests that ended in it, errors of these (refused, or without an
        answer), latencies (seconds of lab time), devices by state.
        """
        return self._noted(frame(self.ticks, self.began, self.every))

    @property
    def marks(self) -> list[Mark]:
        """Restarts, faults and releases of the lab while the run lasted, and the faults that it began with."""
        return list(self._play.marks)

    @property
    def rate(self) -> float | None:
        """Seconds of lab time a real second, 0 on a virtual clock; None where it changed during the run."""
        return self._play.rate

    def _noted(self, frame: pandas.DataFrame) -> pandas.DataFrame:
        """Put into the attributes of a frame what charts say beside it."""
        frame.attrs.update(marks=[tuple(each) for each in self.marks], rate=self.rate)
        return frame

    def requests(self) -> pandas.DataFrame:
        """A row a request: time (of its end), identity, action, status (NA where no answer came), latency, error.

        Raises LabError unless the run was asked to keep them.
        """
        if not self._plan.requests:
            raise LabError("this run kept no requests: run(…, requests=True) does")
        kept = sorted(self._play.rows, key=lambda row: row.time)  # those of workers come as they tell
        return self._noted(of_requests(kept))

    def figures(self) -> dict[str, float]:
        """Real durations in seconds, which no two runs share: real, cpu, requests a real second; p50, p90, p99 and max
        of answers but those of polls, from the request's leaving on (of workers, once they are done).
        """
        return self._play.timings.figures(self._play.total.requests)

    def timings(self) -> pandas.Series[float]:
        """The same as `figures`, as a table."""
        with needs("tables"):
            import pandas

        return pandas.Series(self.figures())

    @property
    def failed(self) -> list[Failure]:
        """The devices that failed, in the order in which they did."""
        return list(self._play.failures)

    @property
    def failures(self) -> pandas.DataFrame:
        """A row a device that failed: when (lab time), why, and with which seed to repeat it alone."""
        return of_failures(self.failed)

    def devices(self) -> pandas.DataFrame:
        """A row a device: its behaviour, state, epoch, and what it noted."""
        rows = self._devices() if self._runtime.closed else self._call(self._devices)
        return of_devices(rows)

    @property
    def losses(self) -> pandas.DataFrame:
        """The accounts: a row for each device and epoch, with what was sent, acknowledged, stored, handled, lost,
        doubled and reordered (`Accounts.losses`). While the run goes on, what is on its way counts as lost. What is
        stored is so at the end of the run, or now while it goes on.

        Raises LabError unless the run was asked to keep them.
        """
        self._take_stock()
        return self._accounts().losses()

    def workers(self) -> pandas.DataFrame:
        """A row for each share of the devices, and for each worker that died (lab time): where, and how many devices.

        Raises LabError for a run in the lab's own process.
        """
        if isinstance(self._play, Play):
            raise LabError("this run has no workers: run(…, workers=4) has")
        return of_workers(self._play.workers())

    @property
    def totals(self) -> dict[str, int] | None:
        """The sums of the columns of `losses`; None where the run keeps no accounts."""
        if not self._counted:
            return None
        self._take_stock()
        return (
            self._play.accounts.totals() if self._runtime.closed else self._call(self._play.accounts.totals)
        )

    @property
    def error(self) -> str | None:
        """What ended the run before its time, where it failed itself; devices that failed are in `failed`."""
        if not self.done or self._task.future.cancelled():
            return None
        error = self._task.future.exception()
        return None if error is None else f"{type(error).__name__}: {error}"

    @property
    def latency(self) -> Latency:
        """Of all answers but those of polls: from the time that the request was due, in seconds of lab time. Pauses are
        no part of it.
        """
        return self._play.total.latency

    @property
    def latency_from_sending(self) -> Latency:
        """Of the same answers: from the request's leaving, in seconds of real time (of workers, once they are done)."""
        return self._play.timings.latency

    @property
    def summary(self) -> str:
        """One line."""
        total = self._play.total
        errors = sum(total.errors.values())
        failed = len({each.number for each in self._play.failures})
        lasted = (self._play.ticks[-1].time if self._play.ticks else self.began) - self.began
        text = (
            f"{len(self._plan.members)} devices, {_duration(lasted)} of lab time, {total.requests} requests"
        )
        text += f", {errors} errors" if errors else ""
        text += f", {failed} {'device' if failed == 1 else 'devices'} failed" if failed else ""
        if isinstance(self._play, ClusterPlay):
            for each in self._play.deaths:
                text += f"; worker {each.pid} died"
                if each.epoch is not None:
                    text += f", its {each.devices} devices went on elsewhere in epoch {each.epoch}"
        if not (self._counted and self.done):
            return text
        return f"{text}; {self._accounts().summary}; handled {self._handler}"

    def __repr__(self) -> str:
        return f"<run: {self.summary}, {'over' if self.done else 'under way'}>"

    def _repr_html_(self) -> str:
        return card(
            "run of a fleet", {"summary": self.summary, "state": "over" if self.done else "under way"}
        )

    def _devices(self) -> list[dict[str, object]]:
        return [
            {
                "identity": member.identity,
                "behaviour": type(member.behaviour).__name__,
                **self._play.shown(member.number),
            }
            for member in self._plan.members
        ]

    def _call(self, function: Callable[[], T]) -> T:
        """On the lab's loop, where nothing changes meanwhile."""

        async def call() -> T:
            return function()

        return self._runtime.run(call)

    def _take_stock(self) -> None:
        """Look again at what is stored, while the run goes on."""
        if self._counted and not self.done and not self._runtime.closed:
            self._runtime.run(self._runtime.control.plays.take_stock, self._play)

    def _accounts(self) -> Accounts:
        if not self._counted:
            raise LabError("this run kept no accounts: run(…, accounts=True) does")
        return self._play.accounts


class Ending:
    """Ends a run with its lab."""

    def __init__(self, play: Play | ClusterPlay) -> None:
        self._play = play

    async def close(self) -> None:
        self._play.stop()
        await self._play.finished()


def _duration(seconds: float) -> str:
    days, rest = divmod(round(seconds), 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    parts = ((days, "d"), (hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"
