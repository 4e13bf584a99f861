"""Device of a fleet, which a behaviour's `run` controls."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar

from labkit.core.certificates import KeyPair
from labkit.core.chance import chance
from labkit.core.errors import LabError
from labkit.fleet.accounts import ALIAS, Accounts, stamp
from labkit.fleet.arguments import LONGEST_POLL, poll_seconds, range_text, read_aliases, written_values
from labkit.fleet.channel import NoAnswerError
from labkit.fleet.connection import DeviceConnection
from labkit.fleet.device import Credentials, DeviceError, Point, VirtualDevice, check_points
from labkit.fleet.flow import LabAddress
from labkit.fleet.identities import Passwords
from labkit.fleet.misuse import INSTANT_REQUEST_LIMIT
from labkit.fleet.notes import DeviceNotes
from labkit.fleet.shapes import Dial, Shape, arrivals
from labkit.labtime.device_scheduler import DeviceScheduler, Failure

P = ParamSpec("P")
T = TypeVar("T")

NUMBERS = "expected a number, not a text or another thing"
SHORTEST = 1.0  # seconds of a sleep that may be moved, where no interval is given
SHUTDOWN_REQUEST_LIMIT = 20  # requests that a device may still make when it is taken offline
EXCHANGE_ERRORS = (DeviceError, NoAnswerError)  # errors of a request


class Reboot(BaseException):
    """Raised to restart the device. An `except Exception` of a behaviour does not catch it."""


def instant(now: float, seconds: float, in_step: bool | float) -> float:
    """Return the lab time at which a sleep of `seconds` ends.

    in_step: as of `OverlapSettings`: True moves the end to the nearest multiple of the sleep's length, a number to the
    nearest multiple of that number; shorter sleeps keep their end.
    """
    step = float(seconds if in_step is True else in_step)
    if not step or seconds < max(step, SHORTEST if in_step is True else 0.0) or seconds != seconds:
        return now + seconds
    return round((now + seconds) / step) * step


class FaultHooks(Protocol):
    """Faults as a device meets them. Each may sleep on the device's clock, and raise the errors of a request."""

    async def started(self, device: FleetDevice) -> None:
        """Apply the faults that hit a device as it starts."""

    async def before(self, device: FleetDevice, action: str) -> None:
        """Apply faults before a request is sent."""

    async def after(self, device: FleetDevice, action: str) -> None:
        """Apply faults after an answer has arrived, before the device sees it."""

    async def woken(self, device: FleetDevice) -> None:
        """Apply faults after the device has slept."""


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """The part of a run's plan that each of its devices reads.

    arrivals: the rate of `FleetDevice.arrivals`; in_step: whether devices act at the same instants (`OverlapSettings`).
    """

    product: str
    address: LabAddress
    domain: str
    auth: str
    seed: int
    _: KW_ONLY
    arrivals: Shape | None = None
    faults: FaultHooks | None = None
    in_step: bool | float = False


class DeviceRun(Protocol):
    """A run in this process as its devices use it: see `LocalFleetRun`."""

    pace: DeviceScheduler
    over: bool
    began: float
    arrivals: Dial | None
    written: dict[str, object]
    accounts: Accounts
    states: Counter[str]

    @property
    def plan(self) -> DevicePlan: ...
    def count(self, device: FleetDevice, action: str, intended: float, error: Exception | None) -> None: ...
    def connection(self, certificate: KeyPair | None) -> DeviceConnection: ...
    def other(self, identity: str) -> Credentials: ...
    def reject_ignored_arrivals(self, device: FleetDevice, action: str) -> None: ...
    async def reject_runaway(self, device: FleetDevice, *, last: bool) -> None: ...
    async def block_ended(self, device: FleetDevice) -> None: ...


class FleetDevice:
    """Device of a fleet. It can make one request, or sleep, at a time.

    A request raises DeviceError if the platform refuses it, and NoAnswerError if it gets no answer. Only the methods of
    the device take lab time: asyncio's own sleeps and timeouts count real time.

    devices: number of those of the run; number: in the fleet, from 1; epoch: number of its starts, from 1; state: as in
    a run's frame; notes: values for the run's table; memory: values that survive a reboot, within a run; clock_error:
    seconds by which its own clock is wrong; has_arrivals: whether the run has a rate, which `arrivals` follows.
    """

    def __init__(
        self,
        fleet_run: DeviceRun,
        devices: int,
        number: int,
        identity: str,
        connection: DeviceConnection,
        credentials: Credentials,
    ) -> None:
        plan = fleet_run.plan
        self.identity = identity
        self.number = number
        self.actor = f"{plan.product}/{identity}"
        self.epoch = self.first_epoch = 1  # first_epoch: of this run
        self.random = chance(plan.seed, "device", number)  # shared by all epochs of this run
        self.state = "waiting"
        self.failure: Failure | None = None  # of its behaviour
        self.memory: dict[str, Any] = {}
        self.clock_error = 0.0
        self.refused: int | None = None  # number of actions since it was taken offline; None: it is online
        self.alive = self.asking = False  # tasks that outlive a living device do not change its state
        self.asks_as = self.actor
        self.connection = connection
        self.passwords = Passwords(plan.seed, number)
        self.virtual = VirtualDevice(
            plan.address, plan.domain, plan.auth, identity, self.passwords.draw, connection
        )
        self.virtual.token, self.virtual.password = credentials.token, credentials.password
        self._fleet_run = fleet_run
        self._pace = fleet_run.pace
        self._clock = fleet_run.pace.clock
        self._notes = DeviceNotes(self._clock.now, devices)
        self.notes, self.history = self._notes.newest, self._notes.history
        self._faults = plan.faults
        self._intended: float | None = None
        self.has_arrivals = plan.arrivals is not None
        self._ignores_arrivals = self.has_arrivals  # it has not iterated over the arrivals of the run yet
        self.seen: dict[str, str] = {}  # Last-Modified of the last polled value, by alias
        self.counted: tuple[int, int] | None = None  # epoch and number of its last count
        self._instant, self._at_instant = -1.0, 0  # lab time of its last request, requests at that time
        self._remote: DeviceConnection | None = None  # for requests as another device

    # --- time

    def now(self) -> float:
        """Return the device's own clock: lab time in Unix seconds, unless a fault makes it wrong."""
        return self._clock.now() + self.clock_error

    def sleep(
        self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0
    ) -> Coroutine[Any, Any, None]:
        """Sleep for this much lab time."""
        try:
            length = seconds + 60 * minutes + 3600 * hours + 86400 * days
            now, in_step = self._clock.now(), self._fleet_run.plan.in_step
            sleeping = self._sleep_until(instant(now, length, in_step) if in_step else now + length)
        except TypeError:
            raise LabError(f"sleep: {NUMBERS}") from None
        sleeping.__qualname__ = "device.sleep"  # type: ignore[attr-defined]  # as in write
        return sleeping

    async def sleep_until(self, when: float) -> None:
        """Sleep until the device's clock shows `when` (Unix seconds)."""
        try:
            when -= self.clock_error
        except TypeError:
            raise LabError(f"sleep_until: {NUMBERS}") from None
        await self._sleep_until(when)

    async def _sleep_until(self, when: float, state: str = "sleeping") -> None:
        if self._fleet_run.over or (self.refused is not None and self._refuses("sleep")):
            await self._fleet_run.block_ended(self)
        if when != when:
            raise LabError("sleep: expected a number, not nan")
        self.enter(state)
        await self._pace.sleep_until(self, when)
        self.enter("running")
        if self._faults is not None:
            await self._faults.woken(self)

    async def arrivals(self, shape: Shape | None = None) -> AsyncIterator[float]:
        """Yield the arrival times of an open load as each is reached (Unix seconds of lab time).

        shape: the rate in requests per second; None takes the run's. The latency of the first request after an arrival
        counts from the arrival, however late it is sent.
        """
        self._ignores_arrivals = False
        rate = shape if shape is not None else self._fleet_run.arrivals
        if rate is None:
            raise LabError("arrivals: give the run a rate: run(…, arrivals=Flat(0.1)), or arrivals(shape)")
        life = self.epoch - self.first_epoch + 1
        drawn = chance(self._fleet_run.plan.seed, "arrivals", self.number, life)
        for due in arrivals(rate, drawn, self._fleet_run.began, begin=self._clock.now()):
            if due > self._clock.now():
                await self._sleep_until(due)
            self._intended = due
            yield due

    # --- requests

    async def activate(self, anew: bool = False, password: str | None = None) -> None:
        """Provision the device, or replace its credentials. anew: without showing those that it has.

        password: to send, if the product has auth="password". Where the answer is lost, the platform may have stored
        it, and refuses any other (409): keep it, and `use` it.
        """
        await self._exchange("activate", self.virtual.activate, anew, password)

    async def use(self, credentials: Credentials) -> None:
        """Replace the device's credentials without a request: `await device.use(Credentials(password=sent))`."""
        await self.virtual.use(credentials)

    def write(
        self, values: Mapping[str, object] | None = None, /, **more: object
    ) -> Coroutine[Any, Any, object]:
        """Store the value of each alias: `write(temperature=21.5)`."""
        given = written_values(values, more, self._fleet_run.written)
        exchange = self._exchange("write", self.virtual.write, given)
        exchange.__qualname__ = "device.write"  # type: ignore[attr-defined]  # named where `await` is missing
        return exchange

    async def count(self, again: bool = False) -> int:
        """Write this device's next number to the alias `count`, for the accounts of the run (`run.losses`). Return it.

        again: repeat the last number, which got no answer.
        """
        accounts = self._fleet_run.accounts
        if not again or self.counted is None:
            self.counted = (self.epoch, accounts.sent(self.identity, self.epoch))
        epoch, number = self.counted
        try:
            await self._exchange("write", self.virtual.write, {ALIAS: stamp(epoch, number)})
        except Reboot:  # by a fault, before the request was sent
            if not again:
                accounts.unsent(self.identity, epoch, number)
            raise
        accounts.acknowledged(self.identity, epoch, number)
        return number

    async def write_to(self, identity: str, /, **values: object) -> None:
        """Write as another device of the fleet, with its credentials, like a phone app that controls it."""
        other = self._fleet_run.other(identity)
        if self._remote is None:
            self._remote = self._fleet_run.connection(other.certificate)
        remote = self.virtual.acting_as(identity, other, self._remote)
        self.asks_as = f"{self._fleet_run.plan.product}/{identity}"
        try:
            await self._exchange("write to", remote.write, written_values(None, values))
        finally:
            self.asks_as = self.actor

    async def read(self, *aliases: str) -> dict[str, str]:
        """Return the newest value of each alias that has one."""
        return await self._exchange("read", self.virtual.read, read_aliases(aliases))

    async def write_and_read(self, values: Mapping[str, object], *aliases: str) -> dict[str, str]:
        """Store values, then read aliases, in one hybrid request. Return as `read`."""
        ask = self.virtual.write_and_read
        return await self._exchange("write and read", ask, written_values(values, {}), read_aliases(aliases))

    async def record(self, points: Mapping[str, Mapping[float, object]]) -> None:
        """Store values at timestamps: {alias: {Unix seconds: value}}."""
        check_points(points)
        await self._exchange("record", self.virtual.record, points)

    async def wait_for(self, alias: str, timeout: float = 300, since: float | None = None) -> str | None:
        """Return the next value of an alias, or None after `timeout` seconds of lab time without one (long poll).

        Values since this device's last poll are not missed, but the resource keeps only the last of several in one
        second. A value whose answer is lost is sent again, up to five times; if other clients poll the alias, a device
        that has reconnected can miss values that they received (labkit.devices.polls). The platform allows polls of up
        to 300 s; for a longer timeout the device polls again. since: Unix seconds after which a value counts, by a
        cursor of the behaviour's own, rather than since the last poll.
        """
        left = poll_seconds(timeout)
        while left > LONGEST_POLL:
            began = self._clock.now()
            if (value := await self._poll_once(alias, LONGEST_POLL, since)) is not None:
                return value
            since = None
            left -= max(self._clock.now() - began, 1.0)
        return await self._poll_once(alias, max(left, 0.0), since)

    async def _poll_once(self, alias: str, timeout: float, since: float | None) -> str | None:
        poll = self.virtual.poll
        cursor = self.seen.get(alias) if since is None else str(int(since))
        point: Point | None = await self._exchange("poll", poll, alias, timeout, cursor)
        last = self.connection.last
        if point is not None:
            self.seen[alias] = point.modified
        elif alias not in self.seen and last is not None and "date" in last.headers:
            # An earlier cursor stays: a value may have been written while this answer was on its way.
            self.seen[alias] = last.headers["date"]
        return None if point is None else point.value

    async def poll(self, alias: str, timeout: float = 300) -> AsyncIterator[str]:
        """Yield the values of an alias as they are written, for ever. timeout: lab seconds that each poll waits."""
        while True:
            value = await self.wait_for(alias, timeout)
            if value is not None:
                yield value

    async def content(self) -> list[str]:
        """Return the ids of the product's content items."""
        return await self._exchange("list", self.virtual.content)

    async def content_info(self, id: str) -> str:
        """Return the info line of a content item: `content type,bytes,updated,description`."""
        return await self._exchange("info", self.virtual.content_info, id)

    async def download(self, id: str, range: str | None = None) -> bytes:
        """Return a content item, or a byte range of it (`bytes=0-99`)."""
        return await self._exchange("download", self.virtual.download, id, range_text(range))

    async def timestamp(self) -> int:
        """Return the server's clock in Unix seconds."""
        return await self._exchange("timestamp", self.virtual.timestamp)

    async def reboot(self, seconds: float = 0) -> None:
        """Close the connection and restart the behaviour, in the next epoch, after `seconds` of lab time."""
        self.disconnect()
        if seconds:
            await self.sleep(seconds)
        raise Reboot

    def note(self, text: str | None = None, /, **values: object) -> None:
        """Show values in the run's table of devices: `note("updating")`, `note(progress=0.4)`.

        Raises LabError for the name of a column that the table has anyway.
        """
        self._notes.add(values if text is None else {"note": text, **values})

    # --- for the run and the faults

    async def send_again(self) -> None:
        """Repeat the last request and ignore its answer. Raises NoAnswerError."""
        await self._ask(self.connection.again)

    @property
    def credentials(self) -> Credentials:
        """The device's current credentials."""
        return self.virtual.credentials

    @property
    def connected(self) -> bool:
        """Whether the device's own connection is open."""
        return self.connection.open

    @property
    def answered(self) -> int:
        """Number of answered requests on the device's own connection."""
        return self.connection.answered

    @property
    def simulated(self) -> bool:
        """Whether the device runs on a virtual clock."""
        return not self._clock.rate

    async def read_slowly(self, seconds: float) -> None:
        """Delay the reading of an answer: of the next one on a running clock, of the arrived one on a virtual clock."""
        if self.simulated:
            await self.sleep(seconds)
        else:
            self.connection.stall_seconds = seconds / self._clock.rate

    def disable_timeout(self) -> None:
        """Wait for the pending answer without a timeout, because the platform is delaying it."""
        self.connection.disable_timeout()
        if self._remote is not None:
            self._remote.disable_timeout()

    async def _exchange(
        self, action: str, ask: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Make a request with its faults, count it, and return its result when it is the device's turn."""
        if self._fleet_run.over or (self.refused is not None and self._refuses(action)):
            await self._fleet_run.block_ended(self)
        if self._ignores_arrivals:
            self.expect_arrivals_used(action)
        faults, now = self._faults, self._clock.now()
        intended = now if self._intended is None else self._intended
        self._intended = None
        self._at_instant = self._at_instant + 1 if now == self._instant else 1
        self._instant = now
        if self._at_instant > INSTANT_REQUEST_LIMIT and self.simulated:
            last = self._at_instant > INSTANT_REQUEST_LIMIT + SHUTDOWN_REQUEST_LIMIT
            await self._fleet_run.reject_runaway(self, last=last)
        error: Exception | None = None
        result: Any = None
        try:
            if faults is not None:
                await faults.before(self, action)
            if self.state != "running":
                self._pace.awake(self)
                self.enter("running")
            if action == "poll":  # the device polls from the time the request is sent
                self.connection.on_sent = partial(self.enter, "polling")
            result = await self._ask(ask, *args, **kwargs)
            if faults is not None:
                self.enter("running")
                await faults.after(self, action)
        except EXCHANGE_ERRORS as failed:
            error = failed
        if self.state == "polling":
            self.enter("running")
        self._fleet_run.count(self, action, intended, error)
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]  # `cast` would cost a call

    async def _ask(self, ask: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a request, and return its result or raise its error when it is the device's turn."""
        if self.asking:
            raise LabError("a device asks for one thing at a time: await the answer first")
        self.asking = True
        try:
            result = await ask(*args, **kwargs)
        except Exception:
            self.asking = False
            if self._pace.waits_for_turn(self):
                await self._pace.turn(self)
            raise
        finally:  # also if the device is cancelled meanwhile
            self.asking = False
        if self._pace.waits_for_turn(self):
            await self._pace.turn(self)
        return result

    def _refuses(self, action: str) -> bool:
        """Return whether an offline device may not act: it may still make a few requests, as in a `finally`."""
        self.refused = (self.refused or 0) + 1
        return action in ("sleep", "poll") or self.refused > SHUTDOWN_REQUEST_LIMIT

    def expect_arrivals_used(self, action: str) -> None:
        """Raise LabError if the run has arrivals that this device has not iterated over."""
        if self._ignores_arrivals and action != "activate":
            self._fleet_run.reject_ignored_arrivals(self, action)

    def enter(self, state: str) -> None:
        """Change the state and the run's count of devices by state."""
        if state != self.state and self.alive:
            states = self._fleet_run.states
            states[self.state] -= 1
            states[state] += 1
            self.state = state

    def disconnect(self) -> None:
        """Close the device's connections at once."""
        self.connection.abort()
        if self._remote is not None:
            self._remote.abort()
            self._remote = None

    async def disconnected(self) -> None:
        """Return once the device has seen the platform close its connections."""
        await self.connection.lost()
        if self._remote is not None:
            await self._remote.lost()
