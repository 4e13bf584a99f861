"""Faults of one run of a fleet: which devices they hit, when, and how often they did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from labkit.core.chance import Chance, chance
from labkit.faults.patterns import Patterns
from labkit.fleet.channel import NoAnswerError
from labkit.fleet.fault_kinds import CUT_OFF, KINDS, LATE_START, LOST_CREDENTIAL, RESTART, Span, range_text
from labkit.fleet.plan import Loss, Restart
from labkit.labtime.clock import Clock, Timer

if TYPE_CHECKING:
    from labkit.fleet.fleet_device import FleetDevice
    from labkit.fleet.plan import FaultKey, Member


@dataclass(frozen=True)
class DeviceFault:
    """Fault of a fleet, counted and drawn separately for each device.

    devices: numbers and patterns of identities; actions: kinds of requests; None for all. seconds, first, every,
    chance, after, share: as in FleetFaults.add.
    """

    name: str
    does: str
    seconds: Span
    first: int | None
    every: int | None
    chance: float | None
    devices: tuple[str | int, ...] | None
    actions: tuple[str, ...] | None
    after: Span | None = None
    share: float | None = None

    @property
    def often(self) -> str:
        """Frequency of the fault in words."""
        if self.after is not None:
            return f"after {range_text(self.after)}"
        words = [
            f"{name} {value:g}"
            for name, value in (("chance", self.chance), ("every", self.every), ("first", self.first))
            if value is not None
        ]
        return ", ".join(words) or "always"

    @property
    def what(self) -> str:
        """Effect of the fault in words."""
        return f"{self.does} {range_text(self.seconds)}" if self.seconds else self.does

    @property
    def whom(self) -> str:
        """The devices that it hits, in words."""
        devices = "all" if self.devices is None else ", ".join(map(str, self.devices))
        return devices if self.share is None else f"{self.share:.4g} of {devices}"


@dataclass
class Counts:
    """Counts of a fault at one device.

    drawn: random generator of this fault and device; concerned: whether the fault applies to the device; seen: requests
    that it could hit; hits: requests that it hit; reported: seen and hits that `take` has returned.
    """

    drawn: Chance
    concerned: bool
    seen: int = 0
    hits: int = 0
    reported: tuple[int, int] = (0, 0)


@dataclass
class RunFaults:
    """Faults of one run; implements `DeviceFaults`.

    requests: faults of requests; others: at moments, at the starts of devices, and what the run's caller performs.
    """

    seed: int
    requests: tuple[DeviceFault, ...]
    others: tuple[DeviceFault, ...] = ()
    counts: dict[tuple[str, int], Counts] = field(default_factory=dict)
    # by fault, of its last hit: lab time, and the number of the journal's newest record
    last: dict[str, tuple[float, int]] = field(default_factory=dict, compare=False)
    newest_record: Callable[[], int] = field(default=int, compare=False)
    _over: set[str] = field(default_factory=set, compare=False)  # names of faults removed during the run
    _now: Callable[[], float] = field(default=float, compare=False)  # lab time
    _began: float = field(default=0.0, compare=False)
    # Numbers of devices in a fault; no other fault hits what they do in it.
    _busy: set[int] = field(default_factory=set)

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "newest_record": int}  # a worker of a cluster does not have the journal

    def end(self, name: str) -> None:
        """Let a fault hit no more."""
        self._over.add(name)

    def is_over(self, name: str) -> bool:
        """Return whether a fault was removed during the run."""
        return name in self._over

    def beginnings(self, members: Sequence[Member]) -> list[tuple[float, str]]:
        """Return when each device fault begins, in lab seconds from the run's beginning, and its description."""
        found = []
        for each in self:
            after: Span | None = each.after or 0.0
            if isinstance(after, tuple):
                after = min(self._moments(each, members), default=None)
            if each.does != RESTART and after is not None:
                found.append((after, f"{each.does}, {each.often}"))
        return found

    def __iter__(self) -> Iterator[DeviceFault]:
        return iter((*self.requests, *self.others))

    @property
    def restarts(self) -> list[Restart]:
        """Restarts of the platform, which draw nothing."""
        found = ((each.name, each.after, each.seconds) for each in self.others if each.does == RESTART)
        return [
            Restart(name, after, seconds)
            for name, after, seconds in found
            if isinstance(after, float) and isinstance(seconds, float)
        ]

    def losses(self, members: Sequence[Member]) -> list[Loss]:
        """Return the losses of credentials of these devices."""
        return [
            Loss(each.name, after, whom)
            for each in self.others
            if each.does == LOST_CREDENTIAL
            for after, whom in self._moments(each, members).items()
        ]

    def restarted(self, fault: Restart) -> None:
        """Count a restart of the platform."""
        self.put({(fault.name, 0): (1, 1)})

    def take(self) -> dict[FaultKey, tuple[int, int]]:
        """Return the counts since the last call: see DeviceFaults.take."""
        taken = {}
        for key, counts in self.counts.items():
            now = counts.seen, counts.hits
            if now != counts.reported:
                taken[key] = now[0] - counts.reported[0], now[1] - counts.reported[1]
                counts.reported = now
        return taken

    def put(self, taken: Mapping[FaultKey, tuple[int, int]]) -> None:
        """Add counts of another process: see DeviceFaults.put."""
        for key, (seen, hits) in taken.items():
            counts = self.counts.get(key)
            if counts is None:
                counts = self.counts[key] = Counts(chance(self.seed, "fault", *key), True)
            counts.seen, counts.hits = counts.seen + seen, counts.hits + hits
            if hits:
                self.last[key[0]] = self._now(), self.newest_record()
            counts.reported = counts.seen, counts.hits

    def lost(self, fault: Loss, member: Member) -> None:
        """Count a lost credential of a device."""
        self.put({(fault.name, member.number): (1, 1)})

    def _moments(self, fault: DeviceFault, members: Sequence[Member]) -> dict[float, list[Member]]:
        """Return the devices that a fault hits, by the lab seconds from the beginning of the run at which it does."""
        found: dict[float, list[Member]] = {}
        for each in members:
            if self._concerns(fault, each.number, each.identity):
                when = drawn(fault.after or 0.0, self.seed, "after", fault.name, each.number)
                found.setdefault(when, []).append(each)
        return found

    def schedule(
        self, clock: Clock, members: Sequence[Member], begun: Mapping[int, FleetDevice]
    ) -> list[Timer]:
        """Return the timers of the faults that hit devices at moments of a run that begins, whatever they are doing."""
        timers = []
        self._now, self._began = clock.now, clock.now()
        for fault in self.others:
            if KINDS[fault.does].at_moment is not None:
                for after, hit in self._moments(fault, members).items():
                    timers.append(
                        clock.call_at(self._began + after, partial(self._hit_at_moment, fault, begun, hit))
                    )
        return timers

    def _hit_at_moment(
        self, fault: DeviceFault, begun: Mapping[int, FleetDevice], members: list[Member]
    ) -> None:
        """Hit the devices that have begun."""
        at_moment = KINDS[fault.does].at_moment
        assert at_moment is not None
        if self.is_over(fault.name):
            return
        for each in members:
            device = begun.get(each.number)
            if device is not None:
                seconds = drawn(fault.seconds, self.seed, "seconds", fault.name, each.number, 0)
                self.put({(fault.name, each.number): (1, 1)})
                at_moment(device, seconds)

    async def started(self, device: FleetDevice) -> None:
        """Apply the faults that hit a device as it starts for the first time in the run."""
        for fault in self.others:
            if (
                fault.does == LATE_START
                and not self.is_over(fault.name)
                and self._concerns(fault, device.number, device.identity)
            ):
                self.put({(fault.name, device.number): (1, 1)})
                seconds = drawn(fault.seconds, self.seed, "seconds", fault.name, device.number, 0)
                await device._sleep_until(self._now() + seconds, "waiting")

    async def before(self, device: FleetDevice, action: str) -> None:
        """Apply faults before a request is sent."""
        await self._apply(device, action, before=True)

    async def after(self, device: FleetDevice, action: str) -> None:
        """Apply faults after an answer has arrived, before the device sees it."""
        await self._apply(device, action, before=False)

    async def woken(self, device: FleetDevice) -> None:
        """Do nothing: no fault hits a sleeping device."""

    async def _apply(self, device: FleetDevice, action: str, *, before: bool) -> None:
        if device.number in self._busy:
            return
        for fault in self.requests:
            kind = KINDS[fault.does]
            if fault.does == CUT_OFF:
                self._cut_off(fault, device, action)
                continue
            early = kind.before if kind.before is not None else not device.simulated
            if kind.apply is not None and early is before and self._hits(fault, device, action):
                self._busy.add(device.number)
                try:
                    await kind.apply(device, self._seconds(fault, device))
                finally:
                    self._busy.discard(device.number)

    def _cut_off(self, fault: DeviceFault, device: FleetDevice, action: str) -> None:
        """Raise NoAnswerError, and drop the device's connection, while a fault cuts it off."""
        if not self._counts(fault, device).concerned:
            return
        begins = drawn(fault.after or 0.0, self.seed, "after", fault.name, device.number)
        length = drawn(fault.seconds, self.seed, "seconds", fault.name, device.number, 0)
        if begins <= self._now() - self._began < begins + length and self._hits(fault, device, action):
            device.connection.abort()
            raise NoAnswerError("no answer", "the device is cut off")

    def _seconds(self, fault: DeviceFault, device: FleetDevice) -> float:
        """Return the seconds of the present hit."""
        hits = self.counts[fault.name, device.number].hits
        return drawn(fault.seconds, self.seed, "seconds", fault.name, device.number, hits)

    def _concerns(self, fault: DeviceFault, number: int, identity: str) -> bool:
        """Return whether a fault hits a device at all."""
        if fault.devices is not None and not _is_one_of(fault.devices, number, identity):
            return False
        return fault.share is None or chance(self.seed, "share", fault.name, number).random() < fault.share

    def _counts(self, fault: DeviceFault, device: FleetDevice) -> Counts:
        key = fault.name, device.number
        counts = self.counts.get(key)
        if counts is None:
            concerned = self._concerns(fault, device.number, device.identity)
            counts = self.counts[key] = Counts(chance(self.seed, "fault", *key), concerned)
        return counts

    def _hits(self, fault: DeviceFault, device: FleetDevice, action: str) -> bool:
        counts = self._counts(fault, device)
        if not counts.concerned or self.is_over(fault.name):
            return False
        if fault.actions is not None and action not in fault.actions:
            return False
        if fault.first is not None and counts.hits >= fault.first:
            return False
        counts.seen += 1
        if fault.every is not None and counts.seen % fault.every:
            return False
        if fault.chance is not None and counts.drawn.random() >= fault.chance:
            return False
        counts.hits += 1
        return True


def drawn(value: Span, seed: int, *key: object) -> float:
    """Return a number, or one that is drawn from a range by the seed and the key: the same whenever it is asked for."""
    if not isinstance(value, tuple):
        return value
    low, high = value
    return low + (high - low) * chance(seed, *key).random()


def _is_one_of(devices: tuple[str | int, ...], number: int, identity: str) -> bool:
    if number in devices:
        return True
    return Patterns(each for each in devices if isinstance(each, str)).match(identity)
