"""The faults of a lab, and the points at which they are injected."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from labkit.core.component import Component
from labkit.core.directory import Directory
from labkit.core.errors import LabError, LabkitError, SettingsError, TakenError, UnknownError, unknown
from labkit.core.identifiers import Identifiers
from labkit.core.journal import Journal
from labkit.faults.awaited import AwaitedAnswers
from labkit.faults.calls import CallFaults
from labkit.faults.delays import Delays, Held
from labkit.faults.events import EventFaults
from labkit.faults.fault import ActiveFault, Origin, State
from labkit.faults.lanes import Lanes, LateState
from labkit.faults.messages import MessageFaults
from labkit.faults.outgoing import OutgoingFaults
from labkit.faults.overlap import Overlap
from labkit.faults.patterns import ANY, Pattern
from labkit.faults.periods import Periods
from labkit.faults.provider_faults import ProviderFaults, find_provider_fault
from labkit.faults.requests import IncomingFaults
from labkit.faults.rows import FaultRow, row_of
from labkit.faults.runs import DelayedRuns
from labkit.faults.tools import FaultTools
from labkit.http.sites import HostTable
from labkit.labtime.clock import Clock, TimerState
from labkit.labtime.events import Events
from labkit.labtime.holding import Holding
from labkit.settings import FaultSettings, OverlapSettings, shown_key


@dataclass(frozen=True, slots=True)
class FaultState:
    """A fault as plain data: see `ActiveFault`. timer: the next one of its period."""

    name: str
    settings: FaultSettings
    origin: Origin
    state: State
    seen: int
    hits: int
    timer: TimerState | None


@dataclass(frozen=True, slots=True)
class FaultsState:
    """All faults as plain data. of_settings: those to which a reset returns; late: events that wait."""

    of_settings: tuple[FaultSettings, ...]
    faults: list[FaultState]
    late: list[LateState]


MAX_FAULTS = 1000  # faults at one time
DIGITS = 13  # hexadecimal digits of a draw: as many as a float can represent

S = TypeVar("S", bound=str)


class Faults(Component):
    """The named faults of a lab, in the order in which they were added.

    requests, calls, outgoing, messages (and `interfere` of the events): injection points, None while no fault of that
    kind is active, so that the caller needs only one test.
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
        self.requests: IncomingFaults | None = None
        self.calls: CallFaults | None = None
        self.outgoing: OutgoingFaults | None = None
        self.messages: MessageFaults | None = None
        self.operations: Callable[[], Mapping[str, Iterable[str]]] = (
            dict  # of all services; set once these are made
        )
        self.restart: Callable[[float], Awaitable[object]] = _no_platform  # set by the platform
        self._settings = tuple(settings)
        self._marks = journal.marks
        self._identifiers = identifiers
        self._events = events
        self._hosts = hosts
        self._products = products
        self._solutions = solutions
        self.delays = Delays()
        runs = DelayedRuns(holding)
        self.awaited = AwaitedAnswers(runs)
        self._tools = FaultTools(
            clock, journal, runs, self.delays, self.awaited, self._finish, self._cut_power
        )
        self._overlap = Overlap(clock, self._tools, self._draw)
        self._faults: dict[str, ActiveFault] = {}
        self._providers: dict[str, ProviderFaults[Any]] = {}
        self._lanes = Lanes(clock, events, self._arrange)
        self._periods = Periods(clock, self._begin, self._finish)

    state_type = FaultsState

    def snapshot(self) -> FaultsState:
        return FaultsState(
            self._settings,
            [
                FaultState(
                    each.name,
                    each.settings,
                    each.origin,
                    each.state,
                    each.seen,
                    each.hits,
                    self._periods.timer(each),
                )
                for each in self
            ],
            self._lanes.snapshot(),
        )

    async def restore(self, state: FaultsState) -> None:
        self._settings = state.of_settings
        for each in state.faults:
            self._check(each.settings)
            fault = self._faults[each.name] = ActiveFault(each.name, each.settings, each.origin, self._draw)
            fault.state, fault.seen, fault.hits = each.state, each.seen, each.hits
            if each.timer is not None:
                self._periods.restore(fault, each.timer)
        self._lanes.restore(state.late)
        self._arrange()

    def __iter__(self) -> Iterator[ActiveFault]:
        return iter(tuple(self._faults.values()))

    def __len__(self) -> int:
        return len(self._faults)

    async def refill(self) -> None:
        """Add the faults of the settings. Raises SettingsError for the first that is invalid."""
        self._add_all(self._settings)

    def _add_all(self, settings: Sequence[FaultSettings], there: Container[FaultSettings] = ()) -> None:
        """Add faults of the settings, except those that are there. Raises SettingsError for the first invalid one."""
        for number, each in enumerate(settings):
            try:
                if each not in there:
                    self.add(each, "settings")
            except LabkitError as error:
                raise SettingsError(f"{shown_key((number,), settings, 'faults')}: {error}") from None

    def configure(self, settings: Iterable[FaultSettings]) -> None:
        """Replace the faults of the settings while the lab runs; those that are in both keep their counts.

        Raises SettingsError, and changes nothing, for the first that is invalid.
        """
        chosen = tuple(settings)
        before = dict(self._faults)
        self._faults = {
            name: each for name, each in before.items() if each.origin == "hand" or each.settings in chosen
        }
        try:
            self._add_all(chosen, self._settings)
        except SettingsError:
            for each in self:
                if before.get(each.name) is not each:
                    self._periods.stop(each)
            self._faults = before
            self._arrange()
            raise
        self._arrange()
        self._end(each for name, each in before.items() if self._faults.get(name) is not each)
        self._settings = chosen

    async def crash(self) -> None:
        """Drop late events: they were queued in the platform."""
        self._lanes.clear()
        self._arrange()

    async def clear(self) -> None:
        """Remove all faults and late events; nothing overlaps any more."""
        self.overlap(OverlapSettings())
        self._forget()

    async def stop(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._periods.clear()
        self._faults.clear()
        self._lanes.clear()
        self._arrange()

    def add(self, settings: FaultSettings, origin: Origin = "hand", *, early: bool = False) -> ActiveFault:
        """Add a fault; without a name it is `fault 1` and so on.

        early: whether the products, solutions and services that it names may be added later. Raises TakenError for a
        duplicate name, UnknownError for an unknown place, product or solution unless `early`, and LabError for more
        than MAX_FAULTS faults.
        """
        if not early:
            self._check(settings)
        fault = self._insert(settings, origin)
        self._periods.start(fault)
        self._arrange()
        if origin == "hand" and fault.state == "active":
            self._marks.add("fault", fault.title)
        return fault

    def describe(self, settings: FaultSettings) -> FaultRow:
        """Return the row that a fault would have if it were added now. Raises what `add` raises for it."""
        self._check(settings)
        return row_of(self._made(settings, "hand"))

    def _insert(self, settings: FaultSettings, origin: Origin) -> ActiveFault:
        """List a fault, not in use yet."""
        self._make_space()
        fault = self._made(settings, origin)
        self._faults[fault.name] = fault
        return fault

    def _made(self, settings: FaultSettings, origin: Origin) -> ActiveFault:
        """Return a fault that is not listed. Raises TakenError for a name in use."""
        name = settings.name or self._free_name()
        if name in self._faults:
            raise TakenError(f"fault {name!r} is there already; remove it first: lab.faults.remove({name!r})")
        return ActiveFault(name, settings, origin, self._draw)

    def problems(self) -> Iterator[tuple[int, LabkitError]]:
        """Yield the index and the error of each invalid fault of the settings; for a lab that is never started."""
        for number, each in enumerate(self._settings):
            try:
                self._check(each)
                self._insert(each, "settings")
            except LabkitError as error:
                yield number, error

    def remove(self, name: str) -> None:
        """Remove a fault. Raises UnknownError, listing the existing names, if there is none of this name."""
        fault = self._get(name)
        del self._faults[fault.name]
        self._arrange()
        self._end([fault])

    def remove_all(self) -> None:
        """Remove all faults, including the faults of the settings, and drop late events."""
        ended = list(self)
        self._forget()
        self._end(ended)

    def _end(self, faults: Iterable[ActiveFault]) -> None:
        """Mark the end of faults that were removed, except of faults that had not begun or had ended before."""
        for each in faults:
            self._periods.stop(each)
            if each.state == "active":
                self._marks.add("fault", f"{each.title} ends")
            each.state = "ended"  # a request that another fault delays may still come to it

    def _begin(self, fault: ActiveFault) -> None:
        """Use a fault whose period has begun."""
        self._marks.add("fault", fault.title)
        self._arrange()

    def _finish(self, fault: ActiveFault) -> None:
        """Stop using a fault that hits no more; it stays in the list with its counts."""
        self._periods.stop(fault)
        self._marks.add("fault", f"{fault.title} ends")
        self._arrange()

    def rows(self) -> list[FaultRow]:
        """Return all faults as rows, in the order in which they were added."""
        return [row_of(each) for each in self]

    def row(self, name: str) -> FaultRow:
        """Return the fault with this name. Raises UnknownError, listing the existing names, if there is none."""
        return row_of(self._get(name))

    def _get(self, name: str) -> ActiveFault:
        if name not in self._faults:
            raise UnknownError(unknown("fault", name, self._faults))
        return self._faults[name]

    def provider(self, name: str, known: Mapping[str, tuple[S, ...]]) -> ProviderFaults[S]:
        """Register a provider and return its faults. known: name of each fault → the steps that it can hit."""

        def remove(faults: list[ActiveFault]) -> None:
            for each in faults:
                self._periods.stop(each)
                del self._faults[each.name]

        made: ProviderFaults[S] = ProviderFaults(
            name, known, self._tools, self.add, lambda: list(self), remove
        )
        self._providers[name] = made
        return made

    def _arrange(self) -> None:
        """Give each injection point its active faults."""

        def active(kind: str) -> tuple[ActiveFault, ...]:
            return tuple(each for each in self if each.place.kind == kind and each.state == "active")

        requests, calls, outgoing, events = map(active, ("request", "call", "outgoing", "event"))
        messages = active("message")
        self.requests = IncomingFaults(requests, self._tools) if requests else None
        self.calls = (
            CallFaults(calls, self._tools, self._overlap) if calls or self._overlap.delays_calls else None
        )
        self.outgoing = OutgoingFaults(outgoing, self._tools) if outgoing else None
        self.messages = MessageFaults(messages, self._tools) if messages else None
        interfering = (
            EventFaults(events, self._tools, self._events, self._lanes)
            if events or self._lanes.is_blocked
            else None
        )
        self._events.interfere = interfering.deliver if interfering is not None else None

    @property
    def delay(self) -> bool:
        """Whether any active fault, or the overlap of handlers, delays operations for lab time."""
        return self._overlap.delays_calls or any(
            each.settings.delay is not None and each.state == "active" for each in self._faults.values()
        )

    def overlap(self, settings: OverlapSettings) -> None:
        """Set what overlaps from now on. A call that is under way goes on as it began."""
        self._overlap.settings = settings
        self._events.arrange = None if settings.order == "raised" else self._overlap.in_order
        self._arrange()

    @property
    def in_step(self) -> float | bool:
        """Whether devices act at the same instants, or the seconds between these: see `OverlapSettings`."""
        return self._overlap.settings.in_step

    def held(self) -> list[Held]:
        """Return the operations that faults are delaying, and the late events."""
        return [*self.delays.held(), *self._lanes.held()]

    def _cut_power(self, down: float) -> Awaitable[object]:
        return self.restart(down)

    def _make_space(self) -> None:
        """Remove the oldest ended fault where the maximum is reached. Raises LabError if there is none."""
        if len(self._faults) < MAX_FAULTS:
            return
        ended = next((each.name for each in self if each.state == "ended"), None)
        if ended is None:
            raise LabError(f"expected at most {MAX_FAULTS} faults; remove some: lab.faults.clear()")
        del self._faults[ended]

    def _free_name(self) -> str:
        number = len(self._faults) + 1
        while f"fault {number}" in self._faults:
            number += 1
        return f"fault {number}"

    def _draw(self, name: str, actor: str) -> float:
        return int(self._identifiers.hex(f"fault {name} {actor}", DIGITS), 16) / float(16**DIGITS)

    def unknown_name(self, settings: FaultSettings) -> str:
        """Return a sentence about a name that the lab does not know, as it is now; empty if it knows all."""
        try:
            self._check(settings)
        except LabError as error:
            return str(error)
        return ""

    def _check(self, settings: FaultSettings) -> None:
        """Raise LabError for names in the settings that the lab does not know."""
        for directory, names in ((self._products, settings.product), (self._solutions, settings.solution)):
            for each in names or ():
                if ANY not in each:
                    directory.get(each)
        hosts = [site.host for site in self._hosts]
        for each in settings.site or ():
            if not any(map(Pattern(each).matches, hosts)):
                raise UnknownError(unknown("site", each, hosts))
        kind, first, second = settings.place
        if kind == "call":
            self._check_operation(first, second)
        elif kind == "event":
            self._check_event(first, second)
        elif kind == "provider":
            if first not in self._providers:
                raise UnknownError(unknown("provider", first, self._providers))
            _, step = find_provider_fault(self._providers[first].known, settings.does or "", second or None)
            if not second:
                raise LabError(f"expected a step, too: provider {first} {step}")

    def _check_operation(self, service: str, operation: str) -> None:
        known = self.operations()
        services = [name for name in known if Pattern(service).matches(name)]
        if known and not services:
            raise UnknownError(unknown("service", service, known))
        operations = sorted({each for name in services for each in known[name]})
        if services and not any(map(Pattern(operation).matches, operations)):
            raise UnknownError(unknown(f"operation of {service}", operation, operations))

    def _check_event(self, service: str, event: str) -> None:
        kinds = [
            (each.service.lower(), {each.event.lower(), each.type.lower()}) for each in self._events.kinds()
        ]
        found = [names for name, names in kinds if Pattern(service).matches(name)]
        if not found and not any(Pattern(service).matches(each.lower()) for each in self.operations()):
            raise UnknownError(unknown("service with events", service, dict(kinds)))
        if found and not any(
            ANY in names or any(map(Pattern(event).matches, names - {""})) for names in found
        ):
            events = sorted({each for names in found for each in names - {""}})
            raise UnknownError(unknown(f"event of {service}", event, events))


def _no_platform(down: float) -> Awaitable[object]:
    raise LabError("restart: there is no platform that could lose its power")
