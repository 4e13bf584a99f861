"""Count of pending work, to wait until there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Participant(Protocol):
    """Interface of something beside the platform that must have settled too, such as a running program."""

    async def settle(self) -> bool:
        """Return True if nothing of it runs, and nothing of it changed during this call; else False.

        Called while no work is pending and the lab has read all that has arrived, by one task at a time. May take long
        and begin work. Must not call `Activity.idle`, which waits for it; `Activity.ended` is for that. Raises an error
        for each `idle` that waits.
        """


class Arrivals(Participant, Protocol):
    """Interface of what arrives at the lab from outside."""

    def unread(self) -> bool:
        """Return whether something has arrived that the lab has not read yet."""


class _Round:
    """Question to all participants whether they have settled, shared by the tasks that wait for the answer."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.begun = -1  # `Activity.begun` at the end, once all had settled
        self.error: Exception | None = None


class Activity:
    """Counts pieces of pending work; `idle()` returns once there are none.

    Used as a context manager around each piece. begun: number of all pieces so far. arrived: number of received
    requests whose handling has not begun; they are not pending yet. shared: whether there are participants, so that
    no pending work does not mean that all has settled. inputs: what arrives from outside; then it has to be handled
    before participants are asked.
    """

    def __init__(self) -> None:
        self.arrived = 0
        self.begun = 0
        self.shared = False
        self.inputs: Arrivals | None = None
        self._running = 0
        self._waiting: list[asyncio.Future[None]] = []
        self._participants: tuple[Participant, ...] = ()
        self._round: _Round | None = None

    @property
    def running(self) -> int:
        """Number of pieces that are pending."""
        return self._running

    def join(self, participant: Participant) -> None:
        """Add a participant, for which `idle()` waits from now on. Participants are asked in the order of joining."""
        if participant not in self._participants:
            self._participants += (participant,)
            self.shared = True

    def leave(self, participant: Participant) -> None:
        """Wait for a participant no longer; no effect if it did not join."""
        self._participants = tuple(each for each in self._participants if each is not participant)
        self.shared = bool(self._participants)

    def begin(self) -> None:
        """Count a piece of work as pending; `end()` has to follow."""
        self.begun += 1
        self._running += 1
        if not self._running:  # delayed work may resume after a crash has ended its waiter
            self._notify()

    def end(self) -> None:
        """Count a piece of work as done."""
        self._running -= 1
        if not self._running:
            self._notify()

    def _notify(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def gather(self, works: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        """Run coroutines concurrently and return their results in order.

        Each counts as pending work until it ends, the last one through the caller's own count. Raises the first
        exception.
        """
        left = len(works)

        def ended(_: object) -> None:
            nonlocal left
            left -= 1
            if left:
                self.end()

        tasks = [asyncio.ensure_future(work) for work in works]
        for number, task in enumerate(tasks):
            if number:
                self.begin()
            task.add_done_callback(ended)
        return await asyncio.gather(*tasks)

    def __enter__(self) -> Activity:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    async def idle(self) -> None:
        """Return once no work is pending and each participant has settled. Raises the error of a participant.

        Work that wakes or schedules other work begins that one before its own end. So no turns of the loop need
        to be awaited; only external events (a socket, a timer, a participant) can begin work later.
        """
        while self._running:  # not by `ended`, since a simulated fleet waits with each step
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
        if self.shared:
            await self._settle()

    async def ended(self) -> None:
        """Return once no work is pending, whatever the participants do."""
        while self._running:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future

    async def _settle(self) -> None:
        """Return once each participant has settled and no work is pending, at one moment.

        The first task that waits asks; the others wait for its result, and one of them asks if it is cancelled.
        """
        while True:
            asking = self._round
            if asking is None:
                await self._ask()
                return
            await asking.over.wait()
            if asking.error is not None:
                raise asking.error
            if asking.begun == self.begun and not self._running:
                return

    async def _ask(self) -> None:
        asking = self._round = _Round()
        try:
            settled = False
            while not settled:
                settled = await self._have_settled()
            asking.begun = self.begun
        except Exception as error:
            asking.error = error
            raise
        finally:
            self._round = None
            asking.over.set()

    async def _have_settled(self) -> bool:
        """Return whether no work is pending, and each participant, asked in order, has settled without new work."""
        await self.ended()
        begun, participants, inputs = self.begun, self._participants, self.inputs
        for each in participants if inputs is None else (inputs, *participants):
            if not await each.settle() or self.begun != begun or self._running:
                await asyncio.sleep(0)  # sockets and threads must be able to change the answer
                return False
        return self._participants is participants and not (inputs is not None and inputs.unread())
