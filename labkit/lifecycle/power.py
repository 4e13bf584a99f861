"""Power of the platform: it is cut, and the platform starts again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context as OwnContext
from functools import partial

from labkit.context import Context
from labkit.core.component import Component
from labkit.core.errors import LabkitError
from labkit.edge.listener import Edge

LOST_POWER = "lost its power"


class Power:
    """Restarts of a platform, at most one at a time. components: in the order of their start."""

    def __init__(self, context: Context, edge: Edge, components: Sequence[Component]) -> None:
        self._context = context
        self._edge = edge
        self._components = components
        self._restarting: asyncio.Task[None] | None = None
        self._noticing: tuple[Callable[[], Awaitable[object]], ...] = ()
        context.faults.restart = self.cut

    def begin_restart(self, down: float = 0.0) -> asyncio.Task[None]:
        """Begin a restart in a task of its own, and return it. down: as in `restart`.

        While such a restart is under way, it is returned and no other begins. An error is recorded in the journal.
        Raises LabError in a lab that another operation has stopped.
        """
        if self._restarting is None or self._restarting.done():
            self._context.whole.expect_working("restart")
            at_once = not self._context.whole.is_busy
            if at_once:
                self._context.activity.begin()  # lab time does not advance before it
                self._lose_power(down)
            self._restarting = asyncio.create_task(self._restart(down, at_once), context=OwnContext())
            self._restarting.add_done_callback(lambda done: done.cancelled() or done.exception())
        return self._restarting

    def cut(self, down: float = 0.0) -> Awaitable[object]:
        """Begin a restart of `down` seconds within work of the platform, which it ends: no handler goes on.

        Does nothing within an operation on the whole lab, such as a restart, which would wait for itself.
        """
        return asyncio.sleep(0) if self._context.whole.is_within() else self.begin_restart(down)

    async def wait_for_restart(self) -> None:
        """Return once no restart that `begin_restart` began is under way, except in that restart itself."""
        restarting = self._restarting
        # After a fork, one that is over belongs to an event loop that runs no more, so that waiting would never end.
        if restarting is not None and not restarting.done() and restarting is not asyncio.current_task():
            await asyncio.wait([restarting])

    def notice_restarts(self, notice: Callable[[], Awaitable[object]]) -> Callable[[], None]:
        """Await `notice()` at the end of each restart, before lab time moves; the returned function ends that."""
        self._noticing += (notice,)

        def stop() -> None:
            self._noticing = tuple(each for each in self._noticing if each is not notice)

        return stop

    def _lose_power(self, down: float) -> None:
        """End every connection and running handler now, before any client or handler can do more.

        So what a client meets next does not depend on how long the restart takes: without `down` its connection waits
        until the platform is up, with `down` it is refused.
        """
        context = self._context
        detail = {"down": down, "connections": len(self._edge), "held": len(context.holding)}
        context.journal.record("restart", "platform", LOST_POWER, detail=detail)
        context.journal.marks.add("restart", f"{down:g} s down" if down else "at once")
        context.address.down_until = context.clock.now() + down
        self._edge.cut(f"the platform {LOST_POWER}", refuse=bool(down))
        context.events.cancel_handlers()

    async def _start_again(self, down: float, begun: bool) -> None:
        if not begun:
            self._lose_power(down)
        try:
            with self._context.activity, self._context.whole.changing("restart"):
                for component in reversed(self._components):
                    await component.crash()
                for component in self._components:
                    await component.recover()
                for component in self._components:
                    await component.recovered()
        finally:
            self._edge.listen_in(down)  # a lab that has stopped says so to each request
        for notice in self._noticing:
            await notice()

    async def _restart(self, down: float, begun: bool) -> None:
        try:
            await self._context.whole.run(partial(self._start_again, down, begun), mends="restart")
        except LabkitError as error:
            self._context.journal.record_error(error)
            raise
        finally:
            if begun:
                self._context.activity.end()
