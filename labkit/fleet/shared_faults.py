"""Faults of the devices of all fleets of a lab, also of fleets that are made later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from labkit.core.errors import LabError, UnknownError, unknown
from labkit.fleet.fault_arguments import SharedFaultKeywords, device_fault, fault_name
from labkit.fleet.fault_kinds import CUT_OFF, RESTART
from labkit.fleet.run_faults import DeviceFault, RunFaults

LastHit = tuple[float, int]  # lab time, and the number of the journal's newest record
NO_HIT = 0.0, 0


@dataclass(frozen=True)
class SharedFault:
    """A fault of all fleets.

    fault: its `after` counts from `added`, a lab time; products: those whose devices it hits, None for all.
    """

    fault: DeviceFault
    added: float
    products: tuple[str, ...] | None

    def concerns(self, product: str) -> bool:
        """Return whether the fault hits devices of a product."""
        return self.products is None or product in self.products

    def from_now_on(self, now: float) -> DeviceFault | None:
        """Return the fault with times that count from `now`; None if its time has passed."""
        fault = self.fault
        if not isinstance(fault.after, float) or not isinstance(fault.seconds, float):
            return fault
        after = fault.after - (now - self.added)
        if after >= 0:
            return replace(fault, after=after)
        if fault.does != CUT_OFF or after + fault.seconds <= 0:
            return None
        return replace(fault, after=0.0, seconds=after + fault.seconds)


class SharedFaults:
    """The faults of all fleets of a lab, in the order in which they were added, and how often they did hit."""

    def __init__(self) -> None:
        self._faults: dict[str, SharedFault] = {}
        self._runs: list[RunFaults] = []  # the last one of each fleet
        self._earlier: dict[str, tuple[int, int, LastHit]] = {}  # seen, hits and last hit in runs before
        self.newest_record: Callable[[], int] = int  # number of the journal's newest record

    def __iter__(self) -> Iterator[SharedFault]:
        return iter(tuple(self._faults.values()))

    def add(
        self,
        does: str,
        name: str | None,
        given: SharedFaultKeywords,
        products: tuple[str, ...] | None,
        now: float,
    ) -> str:
        """Add a fault, and return its name. now: lab time. Raises LabError for a wrong argument."""
        name = fault_name(name, self._faults, "lab.device_faults", "lab fault")
        fault = device_fault(does, name, given, None)
        if does == RESTART:
            raise LabError(
                "a platform restart is no matter of fleets: lab.restart() or a fault with restart=True"
            )
        if isinstance(fault.after, tuple):
            raise LabError("after: expected one number of seconds, since it counts from now")
        if does == CUT_OFF:
            if isinstance(fault.seconds, tuple):
                raise LabError("seconds: expected one number of seconds, as of a period that begins for all")
            fault = replace(fault, after=fault.after or 0.0)
        self._earlier.pop(name, None)
        self._faults[name] = SharedFault(fault, now, products)
        return name

    def remove(self, name: str) -> None:
        """Remove a fault, also from runs in progress. Raises UnknownError if there is none of this name."""
        if name not in self._faults:
            raise UnknownError(unknown("fault", name, self._faults))
        del self._faults[name]
        for each in self._runs:
            each.end(name)

    def counts(self, name: str) -> tuple[int, int, float | None, int]:
        """Return how often a fault could have hit, how often it did, and time and record of its last hit, if known."""
        seen, hits, last = self._earlier.get(name, (0, 0, NO_HIT))
        for each in self._runs:
            more = _counts(each, name)
            seen, hits, last = seen + more[0], hits + more[1], max(last, more[2])
        return seen, hits, last[0] or None, last[1]

    def follow(self, before: RunFaults | None, after: RunFaults | None) -> None:
        """Count the hits of a fleet's new run, too, and keep those of the run before it."""
        if before is not None and any(each is before for each in self._runs):
            for name in self._faults:
                seen, hits, last = self._earlier.get(name, (0, 0, NO_HIT))
                more = _counts(before, name)
                self._earlier[name] = seen + more[0], hits + more[1], max(last, more[2])
            self._runs = [each for each in self._runs if each is not before]
        if after is not None:
            after.newest_record = self.newest_record
            self._runs.append(after)


class FaultsOfAll:
    """The faults of all fleets for one of them. product: whose devices it has; now: returns the lab time."""

    def __init__(self, shared: SharedFaults, product: str, now: Callable[[], float]) -> None:
        self._shared = shared
        self._product = product
        self._now = now

    def all(self) -> Iterable[DeviceFault]:
        """Return the shared faults that apply to this fleet, with their configured times."""
        return [each.fault for each in self._shared if each.concerns(self._product)]

    def due(self) -> Iterable[DeviceFault]:
        """Return the faults of a run that begins now, with times that count from its beginning."""
        mine = [each for each in self._shared if each.concerns(self._product)]
        if not mine:
            return []
        now = self._now()
        return [fault for each in mine if (fault := each.from_now_on(now)) is not None]

    def follow(self, before: RunFaults | None, after: RunFaults | None) -> None:
        """Count the hits of a new run: see `SharedFaults.follow`."""
        self._shared.follow(before, after)


def _counts(run: RunFaults, name: str) -> tuple[int, int, LastHit]:
    found = [each for (fault, _), each in run.counts.items() if fault == name]
    return sum(each.seen for each in found), sum(each.hits for each in found), run.last.get(name, NO_HIT)
