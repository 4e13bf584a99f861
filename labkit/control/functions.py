"""Operations that accept Python functions, and therefore work only in the lab's own process.

An async function runs on the platform's event loop, a sync one in a worker thread (solutions/workers.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypedDict, TypeVar, Unpack

from labkit.control.journal import Entry
from labkit.control.services import OperationInfo, described
from labkit.control.solutions import HandlerInfo, handler_info
from labkit.core.code_lines import LineCounts
from labkit.core.errors import LabError, SettingsError
from labkit.core.journal import Journal
from labkit.core.marks import Mark
from labkit.core.records import Record
from labkit.devices.state import Datapoint
from labkit.platform import Platform
from labkit.providers.mail import Mail
from labkit.services.custom import FunctionService, made_of
from labkit.services.mistakes import Mistakes
from labkit.services.operation import Service as Service
from labkit.services.registry import SERVICES
from labkit.settings.notebooks import resolve

T = TypeVar("T")
Key = tuple[str, str, str]  # product, identity, alias


class PollFollowers(TypedDict, total=False):
    """Functions that are called, on the event loop, for what devices poll and read.

    polled, ended: for each poll that begins, or ends; stored: for each datapoint that is stored, with its timestamp;
    answered: for each datapoint that was sent to a poll; read: for each alias whose current value a device reads, with
    the record of its request, which has the status once it is answered.
    """

    polled: Callable[[Key], object]
    ended: Callable[[Key], object]
    stored: Callable[[Key, int], object]
    answered: Callable[[Key, int], object]
    read: Callable[[Key, Record], object]


class LabFollower(Protocol):
    """Observer of a lab.

    record: called with each journal record once it is complete; mail: with each new mail; mark: with each restart,
    fault and release; clear: when the lab is reset.
    """

    def record(self, record: Record | Entry, /) -> object: ...
    def mail(self, mail: Mail, /) -> object: ...
    def mark(self, mark: Mark, /) -> object: ...
    def clear(self) -> object: ...


class FunctionsControl:
    """Operations that register Python functions: as handlers, as services, and as observers of the lab."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    @property
    def mistakes(self) -> Mistakes:
        """Likely mistakes in the calls of handlers, which nobody has read yet."""
        return self._platform.services.mistakes

    async def route(
        self,
        solution: str,
        method: str,
        path: str,
        function: Callable[..., object],
        content_type: str,
        replace: bool = False,
    ) -> None:
        """Answer `method path` of a solution with a function (Solution.route)."""
        _check(function)
        found = self._platform.solutions.get(solution)
        found.route(method, path, function, content_type=content_type, replace=replace)

    async def folders(self, solution: str) -> tuple[Path, ...]:
        """Return the folders of a solution."""
        return tuple(
            resolve(Path(each), Path()) for each in self._platform.solutions.get(solution).settings.path
        )

    async def cover(self, solution: str) -> None:
        """Count the lines of a solution's scripts that run from now on."""
        self._platform.solutions.line_counter.begin(self._platform.solutions.get(solution))

    async def covered(self, solution: str) -> LineCounts:
        """Return how often each line of a solution's files ran since `cover`. No run may be active."""
        return self._platform.solutions.line_counter.counts(self._platform.solutions.get(solution))

    async def on(
        self, solution: str, service: str, event: str, function: Callable[..., object], replace: bool = False
    ) -> HandlerInfo:
        """Handle an event of a solution with a function (Solution.on)."""
        _check(function)
        self._platform.solutions.get(solution).on(service, event, function, replace=replace)
        return handler_info(self._platform, solution, service, event)

    async def service(
        self, service: object, functions: Mapping[str, Callable[..., object]]
    ) -> tuple[str, list[OperationInfo]]:
        """Add a service that the platform lacks, or replace one added before. Returns its name and operations.

        service: a name, with a function for each operation in `functions`; or a subclass of `Service`, or an instance
        of one, without functions. Raises LabError for anything else, SettingsError for the name of a built-in service.
        """
        made = self._made(service, functions)
        there = self._platform.context.services.find(made.name)
        if there is not None:
            if type(there) in SERVICES:
                raise SettingsError(f"service {made.name!r} is the platform's own, and cannot be replaced")
            await self._platform.services.remove(made.name)
        await self._platform.services.add(made)
        return made.name, [described(each) for each in made.operations.values()]

    async def follow(self, follower: LabFollower) -> Callable[[], None]:
        """Observe the lab. Returns a function that ends the observation. All calls happen on the event loop."""
        journal = self._platform.context.journal
        ends = (
            journal.watch(follower.record, ended=True),
            self._platform.mailbox.watch(follower.mail),
            journal.marks.watch(follower.mark),
            journal.watch_clear(follower.clear),
        )

        def stop() -> None:
            for end in ends:
                end()

        return stop

    @property
    def last_record(self) -> int:
        """Sequence number of the journal's newest record, 0 if there was none yet."""
        return self._platform.context.journal.last

    @property
    def dropped_records(self) -> int:
        """Number of records that the journal has not kept."""
        return self._platform.context.journal.dropped

    async def operation_names(self) -> set[str]:
        """Return the names of all operations that a solution may call, such as `Keystore.get`."""
        known = self._platform.services.operation_names()
        return {f"{service}.{name}" for service, names in known.items() for name in names}

    async def event_names(self) -> set[str]:
        """Return the names of the events that the platform emits, as in the journal."""
        return {each.event for each in self._platform.context.events.kinds()}

    async def read(self, function: Callable[[Journal], T]) -> T:
        """Call a function with the journal itself, whose records cost no copies, and return its result."""
        return function(self._platform.context.journal)

    async def follow_polls(self, **given: Unpack[PollFollowers]) -> Callable[[], None]:
        """Observe what devices poll and read. Returns a function that ends the observation."""
        devices = self._platform.devices
        stored, answered = given.get("stored", _nothing), given.get("answered", _nothing)

        def store(product: str, identity: str, points: Sequence[Datapoint]) -> None:
            for point in points:
                stored((product, identity, point.alias), point.timestamp)

        ends = (
            devices.polls.watch(given.get("polled", _nothing), given.get("ended", _nothing)),
            devices.state.watch(store),
            devices.state.watch_answers(lambda key, given: answered(key, given.point.timestamp)),
            devices.state.watch_reads(given.get("read", _nothing)),
        )

        def stop() -> None:
            for end in ends:
                end()

        return stop

    async def remove_service(self, name: str) -> None:
        """Remove an added service. Raises LabError for an unknown name and for a built-in service."""
        if type(self._platform.context.services.get(name)) in SERVICES:
            raise LabError(f"service {name!r} is the platform's own, and cannot be removed")
        await self._platform.services.remove(name)

    def _made(self, service: object, functions: Mapping[str, Callable[..., object]]) -> Service:
        if isinstance(service, str):
            return FunctionService(service, functions)
        if functions:
            raise LabError(
                f"service: expected a name with functions, or a class of Service without, not {service!r}"
            )
        if isinstance(service, Service):
            return service
        if not (isinstance(service, type) and issubclass(service, Service)):
            raise LabError(f"service: expected a name, or a class of Service, not {service!r}")
        return made_of(service, self._platform.context)


def _nothing(*given: object) -> None:
    """Do nothing."""


def _check(function: object) -> None:
    if not callable(function):
        raise LabError(f'function: expected a function, or lua="…", not {function!r}')
