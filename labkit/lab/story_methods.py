"""The part of a lab's handle that acts while lab time passes: stories, and calls that wait."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import ParamSpec, TypeVar

from labkit.core.handle import Handle
from labkit.lab.delays import PendingCall
from labkit.lab.runtime import Runtime
from labkit.lab.story import LabStory, StoryCall, story_of

P = ParamSpec("P")
T = TypeVar("T")


class StoryMethods(Handle):
    """A lab's stories, and its calls that wait."""

    _runtime: Runtime

    def begin(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> PendingCall[T]:
        """Start a call that a fault may delay, and return it: `pending = lab.begin(device.write, temperature=21.5)`.

        function: what to call; args, kwargs: its arguments. Returns once the call has ended or a fault delays it. Then
        use `lab.clock.advance(30)` and `pending.result()`. In a story, it starts when it is its turn.
        """
        if self._runtime.story is not None:
            return StoryCall(self._runtime.story, partial(function, *args, **kwargs))
        return PendingCall(self._runtime, partial(function, *args, **kwargs))

    def story(self) -> LabStory:
        """Return a context in which this thread and the fleets that it starts act at the same time.

        `with lab.story(): run = fleet.start(hours=2); lab.wait(seconds=600); lab.solution("app").get("/state")`. Lab
        time moves while a call waits, and everything happens in one order, which the seed fixes. Needs a virtual clock.
        """
        return LabStory(self._runtime)

    def wait(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0) -> None:
        """Let lab time pass in a story, while its fleets run.

        seconds, minutes, hours, days: lab time; they add up. Raises LabError outside of a story, and the error of a
        function of `at` that ends the wait.
        """
        story_of(self._runtime).wait(seconds + 60 * minutes + 3600 * hours + 86400 * days)

    def at(self, when: float | datetime, function: Callable[[], object]) -> None:
        """Call a function at a moment of a story, beside the story: `lab.at(600, lambda: lab.restart(down=30))`.

        when: seconds of lab time from now, or a datetime. function: takes no arguments; its error ends the story's wait
        and is raised there. It is not called once the story is over. Raises LabError outside of a story.
        """
        story_of(self._runtime).at(when, function)
