"""Stories: synchronous code that acts while its fleets run, on a virtual clock whose time moves while it waits."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from labkit.core.errors import LabError, OwnProcessError, TakenError
from labkit.core.handle import Handle
from labkit.lab.delays import PendingCall
from labkit.lab.runtime import Runtime
from labkit.lab.story_calls import StoryCalls

if TYPE_CHECKING:
    from labkit.lab.run import Run

P = ParamSpec("P")
T = TypeVar("T")


class StoryCall(PendingCall[T]):
    """A call that runs beside a story: see `Lab.begin`."""

    def __init__(self, story: StoryCalls, call: Callable[[], T]) -> None:
        self._story = story
        self.future: Future[T] = Future()
        story.at(0, partial(self._complete, call))
        story.calls.append(self.future)

    def result(self) -> T:
        """Wait for the end of the call, while lab time passes; return its result, or raise its error."""
        if not self.done:
            self._story.run(self._story.scheduler.ended_future, self.future)
        return self.future.result()


class LabStory:
    """A story of a lab, as a context: `with lab.story(): …`. See `Lab.story`. runtime: of its lab."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def run_in_own_thread(self, function: Callable[[], T]) -> T:
        """Call a function in the thread of the story, and return its result.

        function: takes no arguments, and calls nothing of the lab. Behaviours, handlers and functions of `lab.at` may
        call this while the story waits.
        """
        return story_of(self._runtime).run_in_own_thread(function)

    def __enter__(self) -> Self:
        runtime = self._runtime
        if runtime.story is not None:
            raise TakenError("this lab is in a story already")
        try:
            scheduler = runtime.run(runtime.control.stories.begin)
        except OwnProcessError:
            raise OwnProcessError("story: needs the lab's own process: make it here with Lab(…)") from None
        runtime.story = StoryCalls(runtime.portal, runtime.control.firmware, scheduler)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        runtime = self._runtime
        story, runtime.story = runtime.story, None
        if story is None or runtime.closed:
            return
        try:
            runtime.run(runtime.control.stories.end)
        except Exception as failed:
            if error is None:
                raise
            error.add_note(f"and before that a function of lab.at failed: {type(failed).__name__}: {failed}")
        finally:
            story.close()


def story_of(runtime: Runtime) -> StoryCalls:
    """Return the story that a lab is in. Raises LabError if it is in none."""
    if runtime.story is None:
        raise LabError("this needs a story: with lab.story(): …; elsewhere use lab.clock.advance()")
    return runtime.story


class StoryMethods(Handle):
    """The part of a lab's handle that acts while lab time passes: stories, and calls that wait."""

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

    @property
    def runs(self) -> tuple[Run, ...]:
        """Runs of fleets that the story has started, in their order: `lab.runs[0].notes("t-001")`.

        A check of a promise reads there what devices noted, in any process that plays. LabError without a story.
        """
        return tuple(story_of(self._runtime).runs)

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
