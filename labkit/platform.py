"""The whole platform: composition of its components, and their start, stop and reset."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from contextvars import Context as OwnContext
from contextvars import ContextVar
from datetime import timedelta
from types import TracebackType
from typing import Self, TypeVar

from sqlalchemy import Connection

from labkit.context import Context
from labkit.core.clock import Clock
from labkit.core.component import Component
from labkit.core.custody import CURRENT
from labkit.core.errors import LabkitError, SettingsError
from labkit.core.host_time import STEP
from labkit.core.identifiers import Identifiers
from labkit.core.tables import metadata
from labkit.device_api.api import add_product, create_product
from labkit.device_api.emitted import EVENTS
from labkit.devices.devices import Devices
from labkit.devices.products import PlatformProduct
from labkit.edge.certificates import certificates
from labkit.edge.listener import Edge
from labkit.edge.proxy import Proxy
from labkit.faults.delays import Held
from labkit.fleet.conductor import Conductor
from labkit.http.address import ServerAddress
from labkit.http.outbound import OutboundClient
from labkit.providers.mail import Mailbox
from labkit.providers.registry import PROVIDERS
from labkit.services.calls import Services
from labkit.services.operation import Caller
from labkit.services.registry import SERVICES
from labkit.settings import LabSettings, ProductSettings, check_names, shown_key
from labkit.solutions.solutions import Solutions

MINUTE = 60.0
# The end of the restart that waits for this work. Tasks that it begins to listen keep it, so that it may be past.
WITHIN_RESTART: ContextVar[asyncio.Event | None] = ContextVar("end of the restart", default=None)
LOST_POWER = "lost its power"
C = TypeVar("C", bound=Component)


class Platform:
    """Platform without handles, for async code on the running event loop; a notebook uses `Lab`.

    settings: the content of lab.yaml, or None for an empty lab on free ports; seed: makes identifiers and the
    journal repeatable and implies the virtual clock; clock: replaces the default clock.
    """

    def __init__(
        self, settings: LabSettings | None = None, *, seed: int | None = None, clock: Clock | None = None
    ) -> None:
        settings = settings if settings is not None else LabSettings(https_port=0)
        check_names(settings)
        clock = clock if clock is not None else Clock(1.0 if seed is None else 0.0)
        address = ServerAddress(settings.host)
        outbound = OutboundClient(
            settings.domain, address, settings.guard.outbound, settings.guard.keep_alive
        )
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
        self.context.faults.restart = self.cut_power
        self._restarting: asyncio.Task[None] | None = None
        self._noticing: tuple[Callable[[], Awaitable[object]], ...] = ()
        self.devices = Devices(self.context)
        self.context.events.declare(EVENTS)
        self._providers = tuple(provider(self.context) for provider in PROVIDERS)
        self.services = Services(self.context, (service(self.context) for service in SERVICES))
        self.solutions = Solutions(self.context, self.services)
        self.edge = Edge(self.context)
        proxy = Proxy(self.context)
        # In the order of their start; they stop and clear in the reverse order.
        self._components = (
            Core(self.context),
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
        self._running = AsyncExitStack()
        self.story: Conductor | None = None  # scheduler of the story that is being played

    def problems(self) -> list[str]:
        """Return what is wrong with the settings and the files that they name; for a platform that is never started.

        It reads the files of products and the folders of solutions, compiles their scripts and checks what they
        configure. No script runs.
        """
        settings = self.context.settings
        found = []
        if settings.tls.certificate is not None:
            try:
                certificates(settings.tls, None)
            except SettingsError as error:
                found.append(str(error))
        for product in settings.products:
            try:
                self.devices.register(create_product(product, self.devices, self.context))
                for item in product.content:
                    self.devices.read_content(product.id, item)
            except SettingsError as error:
                found.append(str(error))
        found += self.solutions.problems(settings.solutions)
        for number, problem in self.context.faults.problems():
            found.append(f"{shown_key(('faults', number), settings)}: {problem}")
        for solution in self.solutions:
            solution.close()
        return found

    async def start(self) -> Self:
        """Start with everything in the settings. Raises SettingsError, and leaves nothing running, if that fails."""
        context = self.context
        async with AsyncExitStack() as stack:
            for component in self._components:
                await component.start()
                stack.push_async_callback(component.stop)
            context.clock.settle_with(self.settle)
            # The listener starts first, since its port is part of the URLs that a solution's set-up may use.
            for component in self._components:
                await component.listening()
            for product in context.settings.products:
                await self.add_product(product)
            await self.solutions.add_all(context.settings.solutions)
            await context.faults.refill()
            self._running = stack.pop_all()
        return self

    async def stop(self) -> None:
        """Close every connection, then stop everything else. Acknowledged data is stored."""
        await self._wait_for_restart()
        await self._running.aclose()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def provider(self, kind: type[C]) -> C:
        """Return the provider of the class `kind`, one of PROVIDERS."""
        return next(each for each in self._providers if isinstance(each, kind))

    async def settle(self) -> None:
        """Return once every request and call is answered or waiting as a poll, and every event is handled."""
        if (custody := CURRENT.get()) is not None:
            await custody.settled()
        else:
            await self.context.activity.idle()

    async def suspend(self) -> None:
        """Settle, close every connection and detach from the event loop; all state stays.

        Then the loop may end, or the process be forked: each copy continues independently.
        """
        await self.settle()
        for component in reversed(self._components):
            await component.suspend()

    async def resume(self) -> None:
        """Continue after `suspend` on the running loop, and listen again, with `https_port: 0` at another port.

        URLs with the old port are not updated, except those from the settings.
        """
        await self.edge.resume()
        for component in self._components:
            if component is not self.edge:
                await component.resume()

    async def restart(self, down: float = 0.0) -> None:
        """Cut the platform's power, and start it again; it refuses connections for `down` seconds of lab time.

        Every connection, waiting poll, running script and queued event is aborted, and scripts lose their globals. All
        connections end at one moment, without an answer; with 0, new ones wait until the platform is up again.
        With a data file, its content and the objects of settings, folders and handles remain; in
        memory the database stays too. The clock, the providers, mails, handsets, faults and the journal are
        outside of the platform and stay.
        """
        await self._wait_for_restart()
        with self.context.activity:
            self._lose_power(down)
            await self._start_again(down)

    def _lose_power(self, down: float) -> None:
        """End every connection and running handler now, before any client or handler can do more.

        So what a client meets next does not depend on how long the restart takes: without `down` its connection waits
        until the platform is up, with `down` it is refused.
        """
        context = self.context
        detail = {"down": down, "connections": len(self.edge), "held": len(context.holding)}
        context.journal.record("restart", "platform", LOST_POWER, detail=detail)
        context.journal.marks.add("restart", f"{down:g} s down" if down else "at once")
        self.edge.cut(f"the platform {LOST_POWER}", refuse=bool(down))
        context.events.cancel_handlers()

    async def _start_again(self, down: float) -> None:
        over = asyncio.Event()
        within = WITHIN_RESTART.set(over)
        try:
            with self.context.activity:
                for component in reversed(self._components):
                    await component.crash()
                for component in self._components:
                    await component.recover()
                self.edge.listen_in(down)
                for notice in self._noticing:
                    await notice()
        finally:
            over.set()
            WITHIN_RESTART.reset(within)

    def begin_restart(self, down: float = 0.0) -> asyncio.Task[None]:
        """Begin a restart in a task of its own, and return it. down: as in `restart`.

        While such a restart is under way, it is returned and no other begins. An error is recorded in the journal.
        """
        if self._restarting is None or self._restarting.done():
            self.context.activity.begin()  # lab time does not advance before it
            self._lose_power(down)
            restarting = self._restart(down)
            self._restarting = asyncio.get_running_loop().create_task(restarting, context=OwnContext())
        return self._restarting

    def cut_power(self, down: float = 0.0) -> Awaitable[object]:
        """Begin a restart of `down` seconds within work of the platform, which it ends: no handler goes on.

        Does nothing within a restart, which would wait for itself.
        """
        over = WITHIN_RESTART.get()
        if over is not None and not over.is_set():
            return asyncio.sleep(0)
        return self.begin_restart(down)

    async def _restart(self, down: float) -> None:
        try:
            await self._start_again(down)
        except LabkitError as error:
            self.context.journal.record_error(error)
        finally:
            self.context.activity.end()

    async def _wait_for_restart(self) -> None:
        """Return once no restart that `begin_restart` began is under way, except in that restart itself."""
        if self._restarting not in (None, asyncio.current_task()):
            await asyncio.wait([self._restarting])

    def held(self) -> list[Held]:
        """Return what only lab time ends: delays of faults, late events, and the time without power after a restart."""
        held, down_until = self.context.faults.held(), self.edge.down_until
        return held if down_until is None else [Held("the platform without power", down_until), *held]

    def notice_restarts(self, notice: Callable[[], Awaitable[object]]) -> Callable[[], None]:
        """Await `notice()` at the end of each restart, before lab time moves; the returned function ends that."""
        self._noticing += (notice,)

        def stop() -> None:
            self._noticing = tuple(each for each in self._noticing if each is not notice)

        return stop

    async def reset(self) -> None:
        """Clear all devices, data, users, mails, handsets, histories of providers, and the journal.

        Datapoints, content and Keystore are cleared too. Products, solutions, providers and subscriptions
        return to their settings. A virtual clock goes back to its start and identifiers begin anew, so that a
        seeded run repeats exactly.
        """
        self.context.clock.expect_undriven()
        await self.settle()
        for component in reversed(self._components):
            await component.clear()
        await self.settle()
        for component in self._components:
            await component.refill()

    async def add_product(self, settings: ProductSettings) -> PlatformProduct:
        """Add a product.

        Raises SettingsError, and adds nothing, if the id or the domain is in use, or a content file cannot be read.
        """
        return await add_product(settings, self.devices, self.context)

    async def call(self, solution: str, service: str, operation: str, parameters: object = None) -> object:
        """Call a service operation for a solution, as its scripts do. Returns the result or the error object.

        parameters: arguments of the operation by name.
        """
        with self.context.activity:
            if (custody := CURRENT.get()) is None:
                return await self.services.call(Caller(solution), service, operation, parameters)
            custody.give()
            token = CURRENT.set(None)
            try:
                async with self.context.turns.for_story(custody.turn):
                    return await self.services.call(Caller(solution), service, operation, parameters)
            finally:
                CURRENT.reset(token)
                custody.take()


class Core(Component):
    """The component that starts, stops and resets database, clock, identifiers and journal."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def start(self) -> None:
        clock, database = self._context.clock, self._context.database
        database.start(metadata)
        self._context.identifiers.start = database.starts
        clock.continue_from(database.ended_at)
        if clock.ahead > STEP:
            self._warn(f"the host's clock is {_span(clock.ahead)} behind the end of the data file")
        clock.watch_host(self._report_step)

    def _report_step(self, step: float) -> None:
        direction = "back" if step < 0 else "forward, or the machine slept,"
        self._warn(f"the host's clock was set {direction} by {_span(abs(step))}")

    def _warn(self, what: str) -> None:
        """Record a step of the host's clock, and its consequence for lab time."""
        ahead = self._context.clock.ahead
        after = (
            f"lab time goes on {_span(ahead)} ahead of it, a twentieth slower until it has caught up"
            if ahead > STEP
            else "lab time follows it"
        )
        self._context.journal.record("warning", "platform", f"{what}; {after}")

    async def stop(self) -> None:
        self._context.database.close()
        self._context.clock.close()

    async def suspend(self) -> None:
        self._context.clock.suspend()
        await asyncio.sleep(0)  # callbacks scheduled for the end of this iteration run

    async def resume(self) -> None:
        self._context.clock.resume()

    async def recover(self) -> None:
        database = self._context.database
        if database.durable:
            database.close()
            database.start(metadata)
            self._context.identifiers.start = database.starts

    async def clear(self) -> None:
        await self._context.database.run(_empty)

    async def refill(self) -> None:
        """Restart identifiers, clock and journal, before any other component uses them."""
        self._context.identifiers.clear()
        self._context.clock.reset()
        self._context.journal.clear()


def _span(seconds: float) -> str:
    """Format seconds: `90061.5` is `1 day, 1:01:02`, `0.25` is `0.2 s`."""
    return f"{seconds:.1f} s" if seconds < MINUTE else str(timedelta(seconds=round(seconds)))


def _empty(connection: Connection) -> None:
    for table in reversed(metadata.sorted_tables):
        if table.info.get("reset", True):
            connection.execute(table.delete())
