"""Faults injected at a fleet's devices and at their end of the connection (`fault_kinds.KINDS`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labkit.core.chance import Chance, chance
from labkit.core.errors import LabError, TakenError, UnknownError, unknown
from labkit.core.extras import needs
from labkit.core.handle import Handle
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
    """Fault of a fleet, counted and drawn separately for each device.

    devices: numbers and patterns of identities; actions: kinds of requests; None for all. after: of a platform restart,
    lab seconds from the beginning of a run. seconds, first, every, chance: as in FleetFaults.add.
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
        """Frequency of the fault in words."""
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
    """Counts of a fault at one device.

    drawn: random generator of this fault and device; concerned: whether the fault applies to the device; seen: requests
    that it could hit; hits: requests that it hit; reported: seen and hits that `take` has returned.
    """

    drawn: Chance
    concerned: bool
    seen: int = 0
    hits: int = 0
    reported: tuple[int, int] = (0, 0)


class FleetFaults(Handle):
    """Faults of a fleet, in the order in which they were added. Counts start from 0 in each run."""

    def __init__(self, seed: int, identities: Mapping[int, str], faults: Iterable[DeviceFault] = ()) -> None:
        """identities: of the fleet's devices, by number."""
        self._seed = seed
        self._identities = identities
        self._faults = {each.name: each for each in faults}
        self._last_run: RunFaults | None = None  # of the last run

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
        """Add a fault from the fleet's next run on, and return its name: `fleet.faults.add("drop after", every=10)`.

        does: a fault of the list below; seconds: of lab time; after: time of a platform restart, in seconds of lab time
        from the beginning of a run; every: hits every n-th request of each device; chance: from 0 to 1, from the
        device's own seed; first: largest number of hits per device. devices: identities (`*` stands for any characters)
        or numbers; actions: `write`, `poll` … Raises LabError naming what is wrong and what was expected.
        """
        kind = KINDS.get(does)
        if kind is None:
            raise UnknownError(unknown("fault of a device", does, KINDS))
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
            raise TakenError(
                f"fault {name!r} is there already; remove it first: fleet.faults.remove({name!r})"
            )
        if len(self._faults) >= MOST:
            raise LabError(f"expected at most {MOST} faults; remove some: fleet.faults.clear()")
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
        """Remove the fault with this `name` from the next run on.

        Raises UnknownError, listing the existing names, if there is none.
        """
        if name not in self._faults:
            raise UnknownError(unknown("fault", name, self._faults))
        del self._faults[name]

    def clear(self) -> None:
        """Remove all faults from the next run on."""
        self._faults.clear()

    def begin(self) -> RunFaults | None:
        """Return the faults of a new run, None if there are none, so that they cost nothing."""
        of_devices = tuple(each for each in self if each.does != RESTART)
        restarts = tuple(each for each in self if each.does == RESTART)
        self._last_run = RunFaults(self._seed, of_devices, restarts) if self._faults else None
        return self._last_run

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per fault, with its counts in the last run."""
        return [
            {
                "name": each.name,
                "does": each.does + (f" {each.seconds:g} s" if each.seconds else ""),
                "often": each.often,
                "devices": "all" if each.devices is None else ", ".join(map(str, each.devices)),
                "actions": "all" if each.actions is None else ", ".join(each.actions),
                "seen": self._total(each.name, "seen"),
                "hits": self._total(each.name, "hits"),
            }
            for each in self
        ]

    def frame(self) -> pandas.DataFrame:
        """Return the rows as a table indexed by name."""
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

    def _total(self, name: str, column: str) -> int:
        counts = {} if self._last_run is None else self._last_run.counts
        return sum(getattr(each, column) for (fault, _), each in counts.items() if fault == name)

    def _free_name(self) -> str:
        number = len(self._faults) + 1
        while f"fault {number}" in self._faults:
            number += 1
        return f"fault {number}"


@dataclass
class RunFaults:
    """Faults of one run; implements `DeviceFaults`. restarts: of the platform; the run's caller performs them."""

    seed: int
    faults: tuple[DeviceFault, ...]
    restarts: tuple[DeviceFault, ...] = ()
    counts: dict[tuple[str, int], Counts] = field(default_factory=dict)
    # Numbers of devices in a fault; no other fault hits what they do in it.
    _busy: set[int] = field(default_factory=set)

    @property
    def titles(self) -> list[str]:
        """Descriptions of the device faults."""
        return [f"{each.does}, {each.often}" for each in self.faults]

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
            counts.reported = counts.seen, counts.hits

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
        for fault in self.faults:
            kind = KINDS[fault.does]
            early = kind.before if kind.before is not None else not device.simulated
            if kind.apply is not None and early is before and self._hits(fault, device, action):
                self._busy.add(device.number)
                try:
                    await kind.apply(device, fault.seconds)
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
