"""Entry point of the control API: starts and stops a platform, and holds the operations of each subject."""

from __future__ import annotations

from typing import Self

from labkit.control.addresses import AddressesControl
from labkit.control.clock import ClockControl, Moment, number_of, seconds_of
from labkit.control.content import ContentControl
from labkit.control.database import DatabaseControl
from labkit.control.faults import FaultsControl
from labkit.control.fleet_runs import FleetRunsControl
from labkit.control.fleets import FleetsControl
from labkit.control.functions import FunctionsControl
from labkit.control.handsets import HandsetsControl
from labkit.control.identities import IdentitiesControl
from labkit.control.interface import InterfaceControl
from labkit.control.journal import JournalControl
from labkit.control.mailbox import MailboxControl
from labkit.control.messaging import MessagingControl
from labkit.control.polls import PollsControl
from labkit.control.products import ProductsControl
from labkit.control.providers import ProvidersControl
from labkit.control.services import ServicesControl
from labkit.control.solutions import SolutionsControl
from labkit.core.clock import Clock
from labkit.core.errors import LabError
from labkit.platform import Platform
from labkit.settings import LabSettings


class Control:
    """The control operations of one platform, which must have been started."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self.addresses = AddressesControl(platform)
        self.clock = ClockControl(platform)
        self.content = ContentControl(platform)
        self.database = DatabaseControl(platform)
        self.fleets = FleetsControl(platform)
        self.faults = FaultsControl(platform)
        self.functions = FunctionsControl(platform)
        self.handsets = HandsetsControl(platform)
        self.identities = IdentitiesControl(platform)
        self.interface = InterfaceControl(platform)
        self.journal = JournalControl(platform)
        self.mailbox = MailboxControl(platform)
        self.messaging = MessagingControl(platform)
        self.fleet_runs = FleetRunsControl(platform)
        self.polls = PollsControl(platform)
        self.products = ProductsControl(platform)
        self.providers = ProvidersControl(platform)
        self.services = ServicesControl(platform)
        self.solutions = SolutionsControl(platform)

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

    async def stop(self) -> None:
        """Stop the platform. All acknowledged data is stored."""
        await self._platform.stop()

    async def suspend(self) -> None:
        """Settle, close all connections and detach from the event loop, which may end then. All state is kept."""
        await self._platform.suspend()

    async def resume(self) -> Self:
        """Attach to the running event loop after `suspend`, in this process or in a fork of it."""
        await self._platform.resume()
        return self

    async def settle(self) -> None:
        """Return once every request and call is answered or waits as a long poll, and every event is handled."""
        await self._platform.settle()

    async def restart(self, down: float = 0.0) -> None:
        """Simulate a power loss and restart the platform: see `Platform.restart`.

        down: seconds of lab time for which the platform refuses connections. With 0, returns once the platform listens
        again; otherwise once it refuses connections. Raises LabError for a negative or invalid `down`, and while the
        run of a fleet drives the clock.
        """
        if number_of(down, "down") < 0:
            raise LabError(f"down: expected seconds, 0 or more, not {down!r}")
        self._platform.context.clock.expect_undriven()
        await self._platform.restart(float(down))

    async def reset(self) -> None:
        """Delete devices, datapoints, content, Keystore, users, mails, handsets, provider inboxes and the journal.

        Products, solutions and providers stay: providers with the people and applications of their settings, solutions
        with the subscriptions of their settings.
        """
        await self._platform.reset()
