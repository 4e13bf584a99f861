"""Observer of a lab in a story: reads its journal without copies, looks at it at moments, and follows its polls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar, Unpack

from labkit.control.functions import PollFollowers
from labkit.core.canonical import canonical_names
from labkit.core.journal import Journal
from labkit.core.record_lines import FAILED
from labkit.firmware.run import ProgramRun
from labkit.lab.fleet_limits import FleetLimits
from labkit.lab.lab import Lab
from labkit.lab.story import story_of
from labkit.lab.unused_parts import PartState
from labkit.labtime.device_scheduler import Failure
from labkit.labtime.story_threads import DevicePeriod

T = TypeVar("T")


class LabObserver:
    """Observer of a lab, in its own process and in a story. None of its methods adds a record or changes an order."""

    def __init__(self, lab: Lab) -> None:
        self._runtime = lab._runtime

    def read(self, function: Callable[[Journal], T]) -> T:
        """Return the result of a function, called with the journal on the lab's loop."""
        return self._runtime.run(self._runtime.control.functions.read, function)

    def look(self, every: float, function: Callable[[], bool]) -> None:
        """Call a function every so many seconds of lab time until it returns False, in a thread of its own.

        Everything earlier is over at its moment, and nothing of that moment has happened. It may use the lab as the
        story does.
        """
        story_of(self._runtime).look(every, function)

    def wait(self, seconds: float) -> None:
        """Let lab time pass, as `Lab.wait`."""
        story_of(self._runtime).wait(seconds)

    def follow_polls(self, **functions: Unpack[PollFollowers]) -> None:
        """Call functions on the lab's loop for what devices poll and read."""
        self._runtime.run(self._runtime.control.functions.follow_polls, **functions)

    @property
    def last_record(self) -> int:
        """Sequence number of the journal's newest record, 0 if there was none yet."""
        return self._runtime.control.functions.last_record

    @property
    def dropped_records(self) -> int:
        """Number of records that the journal has not kept."""
        return self._runtime.control.functions.dropped_records

    def looks(self) -> list[range]:
        """Return the records that looks of promises made, by their sequence numbers; a watch adds those of its own."""
        return story_of(self._runtime).looks

    def names_in_text(self, looks: Iterable[range]) -> tuple[str, ...]:
        """Return the names of looks' records in the canonical text."""
        names = self.read(lambda journal: canonical_names(journal.select()))
        return tuple(sorted({names[each] for look in looks for each in look if each in names}))

    def operation_names(self) -> set[str]:
        """Return the names of all operations that a solution may call, such as `Keystore.get`."""
        return self._runtime.run(self._runtime.control.functions.operation_names)

    def event_names(self) -> set[str]:
        """Return the names of the events that the platform emits, as in the journal."""
        return self._runtime.run(self._runtime.control.functions.event_names)

    def parts(self) -> dict[str, PartState]:
        """Return the parts that the story has added, by a phrase that names each, with what became of them.

        Handlers of events, and the fleets of a product. `failed`: each run of the handler ended with an error.
        """
        parts = self._runtime.parts
        fleets: dict[str, PartState] = {
            f"the fleet of product {product!r}": "ran" if has_run else "idle"
            for product, has_run in parts.fleets.items()
        }
        if not parts.handlers:
            return fleets
        runs, solutions = self.read(_runs), self.solutions()
        return fleets | {
            f"solution {solution!r}{'' if solutions.get(solution) else ' (no products)'}: its handler of {event}": (
                runs.get((solution, event), "idle")
            )
            for solution, event in sorted(parts.handlers)
        }

    def keep_mistakes(self) -> None:
        """Have the lab warn of no mistakes, so that `take_mistakes` returns all."""
        self._runtime.keep_mistakes()

    def take_mistakes(self) -> tuple[str, ...]:
        """Remove and return the mistakes in calls of handlers and of handles as sentences."""
        return tuple(self._runtime.take_mistakes())

    def limit_fleets(self, limits: FleetLimits) -> None:
        """Limit the fleets that the lab will have, and their runs."""
        self._runtime.fleet_limits = limits

    def follow_clears(self, cleared: Callable[[], object]) -> None:
        """Call a function whenever the journal is cleared."""
        self.read(lambda journal: journal.watch_clear(cleared))

    def fleet_devices(self) -> Mapping[str, DevicePeriod]:
        """Return the devices of the story's fleets by their names in the journal, with the times of their ends."""
        return story_of(self._runtime).scheduler.fleet_devices

    def last_hit(self, fault: str) -> int:
        """Return the number of the journal's newest record when a fault of devices hit for the last time."""
        return self._runtime.device_faults.counts(fault)[3]

    def crashes(self) -> Sequence[tuple[str, Failure]]:
        """Return the failures of behaviours with the names of their devices in the journal; later ones are added."""
        return story_of(self._runtime).scheduler.crashes

    def programs(self) -> Mapping[str, DevicePeriod]:
        """Return the programs of `lab.firmware` by their identities, with the times of their ends.

        The state of one that has ended by itself, and should not have, is `failed`.
        """
        found = self._runtime.run(self._runtime.control.firmware.all)
        return {each.name: _period(each) for each in found}

    def accept_ends(self) -> None:
        """Have lab time go on without the programs whose unexpected end was raised."""
        self._runtime.run(self._runtime.control.firmware.accept_ends)

    @property
    def now(self) -> float:
        """Lab time, in seconds since 1970."""
        return self._runtime.control.lab_time() or 0.0

    def product_ids(self) -> set[str]:
        """Return the ids of the lab's products."""
        return {each.id for each in self._runtime.run(self._runtime.control.products.all)}

    def solutions(self) -> dict[str, tuple[str, ...]]:
        """Return the ids of the lab's solutions, with those of the products that each is linked to."""
        found = self._runtime.run(self._runtime.control.solutions.all)
        return {each.id: each.products for each in found}


def _period(run: ProgramRun) -> DevicePeriod:
    if run.ended is None or run.waits_for_start:
        return DevicePeriod()
    return DevicePeriod(run.ended.time, "ended" if run.ended.by or run.ends else "failed")


def _runs(journal: Journal) -> dict[tuple[str, str], PartState]:
    """Return what became of handlers, by solution and summary."""
    found: dict[tuple[str, str], PartState] = {}
    for each in journal.iterate("script"):
        key = each.actor, each.summary
        has_failed = each.status is not None and each.status >= FAILED
        found[key] = found.get(key, "failed") if has_failed else "ran"
    return found
