"""The whole platform: composition of its components, and their start, stop and reset."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from contextvars import Context as OwnContext
from functools import partial
from typing import Self, TypeVar

from labkit.context import Context
from labkit.core.component import Component
from labkit.core.errors import LabError, LabkitError, SettingsError, TakenError
from labkit.core.identifiers import Identifiers
from labkit.device_api.api import add_product, create_product
from labkit.device_api.emitted import EVENTS
from labkit.devices.devices import Devices
from labkit.devices.products import PlatformProduct
from labkit.edge.certificates import certificates
from labkit.edge.listener import Edge
from labkit.edge.listeners import Listeners
from labkit.edge.proxy import Proxy
from labkit.faults.delays import Held
from labkit.firmware.scheduler import ProgramScheduler
from labkit.foundation import Core
from labkit.http.address import ServerAddress
from labkit.http.outbound import OutboundClient
from labkit.labtime.clock import Clock
from labkit.labtime.story_scheduler import VirtualStoryScheduler
from labkit.labtime.story_work import CURRENT
from labkit.providers.mail import Mailbox
from labkit.providers.registry import PROVIDERS
from labkit.services.calls import Services
from labkit.services.operation import Caller
from labkit.services.registry import SERVICES
from labkit.services.stubs import FixedResults, stubs
from labkit.settings import LabSettings, ProductSettings, check_names, shown_key
from labkit.solutions.solutions import Solutions

SHOWN = 5  # actors that an error names
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
        own = [service(self.context) for service in SERVICES]
        self._own_services = frozenset(each.name for each in own)
        self.services = Services(self.context, [*own, *stubs(self.context, self._own_services)])
        self.solutions = Solutions(self.context, self.services)
        self.edge = Edge(self.context)
        self._listeners = Listeners(self.edge, Proxy(self.context), self.context)
        # In the order of their start; they stop and clear in the reverse order.
        self.core = Core(self.context)
        self._components: tuple[Component, ...] = (
            self.core,
            outbound,
            self.mailbox,
            self.services,
            self.devices,
            *self._providers,
            self.solutions,
            self.context.events,
            *self._listeners,
            self.context.faults,
        )
        self._running = AsyncExitStack()
        self.story: VirtualStoryScheduler | None = None  # scheduler of the story that is being played
        self.runs: list[str] = []  # products of the fleets that are running
        self.firmware = ProgramScheduler(self.context)

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
        await self.firmware.close()
        await self.wait_for_restart()
        await self._running.aclose()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def provider(self, kind: type[C]) -> C:
        """Return the provider of the class `kind`, one of PROVIDERS."""
        return next(each for each in self._providers if isinstance(each, kind))

    async def settle(self) -> None:
        """Return once every request and call is answered or waiting as a poll, and every event is handled."""
        if (work := CURRENT.get()) is not None:
            await work.settled()
        else:
            await self.context.activity.idle()

    async def suspend(self) -> None:
        """Settle, close every connection and detach from the event loop; all state stays.

        Then the loop may end, or the process be forked: each copy continues independently.
        """
        await self.context.whole.run(self._suspend, still=self.settle)

    async def _suspend(self) -> None:
        for component in reversed(self._components):
            await component.suspend()

    async def resume(self) -> None:
        """Continue after `suspend` on the running loop, and listen again, with `https_port: 0` at another port.

        URLs with the old port are not updated, except those from the settings.
        """
        await self._resume(self._listeners.resume)

    async def resume_here(self) -> None:
        """Continue after `suspend` in the same process, and listen again at the same ports."""
        await self._resume(self._listeners.resume_here)

    async def resume_apart(self) -> None:
        """Continue after `suspend` in a fork of the process, which shares nothing with the other copies.

        It listens at an IP address of its own (127.x.y.z), so that ports and URLs stay; where the system has none, at
        free ports. Data goes on in memory.
        """
        self.context.database.leave_file()
        await self._resume(self._listeners.resume_apart)

    async def _resume(self, listen: Callable[[], Awaitable[object]]) -> None:
        await self.context.whole.run(partial(self._resumed, listen))

    async def _resumed(self, listen: Callable[[], Awaitable[object]]) -> None:
        async with AsyncExitStack() as failed:
            for component in self._listeners:
                failed.push_async_callback(component.suspend)
            await listen()
            failed.pop_all()
        for component in self._components:
            if component not in self._listeners:
                await component.resume()

    def stateful(self) -> dict[str, Component]:
        """Return the components whose state a snapshot contains, by name, in the order in which they restore it."""
        services = {f"service {each.name}": each for each in self.services if each.name in self._own_services}
        others = {type(each).__name__: each for each in self._components if each is not self.core}
        first = ("OutboundClient", "Mailbox")
        return {
            **{name: others.pop(name) for name in first},
            **services,
            **{name: each for name, each in others.items() if name != "Services"},
        }

    def added_services(self) -> list[str]:
        """Return the names of the services of Python functions, which were added to the lab or are stubs."""
        added = (each for each in self.services if not isinstance(each, FixedResults))
        return [each.name for each in added if each.name not in self._own_services]

    async def empty(self) -> None:
        """Remove all solutions and products, and all state that is not in the database, for a `restore`."""
        await self.solutions.remove_all()
        for product in self.devices.products:
            self.devices.products.remove(product.id)
            self.context.hosts.remove(product.domain)
        for component in reversed(self._components):
            if component is not self.core:
                await component.clear()
        await self.settle()

    async def expect_still(self, act: str) -> None:
        """Settle, and raise LabError if something is under way that cannot be copied.

        act: what needs this, for the error. Fleets, stories and requests that wait are under way.
        """
        if self.runs:
            raise TakenError(
                f"{act}: a fleet of {self.runs[0]!r} is running: wait() for its run, or stop() it first"
            )
        self.firmware.expect_none(act)
        if self.story is not None or self.context.clock.driven:
            raise TakenError(f"{act}: a story is being played: do it before or after `with lab.story()`")
        await self.wait_for_restart()
        await self.settle()
        if waiting := self.context.holding.actors():
            raise LabError(
                f"{act}: requests or calls of {', '.join(waiting[:SHOWN])} are waiting, and an open connection cannot "
                "be copied: end the polls, or drain() what faults delay"
            )

    async def restart(self, down: float = 0.0) -> None:
        """Cut the platform's power, and start it again; it refuses connections for `down` seconds of lab time.

        Every connection, waiting poll, running script and queued event is aborted, and scripts lose their globals. All
        connections end at one moment, without an answer; with 0, new ones wait until the platform is up again.
        With a data file, its content and the objects of settings, folders and handles remain; in
        memory the database stays too. The clock, the providers, mails, handsets, faults and the journal are
        outside of the platform and stay.
        """
        await self.wait_for_restart()
        await asyncio.shield(self.begin_restart(down))

    def _lose_power(self, down: float) -> None:
        """End every connection and running handler now, before any client or handler can do more.

        So what a client meets next does not depend on how long the restart takes: without `down` its connection waits
        until the platform is up, with `down` it is refused.
        """
        context = self.context
        detail = {"down": down, "connections": len(self.edge), "held": len(context.holding)}
        context.journal.record("restart", "platform", LOST_POWER, detail=detail)
        context.journal.marks.add("restart", f"{down:g} s down" if down else "at once")
        context.address.down_until = context.clock.now() + down
        self.edge.cut(f"the platform {LOST_POWER}", refuse=bool(down))
        context.events.cancel_handlers()

    async def _start_again(self, down: float, begun: bool) -> None:
        if not begun:
            self._lose_power(down)
        try:
            with self.context.activity, self.context.whole.changing("restart"):
                for component in reversed(self._components):
                    await component.crash()
                for component in self._components:
                    await component.recover()
                for service in self.services:
                    await service.recovered()
        finally:
            self.edge.listen_in(down)  # a lab that has stopped says so to each request
        for notice in self._noticing:
            await notice()

    def begin_restart(self, down: float = 0.0) -> asyncio.Task[None]:
        """Begin a restart in a task of its own, and return it. down: as in `restart`.

        While such a restart is under way, it is returned and no other begins. An error is recorded in the journal.
        Raises LabError in a lab that another operation has stopped.
        """
        if self._restarting is None or self._restarting.done():
            self.context.whole.expect_working("restart")
            at_once = not self.context.whole.is_busy
            if at_once:
                self.context.activity.begin()  # lab time does not advance before it
                self._lose_power(down)
            self._restarting = asyncio.create_task(self._restart(down, at_once), context=OwnContext())
            self._restarting.add_done_callback(lambda done: done.cancelled() or done.exception())
        return self._restarting

    def cut_power(self, down: float = 0.0) -> Awaitable[object]:
        """Begin a restart of `down` seconds within work of the platform, which it ends: no handler goes on.

        Does nothing within an operation on the whole lab, such as a restart, which would wait for itself.
        """
        return asyncio.sleep(0) if self.context.whole.is_within() else self.begin_restart(down)

    async def _restart(self, down: float, begun: bool) -> None:
        try:
            await self.context.whole.run(partial(self._start_again, down, begun), mends="restart")
        except LabkitError as error:
            self.context.journal.record_error(error)
            raise
        finally:
            if begun:
                self.context.activity.end()

    async def wait_for_restart(self) -> None:
        """Return once no restart that `begin_restart` began is under way, except in that restart itself."""
        restarting = self._restarting
        # After a fork, one that is over belongs to an event loop that runs no more, so that waiting would never end.
        if restarting is not None and not restarting.done() and restarting is not asyncio.current_task():
            await asyncio.wait([restarting])

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
        self.firmware.expect_none("reset")
        await self.context.whole.run(self._reset, still=self.settle, mends="reset")

    async def _reset(self) -> None:
        await self.core.clear()  # first, since where the data file has no room nothing must have changed
        with self.context.whole.changing("reset"):
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
            if (work := CURRENT.get()) is None:
                return await self.services.call(Caller(solution), service, operation, parameters)
            work.end()
            token = CURRENT.set(None)
            try:
                async with self.context.turns.for_story(work.turn):
                    return await self.services.call(Caller(solution), service, operation, parameters)
            finally:
                CURRENT.reset(token)
                work.begin()
