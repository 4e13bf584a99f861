"""One device of a fleet: what a behaviour's `run` is given."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from labkit.core.chance import chance
from labkit.core.errors import LabError
from labkit.fleet.accounts import ALIAS, stamp
from labkit.fleet.arguments import read_aliases, written_values
from labkit.fleet.channel import NoAnswerError
from labkit.fleet.connection import DeviceConnection
from labkit.fleet.device import Credentials, DeviceError, Point, VirtualDevice, check_points
from labkit.fleet.passwords import Passwords
from labkit.fleet.shapes import Shape, arrivals

if TYPE_CHECKING:
    from labkit.fleet.plan import DeviceFaults
    from labkit.fleet.play import Play

MOST_AT_ONCE = 10_000  # requests of a device at one instant of a virtual clock

P = ParamSpec("P")
T = TypeVar("T")


SHOWN = frozenset({"identity", "behaviour", "state", "epoch"})  # what a run's table has of each device
NUMBERS = "expected a number, not a text or another thing"
LAST_WORDS = 20  # requests of a device that is taken offline
EXCHANGE_ERRORS = (DeviceError, NoAnswerError)  # what comes of a request that does not succeed


class Reboot(BaseException):
    """The device begins anew. No `except Exception` of a behaviour catches it."""


class FleetDevice:
    """A device of a fleet. It does one thing at a time; what it asks for raises DeviceError where the platform refuses,
    and NoAnswerError where no answer comes.

    Only what a device does itself takes lab time: asyncio's own sleeps and timeouts count real time.

    number: in the fleet, from 1; epoch: how often it has begun, from 1; state: as in a run's frame; notes: what it has
    to say of itself; memory: what it keeps over a reboot, within a run; clock_error: seconds by which its
    own clock is wrong; has_arrivals: does the run have a rate, by which `arrivals` goes?
    """

    def __init__(
        self, play: Play, number: int, identity: str, connection: DeviceConnection, credentials: Credentials
    ) -> None:
        plan = play.plan
        self.identity = identity
        self.number = number
        self.actor = f"{plan.product}/{identity}"
        self.epoch = self.first_epoch = 1  # the latter of this run
        self.random = chance(plan.seed, "device", number)  # of all its lives in this run
        self.state = "waiting"
        self.notes: dict[str, object] = {}
        self.memory: dict[str, Any] = {}
        self.clock_error = 0.0
        self.alive = False  # what it left behind when it ended changes its state no more
        self.refused: int | None = None  # how often it went on since it was taken offline; None: it is online
        self.asking = False
        self.asks_as = self.actor
        self.connection = connection
        self._passwords = Passwords(plan.seed, number)
        self.virtual = VirtualDevice(
            plan.address, plan.domain, plan.auth, identity, self._passwords.draw, connection
        )
        self.virtual.token, self.virtual.password = credentials.token, credentials.password
        self._play = play
        self._pace = play.pace
        self._clock = play.pace.clock
        self._faults: DeviceFaults | None = plan.faults
        self._intended: float | None = None
        self.has_arrivals = plan.arrivals is not None
        self._unasked = self.has_arrivals  # it has yet to ask for the arrivals of the run
        self._seen: dict[str, str] = {}  # Last-Modified of what its polls brought, by alias
        self._counted: tuple[int, int] | None = None  # epoch and number, of its last count
        self._instant = -1.0  # of lab time, of its last request
        self._at_instant = 0  # requests then
        self._remote: DeviceConnection | None = None  # by which it writes as others

    # --- time

    def now(self) -> float:
        """The device's own clock: lab time in Unix seconds, unless a fault makes it wrong."""
        return self._clock.now() + self.clock_error

    def sleep(
        self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0
    ) -> Coroutine[Any, Any, None]:
        """Do nothing for a while of lab time."""
        try:
            length = seconds + 60 * minutes + 3600 * hours + 86400 * days
            return self._sleep_until(self._clock.now() + length)
        except TypeError:
            raise LabError(f"sleep: {NUMBERS}") from None

    async def sleep_until(self, when: float) -> None:
        """Do nothing until the device's clock shows `when` (Unix seconds)."""
        try:
            when -= self.clock_error
        except TypeError:
            raise LabError(f"sleep_until: {NUMBERS}") from None
        await self._sleep_until(when)

    async def _sleep_until(self, when: float) -> None:
        if self._play.over or (self.refused is not None and self._refuses("sleep")):
            await self._play.ended(self)
        if when != when:
            raise LabError("sleep: expected a number, not nan")
        self.enter("sleeping")
        await self._pace.sleep_until(self, when)
        self.enter("running")
        if self._faults is not None:
            await self._faults.woken(self)

    async def arrivals(self, shape: Shape | None = None) -> AsyncIterator[float]:
        """The times at which requests of an open load are due, each once it has come (Unix seconds of lab time).

        shape: the rate, in requests a second; without one that of the run. The latency of the first request after each
        counts from then, however late it is sent.
        """
        self._unasked = False
        rate = shape if shape is not None else self._play.arrivals
        if rate is None:
            raise LabError(
                "arrivals: give the run a rate, as in run(…, arrivals=Flat(0.1)), or arrivals(shape)"
            )
        life = self.epoch - self.first_epoch + 1
        drawn = chance(self._play.plan.seed, "arrivals", self.number, life)
        for due in arrivals(rate, drawn, self._play.began, begin=self._clock.now()):
            if due > self._clock.now():
                await self._sleep_until(due)
            self._intended = due
            yield due

    # --- requests

    async def activate(self) -> None:
        """Provision, or replace the credentials that the device has."""
        await self._exchange("activate", self.virtual.activate)

    def write(
        self, values: Mapping[str, object] | None = None, /, **more: object
    ) -> Coroutine[Any, Any, object]:
        """Store the value of each alias: `write(temperature=21.5)`."""
        return self._exchange("write", self.virtual.write, written_values(values, more))

    async def count(self, again: bool = False) -> int:
        """Write this device's next number to the alias `count`, for the accounts of the run (`run.losses`).

        again: write the one before once more, of which no answer came.
        """
        accounts = self._play.accounts
        if not again or self._counted is None:
            self._counted = (self.epoch, accounts.sent(self.identity, self.epoch))
        epoch, number = self._counted
        try:
            await self._exchange("write", self.virtual.write, {ALIAS: stamp(epoch, number)})
        except Reboot:  # by a fault, before anything was sent
            if not again:
                accounts.unsent(self.identity, epoch, number)
            raise
        accounts.acknowledged(self.identity, epoch, number)
        return number

    async def write_to(self, identity: str, /, **values: object) -> None:
        """Write as another device of the fleet, with its credentials, as an app on a phone does that controls it."""
        other = self._play.other(identity)
        if self._remote is None:
            self._remote = self._play.connection(other.certificate)
        remote = VirtualDevice(
            self.virtual.address,
            self.virtual.domain,
            self.virtual.auth,
            identity,
            self._passwords.draw,
            self._remote,
        )
        remote.token, remote.password = other.token, other.password
        self.asks_as = f"{self._play.plan.product}/{identity}"
        try:
            await self._exchange("write to", remote.write, written_values(None, values))
        finally:
            self.asks_as = self.actor

    async def read(self, *aliases: str) -> dict[str, str]:
        """The newest value of each alias that has one."""
        return await self._exchange("read", self.virtual.read, read_aliases(aliases))

    async def write_and_read(self, values: Mapping[str, object], *aliases: str) -> dict[str, str]:
        """Hybrid: store, then read."""
        ask = self.virtual.write_and_read
        return await self._exchange("write and read", ask, written_values(values, {}), read_aliases(aliases))

    async def record(self, points: Mapping[str, Mapping[float, object]]) -> None:
        """Store values at timestamps: {alias: {Unix seconds: value}}."""
        check_points(points)
        await self._exchange("record", self.virtual.record, points)

    async def wait_for(self, alias: str, timeout: float = 300) -> str | None:
        """The next value of an alias, or None when none came within `timeout` seconds of lab time (long poll).

        A value that came since the last one that this device waited for is not missed; of several in one second the
        resource keeps the last. A value whose answer is lost is sent again, up to five times; where other clients poll
        the same alias, a device that has reconnected can miss what they were given (labkit.devices.polls).
        """
        if type(timeout) not in (int, float) or not 0 <= timeout < math.inf:
            raise LabError(f"poll: timeout: expected seconds, not {timeout!r:.100}")
        point: Point | None = await self._exchange(
            "poll", self.virtual.poll, alias, timeout, self._seen.get(alias)
        )
        last = self.connection.last
        if point is not None:
            self._seen[alias] = point.modified
        elif last is not None and "date" in last.headers:  # so that nothing is missed until the next poll
            self._seen[alias] = last.headers["date"]
        return None if point is None else point.value

    async def poll(self, alias: str, timeout: float = 300) -> AsyncIterator[str]:
        """The values of an alias as they come, for ever. timeout: seconds of lab time that each poll waits."""
        while True:
            value = await self.wait_for(alias, timeout)
            if value is not None:
                yield value

    async def content(self) -> list[str]:
        """The ids of the content that the product offers."""
        return await self._exchange("list", self.virtual.content)

    async def content_info(self, id: str) -> str:
        """`content type,bytes,updated,description` of a content item."""
        return await self._exchange("info", self.virtual.content_info, id)

    async def download(self, id: str, range: str | None = None) -> bytes:
        """A content item, or the part that `range` names: `bytes=0-99`."""
        if range is not None and not isinstance(range, str):
            raise LabError(f"download: range: expected a text such as 'bytes=0-99', not {range!r:.100}")
        return await self._exchange("download", self.virtual.download, id, range)

    async def timestamp(self) -> int:
        """The server's clock in Unix seconds."""
        return await self._exchange("timestamp", self.virtual.timestamp)

    async def reboot(self, seconds: float = 0) -> None:
        """Lose the connection and begin anew, with the next epoch, after so many seconds of lab time."""
        self.disconnect()
        if seconds:
            await self.sleep(seconds)
        raise Reboot

    def note(self, text: str | None = None, /, **values: object) -> None:
        """Have the run's table of devices show something: `note("updating")`, `note(progress=0.4)`. Raises LabError for
        the name of a column that the table has anyway.
        """
        if not SHOWN.isdisjoint(values):
            raise LabError(
                f"note: {', '.join(sorted(SHOWN & set(values)))}: the run shows that itself; name it otherwise"
            )
        if text is not None:
            self.notes["note"] = text
        self.notes.update(values)

    # --- what a run and the faults call

    async def send_again(self) -> None:
        """Send the last request once more, and look at no answer of it. Raises NoAnswerError."""
        await self._ask(self.connection.again)

    @property
    def credentials(self) -> Credentials:
        """What it holds now."""
        return self.virtual.credentials

    @property
    def connected(self) -> bool:
        """Is its own connection open?"""
        return self.connection.open

    @property
    def answered(self) -> int:
        """How many of the requests on connections of its own were answered."""
        return self.connection.answered

    @property
    def simulated(self) -> bool:
        """Does it live on a virtual clock?"""
        return not self._clock.rate

    async def read_slowly(self, seconds: float) -> None:
        """Take so much lab time for an answer: on a clock that runs the next one, on a virtual one, where nothing may
        wait for real time, that which has come.
        """
        if self.simulated:
            await self.sleep(seconds)
        else:
            self.connection.stuck = seconds / self._clock.rate

    def wait_for_ever(self) -> None:
        """The answer that is due may take as long as it will: the platform holds the request."""
        self.connection.wait_for_ever()
        if self._remote is not None:
            self._remote.wait_for_ever()

    def __repr__(self) -> str:
        return f"<device {self.actor}, {self.state}>"

    async def _exchange(
        self, action: str, ask: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Ask for something, and count it. Goes on when it is the device's turn."""
        if self._play.over or (self.refused is not None and self._refuses(action)):
            await self._play.ended(self)
        if self._unasked:
            self.expect_asked(action)
        faults, now = self._faults, self._clock.now()
        intended = now if self._intended is None else self._intended
        self._intended = None
        if now != self._instant:
            self._instant, self._at_instant = now, 0
        self._at_instant += 1
        if self._at_instant > MOST_AT_ONCE and self.simulated:
            await self._play.stuck(self, last=self._at_instant > MOST_AT_ONCE + LAST_WORDS)
        error: Exception | None = None
        result: Any = None
        try:
            if faults is not None:
                await faults.before(self, action)
            if self.state != "running":
                self._pace.awake(self)
                self.enter("running")
            if action == "poll":  # which begins with what is sent: not before the connection stands
                self.connection.on_sent = partial(self.enter, "polling")
            result = await self._ask(ask, *args, **kwargs)
            if faults is not None:
                self.enter("running")
                await faults.after(self, action)
        except EXCHANGE_ERRORS as failed:
            error = failed
        if self.state == "polling":
            self.enter("running")
        self._play.count(self, action, intended, error)
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]  # without a call for what `cast` costs

    async def _ask(self, ask: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Ask, and go on when it is the device's turn, whatever came of it."""
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
        finally:  # also when the device is ended meanwhile
            self.asking = False
        if self._pace.waits_for_turn(self):
            await self._pace.turn(self)
        return result

    def _refuses(self, action: str) -> bool:
        """Offline: does the run end this? What a `finally` still has to say is let through, a life that goes on not."""
        self.refused = (self.refused or 0) + 1
        return action in ("sleep", "poll") or self.refused > LAST_WORDS

    def expect_asked(self, action: str) -> None:
        """Raise LabError where the run has arrivals that this device has yet to ask for."""
        if self._unasked and action != "activate":
            self._play.unasked(self, action)

    def enter(self, state: str) -> None:
        """Be in this state, as the run's frame counts it."""
        if state != self.state and self.alive:
            states = self._play.states
            states[self.state] -= 1
            states[state] += 1
            self.state = state

    def disconnect(self) -> None:
        """End its connections at once."""
        self.connection.abort()
        if self._remote is not None:
            self._remote.abort()
            self._remote = None

    async def disconnected(self) -> None:
        """Return once it knows that the platform has ended its connections."""
        await self.connection.lost()
        if self._remote is not None:
            await self._remote.lost()
