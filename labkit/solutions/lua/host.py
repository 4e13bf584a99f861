"""Host of a solution's Lua scripts, which run as coroutines: service calls look synchronous but are awaited."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

from labkit.core.code_lines import LineCounts
from labkit.core.errors import LabError
from labkit.labtime.slots import Slots
from labkit.solutions.lua.current import Current
from labkit.solutions.lua.environments import Environment, Environments, RandomStreams
from labkit.solutions.lua.limits import LuaLimits
from labkit.solutions.lua.program import Module, Program, Script
from labkit.solutions.lua.run import MODULE, LuaFunction, LuaResult, LuaRun, ServiceCalls, Shared, WriteLog
from labkit.solutions.lua.runtime import LuaState

_K = TypeVar("_K")
_V = TypeVar("_V")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class HostState:
    """State of a host. began: lab time of its start; seed: of random numbers; runs: number of runs by script."""

    began: float
    seed: int | None
    runs: dict[str, int]


class LuaHost:
    """The scripts of a solution, and the LuaJIT states in which they run. For one event loop.

    A run has exclusive use of an environment (environments.py), also while it waits for a service: no other run changes
    its globals. Runs that do not overlap get the same environment, so globals live on from run to run.

    services: called by scripts; platform errors are results (error objects).
    write_log: (level, text, context), for print (level `print`) and log.*.
    now: lab seconds since the epoch, the only time that scripts see.
    random_seed: of math.random, combined with the count of a script's runs; with a seed, pairs follows the order of
    the keys, too, so that a run is reproducible. None: unpredictable numbers.
    environment: for os.getenv.
    modules: name (`dir.name`) -> source; an environment runs all of them before its first script.
    while_waiting: context in which a run waits while too many others are active.

    Raises LuaSyntaxError for a module that does not compile.
    """

    def __init__(
        self,
        *,
        services: ServiceCalls,
        write_log: WriteLog,
        now: Callable[[], float],
        random_seed: int | None,
        environment: Mapping[str, str] | None = None,
        modules: Mapping[str, str] | None = None,
        limits: LuaLimits | None = None,
        while_waiting: Callable[[], AbstractAsyncContextManager[object]] = nullcontext,
    ) -> None:
        self._write_log = write_log
        self._now = now
        self._began = now()
        self._environment = dict(environment or {})
        self._limits = limits or LuaLimits()
        self._last = MODULE
        self._program = Program(modules={name: Module(name, text) for name, text in (modules or {}).items()})
        self._streams = RandomStreams(random_seed)
        self._environments = Environments(self._make, self._program)
        self._shared = Shared(
            services,
            write_log,
            self._limits,
            self._program,
            self._environments,
            self._streams,
            Slots(self._limits.runs, while_waiting),
        )
        self._environments.give_back(self._environments.take())

    def _make(self) -> Environment:
        current = Current(self._shared.services, self._shared.scheduler, self._limits)
        runtime = LuaState(
            write_log=lambda level, text: self._write_log(level, text, current.context),
            now=self._now,
            random=current.random,
            call=current.call,
            began=self._began,
            seeded=self._streams.seed is not None,
            environment=self._environment,
            limits=self._limits,
        )
        return Environment(runtime, current)

    def load(
        self,
        name: str,
        source: str,
        arguments: Sequence[str] = (),
        *,
        file: str | None = None,
        first_line: int = 1,
        readback: Sequence[str] = (),
        aliases: Mapping[str, str] | None = None,
        preamble: str = "",
        publish: bool = True,
        globals: Sequence[str] = (),
    ) -> LuaFunction:
        """Compile a script body as a function with these arguments.

        name: of the function, which is published as a global that other scripts may call (unless publish=False or
        it has a readback).
        file, first_line: position of the body, for messages (default: name, 1).
        readback: arguments whose value at the end goes into LuaResult.readback, even if it was reassigned.
        aliases: further names for arguments ({"operation": "event"}).
        preamble: Lua in one line that runs before the body.
        globals: names of global variables that have the first argument while the function runs, for modules.

        Raises LuaSyntaxError, and LabError for a name that Lua does not allow.
        """
        aliases = dict(aliases or {})
        for word in (
            *arguments,
            *readback,
            *aliases,
            *aliases.values(),
            *globals,
            *([name] if publish else []),
        ):
            if not _NAME.fullmatch(word):
                raise LabError(f"{word!r} cannot be a name in Lua: use letters, digits and underscores")
        script = Script(
            name,
            source,
            tuple(arguments),
            file or name,
            first_line,
            tuple(readback),
            aliases,
            preamble,
            publish,
            tuple(globals),
        )
        number = self._last + 1
        self._change(self._program.scripts, number, script)
        self._last = number
        return LuaFunction(number, script)

    def unload(self, function: LuaFunction) -> None:
        """Remove a script; runs of it that have begun continue."""
        self._shared.slow.discard(function.number)
        if self._program.scripts.pop(function.number, None) is not None:
            self._program.revision += 1

    def add_module(self, name: str, source: str) -> None:
        """Add a module, or replace one; it runs before the next script. Raises LuaSyntaxError."""
        self._change(self._program.modules, name, Module(name, source))

    def _change(self, part: dict[_K, _V], key: _K, value: _V) -> None:
        """Add a script or a module to the program if it compiles. Raises LuaSyntaxError."""
        before = dict(part)
        part[key] = value
        self._program.revision += 1
        try:
            self._environments.give_back(self._environments.take())
        except BaseException:
            part.clear()
            part.update(before)
            raise

    def run(
        self, function: LuaFunction | None, *arguments: object, context: object = None, long: bool = False
    ) -> Coroutine[Any, Any, LuaResult]:
        """Run a script; without a function, run only the modules. Waits while too many other runs are active.

        context: passed unchanged to services and `write_log`; long: the arguments are long, so a thread translates them
        without blocking the loop.
        Raises LuaError (the script raised), LuaLimitError (it was stopped), and the errors of services and write_log.
        """
        return LuaRun(self._shared, context).perform(function, arguments, long)

    def cover(self, covered: list[Callable[[], LineCounts]]) -> None:
        """Count the lines that run from now on; functions that return the counts are added to the list."""
        self._program.covered = covered
        self._program.revision += 1

    def clear(self) -> None:
        """Drop the environments and restart random numbers, as if no script had run yet.

        Runs that wait for a service continue in their environments, which are dropped afterwards.
        """
        self._streams.clear()
        self._began = self._now()
        self._environments.clear()

    def snapshot(self) -> HostState:
        """Return the state without globals."""
        return HostState(self._began, *self._streams.snapshot())

    def restore(self, state: HostState) -> None:
        """Continue with the random numbers and the time of another host; globals begin anew."""
        self._began = state.began
        self._streams.restore(state.seed, state.runs)
        self._environments.clear()

    def crash(self) -> None:
        """Drop the environments. Random numbers continue: none is repeated."""
        self._environments.clear()

    def suspend(self) -> None:
        """Free resources bound to the current thread, so that another one can use the host. No run is active."""
        self._shared.fibers.clear()

    def close(self) -> None:
        """Free the environments. Runs that wait for a service end with LabError once the service returns."""
        self._environments.close()
        self._shared.fibers.clear()
