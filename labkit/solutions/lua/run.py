"""A run of a script, from its start to its end."""

from __future__ import annotations

from labkit.solutions.lua.environments import Environment

REQUIRE = 0  # the number of the function that runs a module


class Run:
    """A script on its way. number: of the function; cpu: seconds so far."""

    __slots__ = ("context", "cpu", "environment", "number")

    def __init__(self, environment: Environment, context: object) -> None:
        self.environment = environment
        self.context = context
        self.number = REQUIRE
        self.cpu = 0.0
