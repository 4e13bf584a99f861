"""The whole platform: composition of its components, and their start, stop and reset."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar

from labkit.context import Context
from labkit.core.component import Component, stop_all
from labkit.core.errors import LabError, TakenError
from labkit.core.identifiers import Identifiers
from labkit.device_api.api import add_product, register_product, remove_product
from labkit.device_api.emitted import EVENTS
from labkit.devices.devices import Devices
from labkit.devices.products import PlatformProduct
from labkit.edge.certificates import Certificates
from labkit.edge.listener import Edge
from labkit.edge.proxy import Proxy
from labkit.firmware.scheduler import ProgramScheduler
from labkit.http.address import ServerAddress
from labkit.http.outbound import OutboundClient
from labkit.labtime.clock import Clock
from labkit.labtime.events import HandlerOutcome
from labkit.labtime.story_scheduler import VirtualStoryScheduler
from labkit.labtime.story_work import CURRENT
from labkit.lifecycle.checking import problems
from labkit.lifecycle.core_component import Core
from labkit.lifecycle.power import Power
from labkit.lifecycle.suspension import Suspension
from labkit.providers.mail import Mailbox
from labkit.providers.registry import PROVIDERS
from labkit.services.calls import Services
from labkit.services.operation import Caller
from labkit.services.registry import SERVICES
from labkit.services.stubs import stubs
from labkit.settings import LabSettings, ProductSettings, check_names
from labkit.solutions.solutions import Solutions

if TYPE_CHECKING:
    from labkit.fleet.fleet_run import FleetRun

SHOWN = 5  # actors that an error names
C = TypeVar("C", bound=Component)
T = TypeVar("T")


class Platform:
    """Platform without handles, for async code on the running event loop; a notebook uses `Lab`.

    settings: the content of lab.yaml, or None for an empty lab on free ports; seed: makes identifiers and the
    journal repeatable and implies the virtual clock; clock: replaces the default clock; certificates: replace those
    that the settings ask for.
    """

    def __init__(
        self,
        settings: LabSettings | None = None,
        *,
        seed: int | None = None,
        clock: Clock | None = None,
        certificates: Certificates | None = None,
    ) -> None:
        settings = settings if settings is not None else LabSettings(https_port=0)
        check_names(settings)
        clock = clock if clock is not None else Clock(1.0 if seed is None else 0.0)
        address, guard = ServerAddress(settings.host), settings.guard
        outbound = OutboundClient(settings.domain, address, guard.outbound, guard.keep_alive)
        self.mailbox = Mailbox(clock.now)
        self.context = Context.create(
            settings,
            clock=clock,
            identifiers=Identifiers(seed),
            address=address,
            outbound=outbound,
            mailbox=self.mailbox,
        )
        outbound.faults = self.context.faults
        self.devices = Devices(self.context)
        self.context.events.declare(EVENTS)
        self._providers = tuple(provider(self.context) for provider in PROVIDERS)
        own = [service(self.context) for service in SERVICES]
        own += stubs(self.context, {each.name for each in own})
        self.services = Services(self.context, own)
        self.solutions = Solutions(
            self.context,
            self.services,
            lambda each: register_product(ProductSettings(id=each), self.devices, self.context),
            lambda each: remove_product(each, self.context),
        )
        self.edge, proxy = Edge(self.context, certificates), Proxy(self.context)
        # In the order of their start; they stop and clear in the reverse order.
        self.core = Core(self.context)
        self.components: tuple[Component, ...] = (
            self.core,
            outbound,
            self.mailbox,
            self.services,
            self.devices,
            *self._providers,
            self.solutions,
            self.context.events,
            self.edge,
            proxy,
            self.context.faults,
        )
        self.power = Power(self.context, self.edge, self.components)
        self.suspension = Suspension(self.context, self.edge, proxy, self.components)
        self._running: list[Component] = []
        self.story: VirtualStoryScheduler | None = None  # scheduler of the story that is being played
        self.runs: dict[str, FleetRun] = {}  # runs of fleets in progress, by their ids
        self.firmware = ProgramScheduler(self.context)

    def problems(self) -> list[str]:
        """Return what is wrong with the settings and their files, of a platform that is never started."""
        return problems(self.context, self.devices, self.solutions)

    async def start(self) -> Self:
        """Start with everything in the settings. Raises SettingsError, and leaves nothing running, if that fails."""
        context, started = self.context, self._running
        try:
            for component in self.components:
                await component.start()
                started.append(component)
            context.clock.settle_with(self.settle)
            # The listener starts first, since its port is part of the URLs that a solution's set-up may use.
            for component in self.components:
                await component.listening()
            for product in context.settings.products:
                await self.add_product(product)
            await self.solutions.add_all(context.settings.solutions)
            await context.faults.refill()
        except BaseException:
            await stop_all(started)
            raise
        return self

    async def stop(self) -> None:
        """Close every connection, then stop everything else. Acknowledged data is stored."""
        await self.firmware.close()
        await self.power.wait_for_restart()
        await stop_all(self._running)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def provider(self, kind: type[C]) -> C:
        """Return the provider of the class `kind`, one of PROVIDERS."""
        return next(each for each in self._providers if isinstance(each, kind))

    async def settle(self) -> None:
        """Return once every request and call is answered or waiting as a poll, and every event is handled."""
        await (work.settled() if (work := CURRENT.get()) is not None else self.context.activity.idle())

    async def suspend(self) -> None:
        """Settle, close all connections and leave the event loop; all state stays, also in forks of the process."""
        await self.context.whole.run(self.suspension.suspend, still=self.settle)

    async def resume(self) -> None:
        """Continue after `suspend` on the running loop; with `https_port: 0` at a new port, which older URLs lack."""
        await self.suspension.resume()

    async def expect_still(self, act: str) -> None:
        """Settle, and raise LabError if something is under way that cannot be copied.

        act: what needs this, for the error. Fleets, stories and requests that wait are under way.
        """
        if self.runs:
            product = next(iter(self.runs.values())).plan.product
            raise TakenError(
                f"{act}: a fleet of {product!r} is running: wait() for its run, or stop() it first"
            )
        self.firmware.expect_none(act)
        if self.story is not None or self.context.clock.driven:
            raise TakenError(f"{act}: a story is being played: do it before or after `with lab.story()`")
        await self.power.wait_for_restart()
        await self.settle()
        if waiting := self.context.holding.actors():
            raise LabError(
                f"{act}: requests or calls of {', '.join(waiting[:SHOWN])} are waiting, and an open connection cannot "
                "be copied: end the polls, or drain() what faults delay"
            )

    async def restart(self, down: float = 0.0) -> None:
        """Cut the platform's power, and start it again; it refuses connections for `down` seconds of lab time.

        Every connection, waiting poll, running script and queued event is aborted, and scripts lose their globals. All
        connections end at one moment, without an answer; with 0, new ones wait until the platform is up again. With a
        data file, its content and the objects of settings, folders and handles remain; in memory the database stays
        too. The clock, the providers, mails, handsets, faults and the journal are outside of the platform and stay.
        """
        await self.power.wait_for_restart()
        await asyncio.shield(self.power.begin_restart(down))

    async def reset(self) -> None:
        """Clear all devices, data of services, mails, handsets, histories of providers, and the journal.

        Products, solutions, providers and subscriptions return to their settings. A virtual clock goes back to its
        start and identifiers begin anew, so that a seeded run repeats exactly.
        """
        self.context.clock.expect_undriven()
        self.firmware.expect_none("reset")
        await self.context.whole.run(self._reset, still=self.settle, mends="reset")

    async def _reset(self) -> None:
        await self.core.clear()  # first, since where the data file has no room nothing must have changed
        with self.context.whole.changing("reset"):
            for component in reversed(self.components):
                await component.clear()
            await self.settle()
            for component in self.components:
                await component.refill()

    async def add_product(self, settings: ProductSettings) -> PlatformProduct:
        """Add a product. Raises SettingsError, and adds nothing, for an id in use or a file that cannot be read."""
        return await add_product(settings, self.devices, self.context)

    async def call(self, solution: str, service: str, operation: str, parameters: object = None) -> object:
        """Call a service operation for a solution, as its scripts do. Returns the result or the error object.

        parameters: arguments of the operation by name.
        """
        called = partial(self.services.call, Caller(solution), service, operation, parameters)
        return await self._called(called)

    async def run_script(self, solution: str, lua: str, name: str) -> tuple[HandlerOutcome, list[str]]:
        """Run a Lua script of a solution at once, and return its outcome and the lines that it printed.

        lua: its text; name: of the script in messages. Raises SettingsError with the line if it does not compile, and
        UnknownError.
        """
        return await self._called(partial(self.solutions.get(solution).run_script, lua, name))

    async def _called(self, function: Callable[[], Awaitable[T]]) -> T:
        """Return the result of what a handle asks a solution to do, within a story as a part of it."""
        with self.context.activity:
            if (work := CURRENT.get()) is None:
                return await function()
            work.end()
            token = CURRENT.set(None)
            try:
                async with self.context.turns.for_story(work.turn):
                    return await function()
            finally:
                CURRENT.reset(token)
                work.begin()
