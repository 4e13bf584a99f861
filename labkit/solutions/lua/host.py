"""Runs a solution's Lua scripts: each is a coroutine, so a service call looks synchronous but is awaited."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar

from labkit.core.errors import LabError, LabkitError
from labkit.solutions.lua.convert import from_lua, to_lua
from labkit.solutions.lua.errors import LuaError, LuaLimitError
from labkit.solutions.lua.limits import LuaLimits
from labkit.solutions.lua.runtime import Call, Done, Runtime, Script
from labkit.solutions.lua.turns import Turns

_T = TypeVar("_T")
_D = TypeVar("_D")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REQUIRE = 0  # the number of the function that runs a module
_SHORT = 0.002  # seconds of wall time that count as CPU; a longer slice was measured, or else waited
_FULL = 0.75  # of memory_bytes still held after a memory error: the runtime is given up


@dataclass(frozen=True, slots=True)
class LuaFunction:
    """A script that a LuaHost loaded."""

    number: int
    script: Script

    @property
    def name(self) -> str:
        return self.script.name


@dataclass(frozen=True, slots=True)
class LuaResult:
    """What a run gave. value: what the script returned; readback: what parameters held at the end."""

    value: Any
    readback: Mapping[str, Any] = field(default_factory=dict)
    cpu_seconds: float = 0.0


@dataclass(slots=True)
class _Run:
    """A script on its way."""

    runtime: Runtime
    context: object
    cpu: float = 0.0  # seconds


class LuaHost:
    """One LuaJIT runtime for the scripts of a solution, which share their globals. One event loop uses it.

    call: (service, operation, parameters, context) -> result; awaited when a script calls a service. Failures
    of the platform are results (error objects); what it raises ends the run, and the run raises it.
    write_log: (level, text, context), for print (level `print`) and log.*.
    now: lab seconds since the epoch, the only time that scripts see.
    random_seed: of math.random; with one, pairs goes in the order of the keys too, so that a run repeats.
    environment: for os.getenv.
    modules: name (`dir.name`) -> source; all of them run before the first script.

    Raises LuaSyntaxError for a module that does not compile.
    """

    def __init__(
        self,
        *,
        call: Callable[[str, str, Any, Any], Awaitable[Any]],
        write_log: Callable[[str, str, Any], None],
        now: Callable[[], float],
        random_seed: int | None,
        environment: Mapping[str, str] | None = None,
        modules: Mapping[str, str] | None = None,
        limits: LuaLimits | None = None,
    ) -> None:
        self._call = call
        self._write_log = write_log
        self._now = now
        self._seed = random_seed
        self._environment = dict(environment or {})
        self._modules = dict(modules or {})
        self._limits = limits or LuaLimits()
        self._scripts: dict[int, Script] = {}
        self._last = _REQUIRE
        self._context: object = None  # of the script that runs at this moment
        self._turns = Turns()
        self._starting = asyncio.Lock()
        self._started = not self._modules
        self._open: Runtime | None = self._fresh()

    def _fresh(self) -> Runtime:
        runtime = Runtime(
            write_log=lambda level, text: self._write_log(level, text, self._context),
            now=self._now,
            seed=secrets.randbits(48) if self._seed is None else self._seed % 2**48,
            seeded=self._seed is not None,
            environment=self._environment,
            limits=self._limits,
        )
        for name, source in self._modules.items():
            runtime.add_module(name, source)
        for number, script in self._scripts.items():
            runtime.load(number, script)
        return runtime

    @property
    def _runtime(self) -> Runtime:
        if self._open is None:
            raise LabError("the scripts of this solution were closed: start the lab or the solution anew")
        return self._open

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

        name: of the function; published as a global, so that other scripts may call it (publish=False: not).
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
        self._runtime.load(number, script)
        self._last = number
        self._scripts[number] = script
        return LuaFunction(number, script)

    def unload(self, function: LuaFunction) -> None:
        """Forget a script; runs of it that have begun go on."""
        if self._scripts.pop(function.number, None) is not None:
            self._runtime.unload(function.number, function.script)

    def add_module(self, name: str, source: str) -> None:
        """Add a module, or replace one; it runs before the next script. Raises LuaSyntaxError."""
        self._runtime.add_module(name, source)
        self._modules[name] = source
        self._started = False

    async def start(self, context: object = None) -> None:
        """Run the modules that have not run yet; `run` does it by itself. Raises LuaError."""
        async with self._starting:
            while not self._started:
                runtime = self._runtime
                for name in list(self._modules):
                    await self._drive(_Run(runtime, context), _REQUIRE, [self._to_lua(name)])
                self._started = runtime is self._open

    async def run(self, function: LuaFunction, *arguments: object, context: object = None) -> LuaResult:
        """Call a script; context goes to `call` and `write_log` as it is.

        Raises LuaError (the script raised), LuaLimitError (it was stopped), and what call and write_log raise.
        """
        texts = [self._to_lua(argument) for argument in arguments]
        if not self._started:
            await self.start(context)
        if function.number not in self._scripts:
            raise LabError(f"the script {function.name} was unloaded")
        run = _Run(self._runtime, context)
        value, *rest = map(from_lua, await self._drive(run, function.number, texts))
        return LuaResult(value, dict(zip(function.script.readback, rest, strict=True)), run.cpu)

    async def _drive(self, run: _Run, number: int, texts: list[bytes]) -> tuple[bytes | None, ...]:
        """A run from its start to its end: the values it gave."""
        step: Call | Done | None = None
        try:
            if self._turns.used_up:
                await self._turns.next()
            step = self._slice(run, run.runtime.start, number, texts)
            while isinstance(step, Call):
                result = await self._call(step.service, step.operation, from_lua(step.arguments), run.context)
                if self._turns.used_up:
                    await self._turns.next()
                if self._open is None or run.cpu > self._limits.cpu_total_seconds:
                    raise self._end(run)
                step = self._resume(run, step, result)
        except BaseException as error:
            if isinstance(step, Call):
                run.runtime.drop(step)
            if isinstance(error, LuaLimitError) and error.limit == "memory":
                await self._turns.next()
                self._recover(run)
            raise
        return step.values

    def _to_lua(self, value: object) -> bytes:
        return to_lua(value, self._limits.value_bytes)

    def _end(self, run: _Run) -> LabkitError:
        """Why a run that was answered may not go on."""
        if self._open is None:
            return LabError("the scripts of this solution were closed while one of them ran")
        limit = self._limits.cpu_total_seconds
        return LuaLimitError("cpu", f"CPU limit: {run.cpu:.3f} s in one run, more than {limit} s")

    def _resume(self, run: _Run, call: Call, result: object) -> Call | Done:
        """Go on with the result of a service call, or with an error if it cannot be handed over."""
        try:
            data = self._to_lua(result)
        except LuaError as error:
            reason = f"{call.service}.{call.operation}: {error}"
            return self._slice(run, run.runtime.refuse, call, reason)
        return self._slice(run, run.runtime.answer, call, data)

    def _slice(self, run: _Run, enter: Callable[[_T, _D], Call | Done], target: _T, data: _D) -> Call | Done:
        """Run Lua until it needs something, and count the time it took."""
        self._context = run.context
        began = perf_counter()
        try:
            return enter(target, data)
        finally:
            ended = perf_counter()
            self._turns.use(began, ended)
            wall = ended - began
            run.cpu += wall if wall < _SHORT else run.runtime.spent() or _SHORT

    def _recover(self, run: _Run) -> None:
        """Give up a runtime whose globals hold so much memory that no other script could run."""
        held = run.runtime.collect()
        if run.runtime is self._open and held > _FULL * self._limits.memory_bytes:
            self._open = self._fresh()
            self._started = not self._modules
            text = f"the scripts were started anew, without their globals: these held {held} bytes"
            self._write_log("error", text, run.context)

    def close(self) -> None:
        """Free the runtime. Runs that wait for a service end with LabError once they are answered."""
        self._open = None
