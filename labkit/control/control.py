"""Entry point of the control API: starts and stops a platform, and holds the operations of each subject."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar, get_type_hints

from labkit.control.addresses import AddressesControl
from labkit.control.clock import ClockControl, Moment, seconds_of
from labkit.control.devices import DevicesControl
from labkit.control.faults import FaultsControl
from labkit.control.firmware import FirmwareControl
from labkit.control.fleet_runs import FleetRunsControl
from labkit.control.fleets import FleetsControl
from labkit.control.functions import FunctionsControl
from labkit.control.handsets import HandsetsControl
from labkit.control.identities import IdentitiesControl
from labkit.control.interface import InterfaceControl
from labkit.control.journal import JournalControl
from labkit.control.lab import DatabaseControl, LabControl, PollsControl
from labkit.control.labs import LabsControl
from labkit.control.messaging import MailboxControl, MessagingControl
from labkit.control.products import ContentControl, ProductsControl
from labkit.control.providers import ProvidersControl
from labkit.control.services import ServicesControl
from labkit.control.solutions import SolutionsControl
from labkit.control.stored import KeystoreControl, SeriesControl, TimersControl, UsersControl
from labkit.control.stories import StoriesControl
from labkit.core.errors import LabError
from labkit.labtime.clock import Clock
from labkit.platform import Platform
from labkit.settings import LabSettings

# Subjects with operations that accept Python functions or objects, which work in the lab's own process only.
IN_PROCESS = frozenset({"functions", "fleet_runs", "stories", "firmware"})

P = ParamSpec("P")
T = TypeVar("T")


class LabOperations:
    """The control operations of one lab, in this process (`Control`) or in another one (`RemoteControl`).

    Each annotation is a subject. The public methods of its class are its operations: HTTP offers the same ones.
    """

    addresses: AddressesControl
    clock: ClockControl
    content: ContentControl
    database: DatabaseControl
    devices: DevicesControl
    fleets: FleetsControl
    faults: FaultsControl
    firmware: FirmwareControl
    functions: FunctionsControl
    handsets: HandsetsControl
    identities: IdentitiesControl
    interface: InterfaceControl
    journal: JournalControl
    keystore: KeystoreControl
    lab: LabControl
    labs: LabsControl
    mailbox: MailboxControl
    messaging: MessagingControl
    fleet_runs: FleetRunsControl
    polls: PollsControl
    products: ProductsControl
    providers: ProvidersControl
    series: SeriesControl
    services: ServicesControl
    solutions: SolutionsControl
    stories: StoriesControl
    timers: TimersControl
    users: UsersControl

    async def stop(self) -> None:
        """End the use of the lab."""
        raise NotImplementedError

    def lab_time(self) -> float | None:
        """Return the lab time in Unix seconds, from any thread and at once; None of a lab elsewhere."""
        return None


class Control(LabOperations):
    """The control operations of one platform in this process, which must have been started."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    if not TYPE_CHECKING:  # type checkers know the subjects

        def __getattr__(self, name: str) -> object:
            """Make a subject at its first use, in whichever thread: most labs use a few."""
            if name not in subjects():
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
            return self.__dict__.setdefault(name, subjects()[name](self._platform))

    @classmethod
    async def start(
        cls,
        settings: LabSettings,
        *,
        seed: int | None = None,
        speed: float | None = None,
        start: Moment | None = None,
    ) -> Self:
        """Start a platform on the running event loop.

        seed: makes identifiers and the journal repeatable; speed: rate of the clock, by default 0 (virtual) with a seed
        and 1 without; start: the initial lab time. Raises SettingsError or LabError after releasing all resources.
        """
        rate = speed if speed is not None else (1.0 if seed is None else 0.0)
        clock = Clock(rate, None if start is None else seconds_of(start, "start"))
        return cls(await Platform(settings, seed=seed, clock=clock).start())

    def lab_time(self) -> float:
        return self._platform.context.clock.now()

    async def stop(self) -> None:
        """Stop the platform. All acknowledged data is stored."""
        await self._platform.stop()

    async def perform(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of an async function, which begins while no operation on the whole lab changes its state.

        It is among `lab.slow` if it holds the event loop.
        """
        context = self._platform.context
        if context.whole.bars:
            await context.whole.enter()
        before = context.slow.begin(function)
        try:
            return await function(*args, **kwargs)
        finally:
            context.slow.end(function, before)

    @property
    def unread_slow(self) -> deque[str]:
        """Sentences about operations that held the event loop, which nobody has read yet; see `lab.slow`."""
        return self._platform.context.slow.unread

    async def suspend(self) -> None:
        """Settle, close all connections and detach from the event loop, which may end then. All state is kept."""
        await self._platform.suspend()

    async def prepare_fork(self, disconnect: Callable[[], Awaitable[object]]) -> None:
        """Suspend the lab for forks of this process: in each, `resume_apart` follows, and here `resume_here`.

        disconnect: closes the connections of the lab's handles, once nothing stands in the way.
        Raises LabError, and changes nothing, while something is under way that cannot be copied: a fleet, a story, an
        open poll, or work that a fault delays.
        """
        await self._platform.expect_still("fork")
        for each in self._platform.services:
            if each.outside:
                raise LabError(f"fork: the {each.name} is in {each.outside}, which its futures would share")
        await disconnect()
        await self._platform.suspend()
        self._platform.context.database.prepare_fork()

    async def resume_apart(self) -> Self:
        """In a fork: continue with all of this lab's state, and share nothing with the other processes."""
        await self._platform.suspension.resume_apart()
        return self

    async def resume_here(self) -> Self:
        """Continue at the same ports after `prepare_fork`, in the process that was suspended."""
        self._platform.context.database.end_fork()
        await self._platform.suspension.resume_here()
        return self

    async def resume(self) -> Self:
        """Attach to the running event loop after `suspend`, in this process or in a fork of it."""
        await self._platform.resume()
        return self


@cache
def subjects() -> Mapping[str, type]:
    """Return the class of each subject, by name."""
    return get_type_hints(LabOperations)
