"""Faults of a fleet's devices: at their end of the connection, and in themselves (`fault_kinds.KINDS`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labkit.core.chance import Chance, chance
from labkit.core.errors import LabError, unknown
from labkit.core.extras import needs
from labkit.core.keywords import lists
from labkit.faults.patterns import Patterns
from labkit.fleet.fault_kinds import (
    KINDS,
    RESTART,
    Devices,
    check_restart,
    checked_actions,
    checked_devices,
    checked_seconds,
)

if TYPE_CHECKING:
    import pandas

    from labkit.fleet.fleet_device import FleetDevice
    from labkit.fleet.plan import FaultKey, Restart

MOST = 1000  # faults of one fleet


@dataclass(frozen=True)
class DeviceFault:
    """One fault. Every device counts for itself, and has chance of its own.

    devices: numbers and patterns of identities; actions: of which requests; both None for all. after: seconds of lab
    time into a run, for what happens once in it, to the platform.
    """

    name: str
    does: str
    seconds: float
    first: int | None
    every: int | None
    chance: float | None
    devices: tuple[str | int, ...] | None
    actions: tuple[str, ...] | None
    after: float | None = None

    @property
    def often(self) -> str:
        """How often it hits, in words."""
        if self.after is not None:
            return f"after {self.after:g} s"
        words = [
            f"{name} {value:g}"
            for name, value in (("chance", self.chance), ("every", self.every), ("first", self.first))
            if value is not None
        ]
        return ", ".join(words) or "always"


@dataclass
class Counts:
    """What a fault could have hit at a device, and what it did. drawn: the device's chance for this fault; told: what
    another process knows of it."""

    drawn: Chance
    concerned: bool
    seen: int = 0
    hits: int = 0
    told: tuple[int, int] = (0, 0)


class FleetFaults:
    """The faults of a fleet, in the order in which they came. Each run of it counts anew."""

    def __init__(self, seed: int, identities: Mapping[int, str], faults: Iterable[DeviceFault] = ()) -> None:
        """identities: of its devices, by number."""
        self._seed = seed
        self._identities = identities
        self._faults = {each.name: each for each in faults}
        self._played: PlayedFaults | None = None  # in the run that was started last

    @lists({name: kind.meaning for name, kind in KINDS.items()}, "Faults")
    def add(
        self,
        does: str,
        *,
        every: int | None = None,
        chance: float | None = None,
        first: int | None = None,
        seconds: float | None = None,
        after: float | None = None,
        devices: Devices | None = None,
        actions: str | Iterable[str] | None = None,
        name: str | None = None,
    ) -> str:
        """Put a fault on the fleet, from its next run on: `fleet.faults.add("drop after", every=10)`. Gives its name.

        does: a fault of the list below; seconds: of lab time; after: when the platform restarts, in seconds of lab time
        from the beginning of a run.
        every: the n-th request of each device; chance: from 0 to 1, from the device's own seed; first: at most so many
        hits a device. devices: identities (`*` stands for any characters) or numbers; actions: `write`, `poll` …
        Raises LabError naming what is wrong and what was expected.
        """
        kind = KINDS.get(does)
        if kind is None:
            raise LabError(unknown("fault of a device", does, KINDS))
        for each, value in (("every", every), ("first", first)):
            if value is not None and (type(value) is not int or value < 1):
                raise LabError(f"{each}: expected a number of requests, not {value!r}")
        if chance is not None and not (type(chance) in (int, float) and 0 < chance <= 1):
            raise LabError(f"chance: expected a number above 0, up to 1, not {chance!r}")
        check_restart(does, after, every=every, chance=chance, first=first, devices=devices, actions=actions)
        if every is not None and chance is not None:
            raise LabError("every cannot go with chance")
        if kind.once and every is None and chance is None and first is None:
            first = 1
        name = name or self._free_name()
        if name in self._faults:
            raise LabError(
                f"fault {name!r} is there already; take it out first: fleet.faults.remove({name!r})"
            )
        if len(self._faults) >= MOST:
            raise LabError(f"expected at most {MOST} faults; take some out: fleet.faults.clear()")
        length = checked_seconds(kind, does, seconds)
        self._faults[name] = DeviceFault(
            name,
            does,
            length,
            first,
            every,
            chance,
            checked_devices(devices, self._identities),
            checked_actions(kind, actions),
            None if after is None else checked_seconds(kind, does, after, "after"),
        )
        return name

    def remove(self, name: str) -> None:
        """Take a fault out, from the next run on. Raises LabError naming those that are there."""
        if name not in self._faults:
            raise LabError(unknown("fault", name, self._faults))
        del self._faults[name]

    def clear(self) -> None:
        """Take all out, from the next run on."""
        self._faults.clear()

    def begin(self) -> PlayedFaults | None:
        """Those of a run that begins; None where there are none, so that nothing is paid."""
        several = tuple(each for each in self if each.does != RESTART)
        restarts = tuple(each for each in self if each.does == RESTART)
        self._played = PlayedFaults(self._seed, several, restarts) if self._faults else None
        return self._played

    def rows(self) -> list[dict[str, Any]]:
        """All of them, with how often they hit in the run that was started last."""
        return [
            {
                "name": each.name,
                "does": each.does + (f" {each.seconds:g} s" if each.seconds else ""),
                "often": each.often,
                "devices": "all" if each.devices is None else ", ".join(map(str, each.devices)),
                "actions": "all" if each.actions is None else ", ".join(each.actions),
                "seen": self._sum(each.name, "seen"),
                "hits": self._sum(each.name, "hits"),
            }
            for each in self
        ]

    def frame(self) -> pandas.DataFrame:
        """The same as a table, a row a fault, indexed by name."""
        with needs("tables"):
            import pandas

        columns = ["name", "does", "often", "devices", "actions", "seen", "hits"]
        return pandas.DataFrame(self.rows(), columns=columns).set_index("name")

    def _repr_html_(self) -> str:
        html: str = self.frame().reset_index().to_html(index=False)
        return html

    def __iter__(self) -> Iterator[DeviceFault]:
        return iter(tuple(self._faults.values()))

    def __len__(self) -> int:
        return len(self._faults)

    def __repr__(self) -> str:
        lines = [
            f"{each['name']}: {each['does']}, {each['often']}; hit {each['hits']} of {each['seen']}"
            for each in self.rows()
        ]
        return "\n".join(lines) or "<no faults>"

    def _sum(self, name: str, what: str) -> int:
        counts = {} if self._played is None else self._played.counts
        return sum(getattr(each, what) for (fault, _), each in counts.items() if fault == name)

    def _free_name(self) -> str:
        number = len(self._faults) + 1
        while f"fault {number}" in self._faults:
            number += 1
        return f"fault {number}"


@dataclass
class PlayedFaults:
    """The faults of one run: `DeviceFaults` of its plan. restarts: of the platform, played by who plays the run."""

    seed: int
    faults: tuple[DeviceFault, ...]
    restarts: tuple[DeviceFault, ...] = ()
    counts: dict[tuple[str, int], Counts] = field(default_factory=dict)
    _busy: set[int] = field(default_factory=set)  # devices that one hits now: what it does meets no other

    @property
    def titles(self) -> list[str]:
        """Each fault of devices in words."""
        return [f"{each.does}, {each.often}" for each in self.faults]

    def restarted(self, fault: Restart) -> None:
        """Count a restart of the platform."""
        self.put({(fault.name, 0): (1, 1)})

    def take(self) -> dict[FaultKey, tuple[int, int]]:
        """As DeviceFaults.take."""
        taken = {}
        for key, counts in self.counts.items():
            now = counts.seen, counts.hits
            if now != counts.told:
                taken[key] = now[0] - counts.told[0], now[1] - counts.told[1]
                counts.told = now
        return taken

    def put(self, taken: Mapping[FaultKey, tuple[int, int]]) -> None:
        """As DeviceFaults.put."""
        for key, (seen, hits) in taken.items():
            counts = self.counts.get(key)
            if counts is None:
                counts = self.counts[key] = Counts(chance(self.seed, "fault", *key), True)
            counts.seen, counts.hits = counts.seen + seen, counts.hits + hits
            counts.told = counts.seen, counts.hits

    async def before(self, device: FleetDevice, action: str) -> None:
        """The device is about to send a request."""
        await self._meet(device, action, before=True)

    async def after(self, device: FleetDevice, action: str) -> None:
        """An answer has come, and the device has not looked at it."""
        await self._meet(device, action, before=False)

    async def woken(self, device: FleetDevice) -> None:
        """Nothing hits a device that sleeps."""

    async def _meet(self, device: FleetDevice, action: str, *, before: bool) -> None:
        if device.number in self._busy:
            return
        for fault in self.faults:
            kind = KINDS[fault.does]
            early = kind.before if kind.before is not None else not device.simulated
            if kind.play is not None and early is before and self._hits(fault, device, action):
                self._busy.add(device.number)
                try:
                    await kind.play(device, fault.seconds)
                finally:
                    self._busy.discard(device.number)

    def _hits(self, fault: DeviceFault, device: FleetDevice, action: str) -> bool:
        key = fault.name, device.number
        counts = self.counts.get(key)
        if counts is None:
            concerned = fault.devices is None or _is_one_of(fault.devices, device)
            counts = self.counts[key] = Counts(chance(self.seed, "fault", *key), concerned)
        if not counts.concerned or (fault.actions is not None and action not in fault.actions):
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


def _is_one_of(devices: tuple[str | int, ...], device: FleetDevice) -> bool:
    if device.number in devices:
        return True
    return Patterns(each for each in devices if isinstance(each, str)).match(device.identity)
