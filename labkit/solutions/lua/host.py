"""Runs a solution's Lua scripts: each is a coroutine, so a service call looks synchronous but is awaited."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, TypeVar

from labkit.core import nesting
from labkit.core.errors import LabError, LabkitError
from labkit.core.slots import Slots
from labkit.services.operation import Parameters
from labkit.solutions.lua.convert import from_lua, to_bytes, to_lua
from labkit.solutions.lua.environments import Current, Environment, Environments
from labkit.solutions.lua.errors import LuaError, LuaLimitError
from labkit.solutions.lua.fibers import Fibers
from labkit.solutions.lua.limits import LuaLimits
from labkit.solutions.lua.program import Module, Program, Script
from labkit.solutions.lua.run import REQUIRE, Run
from labkit.solutions.lua.runtime import Call, Done, Runtime
from labkit.solutions.lua.scheduling import Scheduler

_K = TypeVar("_K")
_V = TypeVar("_V")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHORT = 0.002  # seconds of wall time that count as CPU; a longer slice was measured, or else waited
_SETTING = "guard.script_cpu"  # which says how long a script may run
_WITHIN_A_RUN: ContextVar[bool] = ContextVar("within a run", default=False)  # of whichever solution
_FULL = 0.75  # of memory_bytes still held after a memory error: the runtime is given up


@dataclass(frozen=True, slots=True)
class LuaFunction:
    """A script that a LuaHost loaded."""

    number: int
    script: Script

    @property
    def name(self) -> str:
        return self.script.name


@dataclass(slots=True)  # not frozen, at several times the cost with each run
class LuaResult:
    """What a run gave. value: what the script returned; readback: what parameters held at the end."""

    value: Any
    readback: Mapping[str, Any] = field(default_factory=dict)
    cpu_seconds: float = 0.0


class LuaHost:
    """The scripts of a solution, and the LuaJIT states that they run in. One event loop uses it.

    A run has an environment (environments.py) to itself, also while it waits for a service: its globals do not
    change under it. Runs that do not overlap get the same one, so globals live on from run to run.

    call: (service, operation, parameters, context) -> result; awaited when a script calls a service. Failures
    of the platform are results (error objects); what it raises ends the run, and the run raises it.
    write_log: (level, text, context), for print (level `print`) and log.*.
    now: lab seconds since the epoch, the only time that scripts see.
    random_seed: of math.random, each run of a script by its count; with one, pairs goes in the order of the keys
    too, so that a run repeats. None: numbers that nobody can foretell.
    environment: for os.getenv.
    modules: name (`dir.name`) -> source; in each environment all of them run before the first script.
    aside: within it, a run waits while too many others are under way.

    Raises LuaSyntaxError for a module that does not compile.
    """

    def __init__(
        self,
        *,
        call: Callable[[str, str, Parameters, Any], Awaitable[Any]],
        write_log: Callable[[str, str, Any], None],
        now: Callable[[], float],
        random_seed: int | None,
        environment: Mapping[str, str] | None = None,
        modules: Mapping[str, str] | None = None,
        limits: LuaLimits | None = None,
        aside: Callable[[], AbstractAsyncContextManager[object]] = nullcontext,
    ) -> None:
        self._call = call
        self._write_log = write_log
        self._now = now
        self._began = now()
        self._seed = random_seed
        self._counts: dict[str, int] = {}  # of runs, by script
        self._environment = dict(environment or {})
        self._limits = limits or LuaLimits()
        self._to_lua = partial(to_lua, most_bytes=self._limits.value_bytes)
        self._slow: set[int] = set()  # functions that went long when they last ran: others come first
        self._last = REQUIRE
        self._scheduler = Scheduler()
        self._fibers = Fibers()
        self._program = Program(modules={name: Module(name, text) for name, text in (modules or {}).items()})
        self._slots = Slots(self._limits.runs, aside)
        self._environments = Environments(self._make, self._program)
        self._environments.give_back(self._environments.take())

    def _make(self) -> Environment:
        current = Current()
        runtime = Runtime(
            write_log=lambda level, text: self._write_log(level, text, current.context),
            now=self._now,
            random=current.random,
            began=self._began,
            seeded=self._seed is not None,
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
        publish: bool = True,
    ) -> LuaFunction:
        """Compile a script body as a function of the named arguments.

        name: of the function; published as a global, so that other scripts may call it (publish=False: not; one with
        readback is not either).
        file, first_line: where the body stands, for messages (default: name, 1).
        readback: arguments whose value at the end goes into LuaResult.readback, even if it was assigned anew.
        aliases: further names for arguments ({"operation": "event"}).

        Raises LuaSyntaxError, and LabError for a name that Lua does not allow.
        """
        aliases = dict(aliases or {})
        for word in (*arguments, *readback, *aliases, *aliases.values(), *([name] if publish else [])):
            if not _NAME.fullmatch(word):
                raise LabError(f"{word!r} cannot be a name in Lua: use letters, digits and underscores")
        script = Script(
            name, source, tuple(arguments), file or name, first_line, tuple(readback), aliases, publish
        )
        number = self._last + 1
        self._change(self._program.scripts, number, script)
        self._last = number
        return LuaFunction(number, script)

    def unload(self, function: LuaFunction) -> None:
        """Forget a script; runs of it that have begun go on."""
        self._slow.discard(function.number)
        if self._program.scripts.pop(function.number, None) is not None:
            self._program.revision += 1

    def add_module(self, name: str, source: str) -> None:
        """Add a module, or replace one; it runs before the next script. Raises LuaSyntaxError."""
        self._change(self._program.modules, name, Module(name, source))

    def _change(self, part: dict[_K, _V], key: _K, value: _V) -> None:
        """Put a script or a module into the program, if it compiles."""
        before = dict(part)
        part[key] = value
        self._program.revision += 1
        try:
            self._environments.give_back(self._environments.take())
        except BaseException:
            part.clear()
            part.update(before)
            raise

    async def start(self, context: object = None) -> None:
        """Run the modules that have not run yet; `run` does it by itself. Raises LuaError."""
        await self._drive(None, [], context)

    async def run(
        self, function: LuaFunction, *arguments: object, context: object = None, long: bool = False
    ) -> LuaResult:
        """Call a script; context goes to `call` and `write_log` as it is.

        long: the arguments are, so a thread translates them, and the loop goes on meanwhile.

        Raises LuaError (the script raised), LuaLimitError (it was stopped), and what call and write_log raise.
        """
        given: list[bytes]
        if long:
            given = await asyncio.to_thread(lambda: [*map(self._to_lua, arguments)])
        else:
            given = [*map(self._to_lua, arguments)]
        run, values = await self._drive(function, given, context)
        value, *rest = map(from_lua, values)
        return LuaResult(value, dict(zip(function.script.readback, rest, strict=True)), run.cpu)

    async def _drive(
        self, function: LuaFunction | None, texts: list[bytes], context: object
    ) -> tuple[Run, tuple[bytes | None, ...]]:
        """A run in an environment of its own, and the values that it gave; without a function the modules alone.

        It waits while too many others are under way, unless it runs within a call of a solution's service: what those
        above it hold might be what it would wait for.
        """
        if _WITHIN_A_RUN.get() or nesting.depth():
            return await self._drive_at_once(function, texts, context)
        if not self._slots.take():
            await self._slots.wait()
        _WITHIN_A_RUN.set(True)
        try:
            return await self._drive_at_once(function, texts, context)
        finally:
            _WITHIN_A_RUN.set(False)
            self._slots.give_back()

    async def _drive_at_once(
        self, function: LuaFunction | None, texts: list[bytes], context: object
    ) -> tuple[Run, tuple[bytes | None, ...]]:
        if function is not None and function.number in self._slow:
            await self._scheduler.wait_long()
        elif self._scheduler.used_up:
            await self._scheduler.wait()
        environment = self._environments.take()
        run = Run(environment, context)
        values: tuple[bytes | None, ...] = ()
        try:
            while environment.to_run:
                name = next(iter(environment.to_run))
                await self._call_function(run, REQUIRE, [self._to_lua(name)], f"module {name}")
                environment.to_run.pop(name, None)
            if function is not None:
                if function.number not in self._program.scripts:
                    raise LabError(f"the script {function.name} was unloaded")
                self._slow.discard(function.number)
                values = await self._call_function(run, function.number, texts, function.script.where)
        except LuaLimitError as error:
            if error.limit == "memory":
                await self._scheduler.wait()
                self._give_up_full(run)
            raise
        finally:
            self._environments.give_back(environment)
        return run, values

    async def _call_function(
        self, run: Run, number: int, texts: list[bytes], stream: str
    ) -> tuple[bytes | None, ...]:
        """A Lua function from its start to its end: the values it gave."""
        runtime, current = run.environment.runtime, run.environment.current
        current.context = run.context
        if self._seed is not None:
            current.begin(self._stream(stream))
        run.number = number
        step: Call | Done | None = None
        try:
            step = self._step(run, runtime.start, number, texts) or await self._long(run)
            while isinstance(step, Call):
                parameters = Parameters(step.arguments, from_lua)
                result = await self._call(step.service, step.operation, parameters, run.context)
                if self._scheduler.used_up:
                    await self._scheduler.wait()
                if self._environments.closed or run.cpu > self._limits.cpu_total_seconds:
                    raise self._end(run)
                try:
                    good, data = True, to_lua(result, self._limits.value_bytes)
                except LuaError as error:  # the script may catch it
                    good, data = False, to_bytes(f"{step.service}.{step.operation}: {error}")
                step = self._step(run, runtime.answer, good, data) or await self._long(run)
        except BaseException:
            if isinstance(step, Call):
                runtime.drop()
            raise
        return step.values

    def _step(self, run: Run, enter: Callable[..., Call | Done], *arguments: object) -> Call | Done | None:
        """Run Lua until it needs something, and count the time it took. None: it goes long."""
        run.enter, run.arguments = enter, arguments
        began = perf_counter()
        run.fiber = self._fibers.start(run)
        ended = perf_counter()
        if ended > self._scheduler.until:
            self._scheduler.use(began, ended)
        if run.fiber is not None:
            return None
        wall = ended - began
        run.cpu += wall if wall < _SHORT else run.environment.runtime.spent() or _SHORT
        return run.step if run.error is None else run.result()

    async def _long(self, run: Run) -> Call | Done:
        """Go on with a run that was switched out, in slices, until it needs something."""
        self._slow.add(run.number)
        while run.fiber is not None:
            try:
                await self._scheduler.wait_long()
                if self._environments.closed:
                    raise self._end(run)
            except BaseException:
                self._leave(run)
                raise
            began = perf_counter()
            run.fiber = self._fibers.resume(run.fiber)
            self._scheduler.use(began, perf_counter())
        run.cpu += run.environment.runtime.spent() or _SHORT
        return run.result()

    def _leave(self, run: Run) -> None:
        """End a run that was switched out: its Lua raises until nothing is left of it."""
        while run.fiber is not None:
            run.fiber = self._fibers.resume(run.fiber, go_on=False)

    def _stream(self, script: str) -> str:
        """Names the random numbers of a run: the next one of this script."""
        count = self._counts[script] = self._counts.get(script, 0) + 1
        return f"{self._seed} {script} {count}"

    def _end(self, run: Run) -> LabkitError:
        """Why a run that was answered may not go on."""
        if self._environments.closed:
            return LabError("the scripts of this solution were closed while one of them ran")
        limit = self._limits.cpu_total_seconds
        return LuaLimitError(
            "cpu", f"CPU limit: {run.cpu:.3f} s in one run, more than {limit:g} s ({_SETTING})"
        )

    def _give_up_full(self, run: Run) -> None:
        """Drop an environment whose globals hold so much memory that no other script could run in it."""
        held = run.environment.runtime.collect()
        if held > _FULL * self._limits.memory_bytes:
            self._environments.drop(run.environment)
            text = f"the scripts were started anew, without their globals: these held {held} bytes"
            self._write_log("error", text, run.context)

    def clear(self) -> None:
        """As if no script had run yet: drop the environments and the counts of random numbers.

        Runs that wait for a service go on in theirs, which is dropped afterwards.
        """
        self._counts.clear()
        self._began = self._now()
        self._environments.clear()

    def crash(self) -> None:
        """Drop the environments. Nothing that was drawn at random is drawn again."""
        self._environments.clear()

    def suspend(self) -> None:
        """Hold nothing that belongs to this thread, for another one to go on. No run is under way."""
        self._fibers.clear()

    def close(self) -> None:
        """Free the environments. Runs that wait for a service end with LabError once they are answered."""
        self._environments.close()
        self._fibers.clear()
