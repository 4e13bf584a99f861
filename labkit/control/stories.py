"""Operations on stories. Like `functions`, they accept objects of this process, and work only in it."""

from __future__ import annotations

from contextlib import AbstractContextManager

from labkit.core.errors import LabError
from labkit.fleet.conductor import Conductor
from labkit.platform import Platform


class StoriesControl:
    """The story of a lab: while it lasts, its scheduler moves the virtual clock."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._driving: AbstractContextManager[None] | None = None

    async def begin(self) -> Conductor:
        """Begin a story, and return its scheduler. Raises LabError unless the clock is virtual and nothing moves it."""
        context = self._platform.context
        if context.clock.rate:
            raise LabError("a story needs a virtual clock, as Lab(seed=7) has")
        await self._platform.settle()
        self._driving = context.clock.drive("a story")
        self._driving.__enter__()
        self._platform.story = Conductor(
            context.clock,
            context.holding,
            context.activity,
            context.identifiers.seed or 0,
            context.ways,
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
