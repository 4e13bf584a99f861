"""Environments: Lua states, each used by one run at a time, so that runs do not share globals and modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from labkit.core.errors import LabError
from labkit.solutions.lua.current import Current
from labkit.solutions.lua.program import Module, Program, Script
from labkit.solutions.lua.runtime import LuaState

KEPT = 4  # idle environments
_DROPPED = -1


class RandomStreams:
    """Names of the random streams of runs, made of seed, script and the count of its runs; None without a seed."""

    def __init__(self, seed: int | None) -> None:
        self.seed = seed
        self._counts: dict[str, int] = {}

    def next(self, script: str) -> str | None:
        """Return the name for the next run of a script."""
        if self.seed is None:
            return None
        count = self._counts[script] = self._counts.get(script, 0) + 1
        return f"{self.seed} {script} {count}"

    def snapshot(self) -> tuple[int | None, dict[str, int]]:
        """Return the seed, and the number of runs of each script."""
        return self.seed, dict(self._counts)

    def restore(self, seed: int | None, counts: Mapping[str, int]) -> None:
        """Continue the streams of another lab."""
        self.seed = seed
        self._counts = dict(counts)

    def clear(self) -> None:
        """Count from the beginning."""
        self._counts.clear()


class Environment:
    """A Lua state for one run at a time. to_run: modules that it has not run yet, in order.

    age: serial number; generation: number of times that all environments were dropped before it was made.
    """

    def __init__(self, runtime: LuaState, current: Current) -> None:
        self.runtime = runtime
        self.current = current
        self.to_run: dict[str, None] = {}
        self.age = self.generation = 0
        self._scripts: dict[int, Script] = {}
        self._modules: dict[str, Module] = {}
        self.revision = -1  # of the program that it has

    def update(self, program: Program) -> None:
        """Load scripts and modules added to the program, unload removed scripts. Raises LuaSyntaxError.

        Also begin to count lines if the program does.
        """
        if program.covered is not None and self.runtime.covered not in program.covered:
            self.runtime.cover()
            program.covered.append(self.runtime.covered)
        for name, module in program.modules.items():
            if self._modules.get(name) is not module:
                self.runtime.add_module(module)
                self._modules[name] = module
                self.to_run[name] = None
        for number, script in program.scripts.items():
            if number not in self._scripts:
                self.runtime.load(number, script)
                self._scripts[number] = script
        for number in self._scripts.keys() - program.scripts.keys():
            self.runtime.unload(number, self._scripts.pop(number))
        self.revision = program.revision


class Environments:
    """Pool of a solution's environments: created on demand, kept for later runs.

    A run never waits for an environment in use: it gets a new one. Runs that do not overlap get
    the same one, always the oldest that is idle.
    """

    def __init__(self, make: Callable[[], Environment], program: Program) -> None:
        self._make = make
        self._program = program
        self._idle: list[Environment] = []  # the oldest first
        self._generation = 0
        self._made = 0
        self.closed = False

    def take(self) -> Environment:
        """Return an environment for one run, with the program as it is now.

        Raises LabError once closed, and LuaSyntaxError for a program that does not compile.
        """
        if self.closed:
            raise LabError("the scripts of this solution were closed: start the lab or the solution anew")
        if self._idle:
            environment = self._idle.pop(0)
        else:
            environment = self._make()
            self._made += 1
            environment.age, environment.generation = self._made, self._generation
        if environment.revision != self._program.revision:
            try:
                environment.update(self._program)
            except BaseException:
                self.give_back(environment)
                raise
        return environment

    def give_back(self, environment: Environment) -> None:
        """Return the environment of a run that has ended to the pool, unless it was dropped meanwhile."""
        if environment.generation != self._generation:
            return
        idle = self._idle
        idle.append(environment)
        if len(idle) > 1:
            idle.sort(key=lambda each: each.age)
            del idle[KEPT:]

    def drop(self, environment: Environment) -> None:
        """Drop the environment of a run, with its globals, instead of pooling it."""
        environment.generation = _DROPPED

    def clear(self) -> None:
        """Drop all environments; those in use once their run has ended."""
        self._generation += 1
        self._idle.clear()

    def close(self) -> None:
        """Drop all environments, and refuse new ones."""
        self.closed = True
        self.clear()
