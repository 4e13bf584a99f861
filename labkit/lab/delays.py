"""Calls that a fault may delay: run them in the background, or refuse a wait that would never end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextvars import ContextVar, copy_context
from typing import Any, Generic, ParamSpec, TypeVar, cast

from labkit.core.errors import LabError
from labkit.core.handle import Handle
from labkit.core.progress import PERIOD
from labkit.lab.runtime import Runtime
from labkit.labtime.turns import leave

P = ParamSpec("P")
T = TypeVar("T")

BEGUN: ContextVar[bool] = ContextVar("begun by Lab.begin", default=False)


def ask(
    runtime: Runtime, actor: str, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Return the result of an actor's request (`product/identity`, or a solution).

    Raises LabError if a fault delays it while the clock stands still, since only the clock could end the delay.
    """

    async def request() -> T:
        return await runtime.asked(function, *args, **kwargs)

    async def answer() -> T:
        faults = runtime.control.faults
        if not await faults.may_delay():
            return await request()
        since = await faults.count_started_delays()  # the wait may reach a lab elsewhere after the request
        blocked = asyncio.ensure_future(faults.wait_until_blocked(actor, since))
        asking = asyncio.ensure_future(request())
        try:
            await asyncio.wait({asking, blocked}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                raise LabError(
                    f"the clock stands still, so the fault {blocked.result()!r} would delay this for ever; "
                    "begin it with lab.begin(device.write, temperature=21.5), then lab.clock.advance(), then result()"
                )
            return await asking
        finally:
            blocked.cancel()
            asking.cancel()

    # Something else moves the clock, also while a handler waits.
    moves = runtime.story is not None or BEGUN.get() or runtime.handler_turn() is not None
    return runtime.run(request if moves else answer)


class PendingCall(Handle, Generic[T]):
    """A call of a handle that runs in a background thread: see `Lab.begin`."""

    def __init__(self, runtime: Runtime, call: Callable[[], T]) -> None:
        self._runtime = runtime
        self.future: Future[T] = Future()
        self._actor = ""
        delayed = runtime.begin(self._delayed, runtime.run(runtime.control.faults.count_started_delays))
        context = copy_context()
        threading.Thread(target=context.run, args=(self._run, call), daemon=True).start()
        wait([cast("Future[Any]", self.future), delayed.future], return_when=FIRST_COMPLETED)
        delayed.cancel()

    @property
    def done(self) -> bool:
        """Whether the call has ended, with a result or an error."""
        return self.future.done()

    def result(self) -> T:
        """Wait for the end of the call; return its result, or raise its error.

        Raises LabError if a fault still delays it on a virtual clock, since nothing would end the wait.
        """
        if not self.done:
            self._runtime.run(self._expect_progress)
        return self.future.result()

    async def _delayed(self, since: int) -> None:
        self._actor = await self._runtime.control.faults.wait_for_delay(None, since)

    async def _expect_progress(self) -> None:
        """Raise LabError if only the clock could end the call, and it stands still."""
        control = self._runtime.control
        if (await control.clock.state()).rate:
            return
        while not self.done and (await control.clock.state()).moves:  # noqa: ASYNC110  another thread completes it
            await asyncio.sleep(PERIOD)
        await control.lab.settle()
        if not self.done and await control.faults.delayed_count(self._actor):
            raise LabError(
                "the clock stands still, and a fault delays this still; use lab.clock.advance() first"
            )

    def _run(self, call: Callable[[], T]) -> None:
        BEGUN.set(True)
        leave()  # a handler that has begun the call goes on meanwhile
        self._complete(call)

    def _complete(self, call: Callable[[], T]) -> None:
        try:
            self.future.set_result(call())
        except BaseException as error:  # noqa: BLE001  `result` raises it
            self.future.set_exception(error)

    def __repr__(self) -> str:
        return "<begun: done>" if self.done else "<begun: goes on>"
