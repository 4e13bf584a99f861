"""A run of a script, from its start to its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from greenlet import greenlet

from labkit.solutions.lua.environments import Environment
from labkit.solutions.lua.runtime import Call, Done

REQUIRE = 0  # the number of the function that runs a module


class Run:
    """A script on its way. number: of the function; cpu: seconds so far; fiber: what it was switched out of.

    enter, arguments: what to call next.
    """

    __slots__ = ("arguments", "context", "cpu", "enter", "environment", "error", "fiber", "number", "step")

    def __init__(self, environment: Environment, context: object) -> None:
        self.environment = environment
        self.context = context
        self.number = REQUIRE
        self.cpu = 0.0
        self.fiber: greenlet | None = None
        self.step: Call | Done | None = None
        self.error: BaseException | None = None
        self.enter: Callable[..., Call | Done] = environment.runtime.start
        self.arguments: tuple[Any, ...] = ()

    def __call__(self) -> None:
        try:
            self.step = self.enter(*self.arguments)
        except BaseException as error:  # noqa: BLE001 - raised again outside of the fiber
            self.error = error

    def result(self) -> Call | Done:
        """What that gave. Raises what it raised."""
        error, self.error = self.error, None
        if error is not None:
            raise error
        assert self.step is not None
        return self.step
