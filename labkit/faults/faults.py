"""All faults of a lab."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from labkit.core.clock import Clock
from labkit.core.component import Component
from labkit.core.directory import Directory
from labkit.core.errors import LabError, LabkitError, SettingsError, unknown
from labkit.core.events import Events
from labkit.core.holding import Holding
from labkit.core.identifiers import Identifiers
from labkit.core.journal import Journal
from labkit.faults.awaited import AwaitedAnswers
from labkit.faults.calls import Calls
from labkit.faults.delays import Delays
from labkit.faults.events import EventFaults
from labkit.faults.fault import Fault, Origin
from labkit.faults.lanes import Lanes
from labkit.faults.named import ProviderFaults, named
from labkit.faults.outgoing import Outgoing
from labkit.faults.patterns import ANY, Pattern
from labkit.faults.requests import Requests
from labkit.faults.runs import Runs
from labkit.faults.tools import Tools
from labkit.http.sites import HostTable
from labkit.settings import FaultSettings

MOST = 1000  # faults at one time
DIGITS = 13  # hexadecimal ones of a draw: as many as a float holds

S = TypeVar("S", bound=str)


@dataclass(frozen=True, slots=True)
class FaultRow:
    """A fault in a table. origin: `settings` (a reset puts it back) or `hand`."""

    name: str
    where: str
    does: str
    often: str
    whom: str
    seen: int
    hits: int
    origin: Origin


class Faults(Component):
    """The named faults of a lab, in the order in which they came.

    requests, calls, outgoing (and `interfere` of the events): None while there is no fault of that kind, or all of
    them are spent, which is all that the points where they hit have to ask.
    """

    def __init__(
        self,
        settings: Iterable[FaultSettings],
        *,
        clock: Clock,
        journal: Journal,
        holding: Holding,
        identifiers: Identifiers,
        events: Events,
        hosts: HostTable,
        products: Directory[Any],
        solutions: Directory[Any],
    ) -> None:
        self.requests: Requests | None = None
        self.calls: Calls | None = None
        self.outgoing: Outgoing | None = None
        self.operations: Callable[[], Mapping[str, Iterable[str]]] = (
            dict  # of all services, as they are known later
        )
        self._settings = tuple(settings)
        self._marks = journal.marks
        self._identifiers = identifiers
        self._events = events
        self._hosts = hosts
        self._products = products
        self._solutions = solutions
        self.delays = Delays()
        runs = Runs(holding)
        self.awaited = AwaitedAnswers(runs)
        self._tools = Tools(clock, journal, runs, self.delays, self.awaited, self._arrange)
        self._faults: dict[str, Fault] = {}
        self._providers: dict[str, ProviderFaults[Any]] = {}
        self._lanes = Lanes(clock, events, self._arrange)

    def __iter__(self) -> Iterator[Fault]:
        return iter(tuple(self._faults.values()))

    def __len__(self) -> int:
        return len(self._faults)

    async def refill(self) -> None:
        """Put those of the settings there. Raises SettingsError naming the first that cannot be."""
        for number, each in enumerate(self._settings):
            try:
                self.add(each, "settings")
            except LabkitError as error:
                raise SettingsError(f"faults[{number}]: {error}") from None

    async def crash(self) -> None:
        """Events that are late were queued in the platform."""
        self._lanes.clear()
        self._arrange()

    async def clear(self) -> None:
        """Forget them all, and what is late."""
        self._forget()

    async def stop(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._faults.clear()
        self._lanes.clear()
        self._arrange()

    def add(self, settings: FaultSettings, origin: Origin = "hand") -> Fault:
        """Add a fault; without a name it is `fault 1` and so on.

        Raises LabError for a name that is taken, for a place, a product or a solution that there is not, and for more
        than MOST of them.
        """
        self._check(settings)
        self._make_space()
        name = settings.name or self._free_name()
        if name in self._faults:
            raise LabError(f"fault {name!r} is there already; take it out first: lab.faults.remove({name!r})")
        fault = self._faults[name] = Fault(name, settings, origin, self._draw)
        self._arrange()
        if origin == "hand":
            self._marks.add("fault", fault.title)
        return fault

    def remove(self, name: str) -> None:
        """Take a fault out. Raises LabError naming those that are there."""
        fault = self._get(name)
        del self._faults[fault.name]
        self._arrange()
        self._end([fault])

    def remove_all(self) -> None:
        """Take all out, those of the settings too; events that are late never come."""
        ended = list(self)
        self._forget()
        self._end(ended)

    def _end(self, faults: Iterable[Fault]) -> None:
        """Mark the end of faults, but of those that were spent before."""
        for each in faults:
            if not each.spent:
                self._marks.add("fault", f"{each.title} ends")

    def rows(self) -> list[FaultRow]:
        """All of them, in the order in which they came."""
        return [_row(each) for each in self]

    def row(self, name: str) -> FaultRow:
        """The one of this name. Raises LabError naming those that are there."""
        return _row(self._get(name))

    def _get(self, name: str) -> Fault:
        if name not in self._faults:
            raise LabError(unknown("fault", name, self._faults))
        return self._faults[name]

    def provider(self, name: str, known: Mapping[str, tuple[S, ...]]) -> ProviderFaults[S]:
        """The faults of a provider that is added. known: name → the steps that each can hit."""

        def remove(faults: list[Fault]) -> None:
            for each in faults:
                del self._faults[each.name]

        made = ProviderFaults[S](name, known, self._tools, self.add, lambda: list(self), remove)
        self._providers[name] = made
        return made

    def _arrange(self, spent: Fault | None = None) -> None:
        """Have each point know those that may hit there yet."""
        if spent is not None:
            self._marks.add("fault", f"{spent.title} ends")

        def of(kind: str) -> tuple[Fault, ...]:
            return tuple(each for each in self._faults.values() if each.place.kind == kind and not each.spent)

        requests, calls, outgoing, events = map(of, ("request", "call", "outgoing", "event"))
        self.requests = Requests(requests, self._tools) if requests else None
        self.calls = Calls(calls, self._tools) if calls else None
        self.outgoing = Outgoing(outgoing, self._tools) if outgoing else None
        interfering = (
            EventFaults(events, self._tools, self._events, self._lanes)
            if events or self._lanes.held
            else None
        )
        self._events.interfere = interfering.deliver if interfering is not None else None

    @property
    def delay(self) -> bool:
        """May any of them hold something for lab time?"""
        return any(each.settings.delay is not None and not each.spent for each in self._faults.values())

    def _make_space(self) -> None:
        """Forget the oldest that is spent, where there are as many as there may be. Raises LabError."""
        if len(self._faults) < MOST:
            return
        spent = next((each.name for each in self._faults.values() if each.spent), None)
        if spent is None:
            raise LabError(f"expected at most {MOST} faults; take some out: lab.faults.clear()")
        del self._faults[spent]

    def _free_name(self) -> str:
        number = len(self._faults) + 1
        while f"fault {number}" in self._faults:
            number += 1
        return f"fault {number}"

    def _draw(self, name: str, actor: str) -> float:
        return int(self._identifiers.hex(f"fault {name} {actor}", DIGITS), 16) / float(16**DIGITS)

    def _check(self, settings: FaultSettings) -> None:
        """Raises LabError for what the lab has not."""
        for directory, names in ((self._products, settings.product), (self._solutions, settings.solution)):
            for each in names or ():
                if ANY not in each:
                    directory.get(each)
        hosts = [site.host for site in self._hosts]
        for each in settings.site or ():
            if not any(map(Pattern(each).matches, hosts)):
                raise LabError(unknown("site", each, hosts))
        kind, first, second = settings.place
        if kind == "call":
            self._check_operation(first, second)
        elif kind == "event":
            self._check_event(first, second)
        elif kind == "provider":
            if first not in self._providers:
                raise LabError(unknown("provider", first, self._providers))
            _, step = named(self._providers[first].known, settings.does or "", second or None)
            if not second:
                raise LabError(f"expected the step too: provider {first} {step}")

    def _check_operation(self, service: str, operation: str) -> None:
        known = self.operations()
        services = [name for name in known if Pattern(service).matches(name)]
        if known and not services:
            raise LabError(unknown("service", service, known))
        operations = sorted({each for name in services for each in known[name]})
        if services and not any(map(Pattern(operation).matches, operations)):
            raise LabError(unknown(f"operation of {service}", operation, operations))

    def _check_event(self, service: str, event: str) -> None:
        kinds = [
            (each.service.lower(), {each.event.lower(), each.type.lower()}) for each in self._events.kinds()
        ]
        found = [names for name, names in kinds if Pattern(service).matches(name)]
        if not found and not any(Pattern(service).matches(each.lower()) for each in self.operations()):
            raise LabError(unknown("service with events", service, dict(kinds)))
        if found and not any(
            ANY in names or any(map(Pattern(event).matches, names - {""})) for names in found
        ):
            events = sorted({each for names in found for each in names - {""}})
            raise LabError(unknown(f"event of {service}", event, events))


def _row(fault: Fault) -> FaultRow:
    where = fault.settings.where
    return FaultRow(
        fault.name, where, fault.does, fault.often, fault.whom, fault.seen, fault.hits, fault.origin
    )
