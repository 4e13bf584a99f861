"""Account of a piece of a story's work, so that it counts as activity exactly once at each moment.

A thread of a story counts as work while it runs, so that lab time stands still. With a request or a call it hands its
count on: the platform counts what it does itself, and reports what it holds. The count returns with the answer, in the
same step, so that lab time cannot move in between.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol

from labkit.labtime.activity import Activity
from labkit.labtime.turns import Turn


class StoryScheduler(Protocol):
    """Interface of the scheduler of a story."""

    async def settled(self, work: StoryWork) -> None:
        """Return once everything has settled, before anything else continues and before lab time moves."""

    async def wait_until(self, work: StoryWork, when: float) -> None:
        """Return once lab time has reached `when`. Raises LabError for a time that the clock cannot reach."""


class StoryWork:
    """The count of one piece of work, which has it (`begin`) or has handed it on (`end`).

    turn: of the handler whose work it is, None for a story's own; held: whether that handler counts already.
    """

    __slots__ = ("_held", "activity", "requests", "scheduler", "turn")

    def __init__(
        self,
        activity: Activity,
        scheduler: StoryScheduler,
        requests: dict[int, StoryRequest],
        turn: Turn | None = None,
        *,
        held: bool = False,
    ) -> None:
        self.scheduler = scheduler
        self.requests = requests
        self.turn = turn
        self.activity = activity
        self._held = held

    def begin(self) -> None:
        """Count as pending work, unless it does."""
        if not self._held:
            self._held = True
            self.activity.begin()

    def end(self) -> None:
        """Count no longer as pending work."""
        if self._held:
            self._held = False
            self.activity.end()

    async def settled(self) -> None:
        """Return once everything else has settled."""
        await self.scheduler.settled(self)

    async def wait_until(self, when: float) -> None:
        """Return once lab time has reached `when`."""
        await self.scheduler.wait_until(self, when)

    def sent(self, port: int) -> StoryRequest:
        """Register a request that the work sends from a local port. Its `end` has to follow."""
        request = self.requests[port] = StoryRequest(self, port)
        return request


class StoryRequest:
    """One request of a story to the platform, which finds it by the port of its client."""

    __slots__ = ("_arrived", "_over", "_port", "work")

    def __init__(self, work: StoryWork, port: int) -> None:
        self.work = work
        self._port = port
        self._arrived = self._over = False

    @property
    def turn(self) -> Turn | None:
        """Turn of the handler that sent the request, None for a request of the story itself."""
        return self.work.turn

    def received(self) -> None:
        """The platform has the request, and counts it from now on."""
        if not self._over:
            self._arrived = True
            self.work.end()

    def answered(self) -> None:
        """The platform has answered, or cancelled the request."""
        if not self._arrived:
            return
        self._arrived = False
        if self._over:
            self.work.activity.end()
        else:
            self.work.begin()

    def end(self) -> None:
        """The client has its answer, or gave up: then the request counts as work until the platform has noticed."""
        self._over = True
        if self.work.requests.get(self._port) is self:
            del self.work.requests[self._port]
        if self._arrived:
            self.work.activity.begin()
        self.work.begin()


CURRENT: ContextVar[StoryWork | None] = ContextVar("work of the work that runs", default=None)
LOOKS: ContextVar[bool] = ContextVar("whether the work that runs only looks at the lab", default=False)
STORY_REQUEST: ContextVar[StoryRequest | None] = ContextVar(
    "request of a story that is being answered", default=None
)


def held_as(actor: str) -> str:
    """Return the name under which a request waits: that of a story differs from those of a fleet's device.

    The scheduler counts the waiting requests of its devices by their actor.
    """
    return actor if STORY_REQUEST.get() is None else f"story/{actor}"
