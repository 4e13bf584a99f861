"""Operations on stories. Like `functions`, they accept objects of this process, and work only in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from labkit.core.errors import LabError
from labkit.labtime.activity import Activity
from labkit.labtime.story_scheduler import VirtualStoryScheduler
from labkit.labtime.story_work import CURRENT, StoryWork
from labkit.labtime.turns import Turn
from labkit.platform import Platform

T = TypeVar("T")


class StoriesControl:
    """The story of a lab: while it lasts, its scheduler moves the virtual clock."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._driving: AbstractContextManager[None] | None = None

    @property
    def activity(self) -> Activity:
        """The count of pending work of the lab."""
        return self._platform.context.activity

    async def begin(self) -> VirtualStoryScheduler:
        """Begin a story, and return its scheduler. Raises LabError unless the clock is virtual and nothing moves it."""
        context = self._platform.context
        if context.clock.rate:
            raise LabError("a story needs a virtual clock, as Lab(seed=7) has")
        self._platform.firmware.expect_all()
        await self._platform.settle()
        self._driving = context.clock.drive("a story")
        self._driving.__enter__()
        self._platform.story = VirtualStoryScheduler(
            context.clock,
            context.holding,
            context.activity,
            context.identifiers.seed or 0,
            context.story_requests,
            context.journal,
        )
        return self._platform.story

    async def end(self) -> None:
        """End the story with its fleets and threads. Raises the error of a function for later, if one is left."""
        story, driving = self._platform.story, self._driving
        if story is None or driving is None:
            return
        try:
            await story.end()
        finally:
            self._platform.story = self._driving = None
            driving.__exit__(None, None, None)

    async def asked(self, turn: Turn, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of what a handler calls in a thread, on behalf of its turn, outside of a story.

        Its request hands on the handler's count and turn, so that a virtual clock can move while a fault delays it.
        """
        context = self._platform.context
        if context.clock.rate:
            return await work()
        story_work = StoryWork(
            context.activity, NoStoryScheduler(self._platform), context.story_requests, turn, held=True
        )
        token = CURRENT.set(story_work)
        try:
            return await work()
        finally:
            CURRENT.reset(token)
            story_work.begin()


class NoStoryScheduler:
    """StoryScheduler for handlers outside of a story."""

    def __init__(self, platform: Platform) -> None:
        self._context = platform.context

    async def settled(self, story_work: StoryWork) -> None:
        await self._context.activity.idle()

    async def wait_until(self, story_work: StoryWork, when: float) -> None:
        await self._context.clock.advance_to(when)
