"""The handle of a fleet's run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from labkit.core.code_lines import with_line
from labkit.core.errors import LabError, UnknownError, tell_interrupt, unknown
from labkit.core.extras import needs
from labkit.core.handle import Handle
from labkit.core.marks import Mark
from labkit.core.progress import Progress, lab_time
from labkit.core.words import counted
from labkit.fleet.accounts import Accounts, route_deliveries
from labkit.fleet.cluster import ClusterFleetRun
from labkit.fleet.cluster_client import addresses
from labkit.fleet.device import Credentials
from labkit.fleet.fleet_run import FleetRun
from labkit.fleet.kept_device import KeptDevice
from labkit.fleet.measures import Latency, Tick, frame
from labkit.fleet.notes import Note, notes_of
from labkit.fleet.plan import Plan
from labkit.lab.arguments import ignored_writes, shown_duration
from labkit.lab.portal import Task
from labkit.lab.run_options import Spread
from labkit.lab.runtime import Runtime
from labkit.lab.show import card, devices_frame, failures_frame, requests_frame, workers_frame
from labkit.lab.solution import Solution
from labkit.labtime.device_scheduler import Failure

if TYPE_CHECKING:
    import pandas


class RunCloser:
    """Closes a run when its lab is closed."""

    def __init__(self, fleet_run: FleetRun) -> None:
        self._fleet_run = fleet_run

    async def close(self) -> None:
        with suppress(LabError):  # a lab elsewhere may have ended before
            await self._fleet_run.command("stop")
        await self._fleet_run.finished()


T = TypeVar("T")
MISTAKES = ("AttributeError", "NameError", "TypeError")  # of a behaviour's author, whatever the platform did


class Run(Handle):
    """A run of a fleet, in progress or ended: its results, and how to pause or stop it."""

    def __init__(
        self,
        runtime: Runtime,
        plan: Plan,
        lasting: float | None,
        keep: Callable[[Mapping[int, Credentials], Mapping[int, int], Mapping[int, KeptDevice]], None],
        accounts: bool | Solution = False,
        spread: Spread | None = None,
    ) -> None:
        self._runtime = runtime
        self._plan = plan
        self._keep = keep
        self.stopped = False  # whether `stop` or an interrupt ended it
        self.lasting = lasting
        self._fleet_run = self._prepared(spread)
        self._counted = accounts is not False
        self._route: Solution | None = None
        self._handler = self._follow_handler(accounts)
        self._closer = RunCloser(self._fleet_run)
        runtime.keep(self._closer)
        self._task: Task[None] = runtime.begin(self._live)

    def _follow_handler(self, accounts: bool | Solution) -> str:
        """Report the numbers that a handler gets to the run's accounts. Return a phrase that names the handler."""
        run, control = self._runtime.run, self._runtime.control.fleet_runs
        if accounts is True:
            run(control.watch_received, self._fleet_run)
            return "by a handler that the run added; for your own give accounts=<your solution>"
        if not isinstance(accounts, Solution):
            return ""
        if run(control.watch_returned, accounts.id, self._fleet_run):
            return f"as the handler of {accounts.id!r} returned the numbers"
        self._route = accounts
        return f"as GET /accounts of {accounts.id!r} answers"

    def _prepared(self, spread: Spread | None) -> FleetRun:
        run, control = self._runtime.run, self._runtime.control.fleet_runs
        if spread is None:
            return run(control.prepare, self._plan)
        try:
            shares = spread.shares or len(addresses(spread.client) or ())
            if not shares:
                raise LabError("cluster: it has no worker")
            return run(control.prepare_on_cluster, self._plan, spread.client, shares, spread.close)
        except BaseException:
            spread.close()
            raise

    async def _live(self) -> None:
        try:
            await self._follow()
        finally:  # before `wait` returns, since the next run may follow
            self._runtime.forget(self._closer)
            self._keep(self._fleet_run.credentials(), self._fleet_run.epochs(), self._fleet_run.kept())

    async def _follow(self) -> None:
        await self._runtime.control.fleet_runs.run(self._fleet_run, self.lasting, self._counted)
        if self._route is not None:
            answer = await self._route.ask_here("GET", "/accounts")
            if answer.status_code != 200:
                raise LabError(
                    f"accounts: {self._route!r} answers GET /accounts with {answer.status_code}: add this route, "
                    f"or a handler of `device datapoint` that returns each handled number"
                )
            try:
                counts = answer.json()
            except ValueError:
                raise LabError(
                    f"accounts: {self._route!r} answers GET /accounts with no JSON: {answer.text!r:.100}"
                ) from None
            for identity, value in route_deliveries(counts):
                self._fleet_run.accounts.handled(identity, value)

    # --- during the run

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self._task.done

    @property
    def began(self) -> float:
        """Lab time of the start, in Unix seconds."""
        return self._fleet_run.began

    @property
    def every(self) -> float:
        """Length of an interval in seconds of lab time."""
        return self._plan.every

    @property
    def ticks(self) -> list[Tick]:
        """The completed intervals, oldest first."""
        return list(self._fleet_run.ticks)

    def on_tick(self, callback: Callable[[Tick], object]) -> None:
        """Call `callback` with each new interval, on the lab's own thread."""
        self._fleet_run.on_tick(callback)

    def wait(self, progress: bool | None = None, *, check: bool = False) -> Run:
        """Wait for the end of the run and return it. An interrupt (Ctrl-C, the stop button) ends the run cleanly.

        progress: whether to show a progress bar; None: only in a terminal and in JupyterLab. check: whether to raise
        LabError if a device has failed.
        """
        try:
            with Progress(total=self.lasting, wanted=progress, look=self._look):
                self._task.wait()
        except KeyboardInterrupt as interrupt:
            self.stop()
            self.tell_interrupt(interrupt, "this run")
            raise
        self._warn_of_unknown()
        if failed := self.failed:
            devices, first = len({each.identity for each in failed}), failed[0]
            of = counted(len(self._plan.members), "device")
            text = f"{devices} of {of} failed, {first.identity!r} first: {first.error}"
            if check:
                raise LabError(f"{text}; `failures` of the run shows all")
            if first.error.startswith(MISTAKES) and self._runtime.story is None:
                self._runtime.warn(with_line(text, first.place))
        return self

    def tell_interrupt(self, interrupt: KeyboardInterrupt, name: str) -> None:
        """Give an interrupt that has stopped the run a sentence. name: of the run there."""
        ticks, clock = self.ticks, "its clock stands" if self.rate == 0 else "the lab's clock goes on"
        when = lab_time(ticks[-1].time if ticks else self.began)
        requests = counted(self._fleet_run.requests, "request")
        tell_interrupt(interrupt, f"stopped at {when}, {requests}; the run is {name}, {clock}")

    def _look(self, progress: Progress) -> None:
        """Set how far the run is: by the lab's clock here, and by the last interval of a lab elsewhere."""
        ticks = self._fleet_run.ticks
        now = self._runtime.control.lab_time() or (ticks[-1].time if ticks else self.began)
        progress.done = round(now - self.began)
        progress.note = f"{lab_time(now)}, {counted(self._fleet_run.requests, 'request')}"

    def _warn_of_unknown(self) -> None:
        """Warn once of aliases without a resource that devices wrote, since the platform ignores them."""
        written, self._fleet_run.written = self._fleet_run.written, {}
        if not written or self._runtime.closed:
            return
        product = self._plan.product
        known = self._runtime.run(self._runtime.control.products.get, product).settings.resources
        for each in ignored_writes(written, product, known):
            self._runtime.warn(each)

    def stop(self) -> Run:
        """End the run, and return it once all its devices have ended."""
        if not self.done:
            self.stopped = True
            self._runtime.run(self._fleet_run.command, "stop")
            self._task.wait()
        return self

    def pause(self) -> None:
        """Pause all devices; a virtual clock stands still meanwhile."""
        self._runtime.run(self._fleet_run.command, "pause")

    def resume(self) -> None:
        """Let paused devices continue."""
        self._runtime.run(self._fleet_run.command, "resume")

    @property
    def paused(self) -> bool:
        """Whether the run is paused."""
        return self._fleet_run.paused

    @property
    def arrivals(self) -> float | None:
        """Factor on the run's original arrival rate, 1 at the start; None for a run without `arrivals`."""
        return None if self._fleet_run.arrivals is None else self._fleet_run.arrivals.factor

    def scale_arrivals(self, factor: float) -> None:
        """Multiply the run's original arrival rate by `factor`, from each device's next request on.

        Raises LabError for a run without `arrivals`, and for a factor that is not above 0.
        """
        self._runtime.run(self._fleet_run.command, "scale_arrivals", factor)

    # --- results

    def frame(self) -> pandas.DataFrame:
        """Return a DataFrame with a row for each interval, indexed by the lab time of its end.

        Columns: requests that ended in it, their errors (refused or without an answer), latencies (seconds of lab
        time), and the number of devices in each state.
        """
        return self._noted(frame(self.ticks, self.began, self.every))

    @property
    def marks(self) -> list[Mark]:
        """Restarts, faults and releases of the lab during the run, and the faults that existed at its start."""
        return list(self._fleet_run.marks)

    @property
    def rate(self) -> float | None:
        """Seconds of lab time per real second, 0 on a virtual clock; None if the rate changed during the run."""
        return self._fleet_run.rate

    def _noted(self, frame: pandas.DataFrame) -> pandas.DataFrame:
        """Add marks, rate and transport to the attributes of a frame, where charts find them."""
        marks = [tuple(each) for each in self.marks]
        frame.attrs.update(marks=marks, rate=self.rate, transport=self._plan.transport)
        with needs("tables"):
            from labkit.lab.frame import with_columns_named

        return with_columns_named(frame)

    def requests(self) -> pandas.DataFrame:
        """Return a DataFrame of the requests: time of the end, identity, action, status, latency, error.

        status is NA for a request without an answer. Raises LabError unless the run was started with `requests=True`.
        """
        if not self._plan.requests:
            raise LabError("this run kept no requests: run(…, requests=True) does")
        kept = sorted(self._fleet_run.rows, key=lambda row: row.time)  # workers report theirs in any order
        return self._noted(requests_frame(kept))

    def figures(self) -> dict[str, float]:
        """Return measurements in real time, which differ from run to run: durations in seconds, requests per second.

        real, cpu and requests per second are of the whole run; p50, p90, p99 and max of all answers except those of
        long polls, from the sending of the request. Workers report theirs when they are done.
        """
        return self._fleet_run.timings.figures(self._fleet_run.total.requests)

    def timings(self) -> pandas.Series[float]:
        """Return the values of `figures` as a Series."""
        with needs("tables"):
            import pandas

        return pandas.Series(self.figures())

    @property
    def failed(self) -> list[Failure]:
        """The devices that failed, in the order of their failures."""
        return list(self._fleet_run.failures)

    @property
    def failures(self) -> pandas.DataFrame:
        """DataFrame of the devices that failed: lab time, error, and the seed with which to repeat each one alone."""
        return failures_frame(self.failed)

    def devices(self, *columns: str) -> pandas.DataFrame:
        """Return a DataFrame of the devices: behaviour, state, epoch, and the values that the behaviour noted.

        columns: names of notes that have a column even if no device has noted one.
        """
        self._refresh()
        rows = self._devices() if self._runtime.closed else self._call(self._devices)
        return devices_frame(rows, columns)

    def notes(self, identity: str | None = None) -> list[Note]:
        """Return what devices have noted, oldest first, with the lab time of each note: also values noted over later.

        identity: of one device; None for all. A run keeps its newest 100,000 notes, each device its share of them.
        Raises LabError for an unknown identity, and for a run outside of the lab's own process, which keeps none.
        """
        numbers = {each.identity: each.number for each in self._plan.members}
        if identity is not None and identity not in numbers:
            raise UnknownError(unknown("device", identity, numbers))
        chosen = numbers if identity is None else {identity: numbers[identity]}
        read = partial(notes_of, self._fleet_run.history, chosen)
        return read() if self._runtime.closed else self._call(read)

    @property
    def losses(self) -> pandas.DataFrame:
        """DataFrame of the accounts: the count of numbers that each device sent in each epoch, and of those lost.

        Columns: sent, acknowledged, stored, handled, lost, doubled, reordered and others (`Accounts.losses`). During
        the run, numbers still on their way count as lost, and `stored` is read anew; after it, `stored` is as at its
        end. Raises LabError unless the run was started with `accounts`.
        """
        self._refresh()
        return self._accounts().losses()

    def workers(self) -> pandas.DataFrame:
        """Return a DataFrame of the workers: name, process id, number of devices.

        A worker that died has a further row, with the lab time of its death. Raises LabError for a run in the lab's
        own process.
        """
        if not isinstance(self._fleet_run, ClusterFleetRun):
            raise LabError("this run has no workers: run(…, workers=4) has")
        return workers_frame(self._fleet_run.workers())

    @property
    def totals(self) -> dict[str, int] | None:
        """Sums of the columns of `losses`; None for a run without accounts."""
        if not self._counted:
            return None
        self._refresh()
        totals = self._fleet_run.accounts.totals
        return totals() if self._runtime.closed else self._call(totals)

    @property
    def error(self) -> str | None:
        """The error that ended the whole run early, None if there was none. Devices that failed are in `failed`."""
        if not self.done or self._task.future.cancelled():
            return None
        error = self._task.future.exception()
        return None if error is None else f"{type(error).__name__}: {error}"

    @property
    def latency(self) -> Latency:
        """Latency of all answers except those of long polls, from the time at which the request was due.

        In seconds of lab time, without pauses of the run.
        """
        return self._fleet_run.total.latency

    @property
    def latency_from_sending(self) -> Latency:
        """Latency of the same answers from the sending of the request, in real seconds. Workers report it when done."""
        return self._fleet_run.timings.latency

    def late(self) -> float:
        """Return the seconds of lab time by which half of the requests are sent later than due; NaN if unknown."""
        ticks = self.ticks[-1:]
        latency = self.latency if self.done or not ticks else ticks[0].latency
        return latency.percentile(50) - (self.rate or 0) * self.latency_from_sending.percentile(50)

    @property
    def summary(self) -> str:
        """The result in one line."""
        total = self._fleet_run.total
        errors = sum(total.errors.values())
        failed = len({each.number for each in self._fleet_run.failures})
        lasted = (self._fleet_run.ticks[-1].time if self._fleet_run.ticks else self.began) - self.began
        devices, requests = counted(len(self._plan.members), "device"), counted(total.requests, "request")
        text = f"{devices}, {shown_duration(lasted)} of lab time, {requests}"
        text += ", in memory without TLS" if self._plan.transport == "memory" else ""
        text += f", {counted(errors, 'error')}" if errors else ""
        text += f", {counted(failed, 'device')} failed" if failed else ""
        if isinstance(self._fleet_run, ClusterFleetRun):
            for each in self._fleet_run.deaths:
                text += f"; worker {each.pid} died"
                if each.epoch is not None:
                    text += f", its {counted(each.devices, 'device')} went on elsewhere in epoch {each.epoch}"
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
                **self._fleet_run.shown(member.number),
            }
            for member in self._plan.members
        ]

    def _call(self, function: Callable[[], T]) -> T:
        """Return the result of a function called on the lab's loop, where nothing changes meanwhile."""

        async def call() -> T:
            return function()

        return self._runtime.run(call)

    def _refresh(self) -> None:
        """Bring accounts and devices up to date, if the run is still in progress."""
        if not self.done and not self._runtime.closed:
            self._runtime.run(self._runtime.control.fleet_runs.refresh, self._fleet_run)

    def _accounts(self) -> Accounts:
        if not self._counted:
            raise LabError("this run kept no accounts: run(…, accounts=True) does")
        return self._fleet_run.accounts
