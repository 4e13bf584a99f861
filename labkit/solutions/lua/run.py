"""One run of a script: calls of Lua functions, one after the other, and the service calls that they make."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from greenlet import greenlet

from labkit.core import nesting
from labkit.core.errors import LabError, LabkitError
from labkit.core.host_time import perf_counter
from labkit.labtime.slots import Slots
from labkit.services.operation import Parameters
from labkit.solutions.lua.convert import from_lua, to_bytes, to_lua
from labkit.solutions.lua.current import SHORT, ImmediateCalls
from labkit.solutions.lua.environments import Environment, Environments, RandomStreams
from labkit.solutions.lua.errors import LuaError, LuaLimitError, innermost
from labkit.solutions.lua.fibers import Fibers
from labkit.solutions.lua.limits import LuaLimits
from labkit.solutions.lua.program import Program, Script
from labkit.solutions.lua.runtime import Call, Done
from labkit.solutions.lua.scheduling import Scheduler

WriteLog = Callable[[str, str, Any], None]  # level, text, context of the host's caller

MODULE = 0  # number of the function that runs a module
_WITHIN_A_RUN: ContextVar[bool] = ContextVar("within a run", default=False)  # of whichever solution
# Fraction of memory_bytes still in use after a memory error, above which the environment is dropped.
_FULL = 0.75


@dataclass(frozen=True, slots=True)
class LuaFunction:
    """A script that a LuaHost has loaded."""

    number: int
    script: Script

    @property
    def name(self) -> str:
        return self.script.name


@dataclass(slots=True)  # not frozen, at several times the cost with each run
class LuaResult:
    """Result of a run. value: returned by the script; readback: values of parameters at the end."""

    value: Any
    readback: Mapping[str, Any] = field(default_factory=dict)
    cpu_seconds: float = 0.0


class ServiceCalls(ImmediateCalls, Protocol):
    """The services that scripts call."""

    def call(
        self, context: Any, service: str, operation: str, parameters: Parameters, /
    ) -> Awaitable[object]:
        """Return the result of an operation, or its error object. An exception raised here ends the run."""
        ...


@dataclass(slots=True)
class Shared:
    """State shared by the runs of one host.

    slow: numbers of the functions whose last run was long: others take precedence.
    """

    services: ServiceCalls
    write_log: WriteLog
    limits: LuaLimits
    program: Program
    environments: Environments
    streams: RandomStreams
    slots: Slots
    scheduler: Scheduler = field(default_factory=Scheduler)
    fibers: Fibers = field(default_factory=Fibers)
    slow: set[int] = field(default_factory=set)


class LuaRun:
    """A run of a script, which has exclusive use of an environment. context: of the host's caller."""

    __slots__ = ("_fiber", "_number", "_shared", "context", "environment")

    def __init__(self, shared: Shared, context: object) -> None:
        self._shared = shared
        self._number = MODULE
        self._fiber: greenlet
        self.context = context
        self.environment: Environment | None = None

    async def perform(
        self, function: LuaFunction | None, arguments: Sequence[object], long: bool
    ) -> LuaResult:
        """Run a function and return its result, as `LuaHost.run` describes it."""
        shared = self._shared
        if long:
            texts = await asyncio.to_thread(_translate, arguments, shared.limits.value_bytes)
        else:
            most_bytes = shared.limits.value_bytes
            texts = [to_lua(each, most_bytes) for each in arguments]
        # A call of a solution's service takes no slot: the runs that wait for it may occupy all of them.
        is_nested = _WITHIN_A_RUN.get() or nesting.depth() > 0
        if not is_nested:
            if not shared.slots.acquire():
                await shared.slots.wait()
            _WITHIN_A_RUN.set(True)
        values: tuple[bytes | None, ...] = (None,)
        try:
            await self._begin(function)
            if function is not None:
                values = await self._drive(function.number, texts, function.script.where)
        except LuaLimitError as error:
            if error.limit == "memory":
                await self._give_up_full()
            raise
        finally:
            cpu = self._end()
            if not is_nested:
                _WITHIN_A_RUN.set(False)
                shared.slots.release()
        value, *rest = map(from_lua, values)
        readback = () if function is None else function.script.readback
        return LuaResult(value, dict(zip(readback, rest, strict=True)), cpu)

    async def _begin(self, function: LuaFunction | None) -> None:
        """Acquire an environment once the loop has time for the function, and run the modules not yet run there.

        Raises LabError for a function that was unloaded and for a closed host, and the errors of `_drive`.
        """
        shared = self._shared
        if function is not None and function.number in shared.slow:
            await shared.scheduler.wait_long()
        elif shared.scheduler.used_up:
            await shared.scheduler.wait()
        environment = self.environment = shared.environments.take()
        environment.current.cpu = 0.0
        while environment.to_run:
            name = next(iter(environment.to_run))
            await self._drive(MODULE, [to_lua(name, shared.limits.value_bytes)], f"module {name}")
            environment.to_run.pop(name, None)
        if function is not None:
            if function.number not in shared.program.scripts:
                raise LabError(f"the script {function.name} was unloaded")
            shared.slow.discard(function.number)

    def _end(self) -> float:
        """Release the environment, if the run acquired one. Return the CPU seconds that the run used."""
        if self.environment is None:
            return 0.0
        self._shared.environments.give_back(self.environment)
        return self.environment.current.cpu

    async def _drive(self, number: int, texts: Sequence[bytes], stream: str) -> tuple[bytes | None, ...]:
        """Call a Lua function and await the services that it calls; return its values as `convert.from_lua` reads them.

        texts: its arguments; stream: name of its random numbers. Raises LuaError (the script raised), LuaLimitError
        (it was stopped), LabError once the host is closed, and the errors of services.
        """
        shared, environment = self._shared, self.environment
        assert environment is not None
        runtime, current, scheduler = environment.runtime, environment.current, shared.scheduler
        current.begin(self.context, shared.streams.next(stream))
        self._number, self._fiber = number, shared.fibers.take()
        call: Call | None = None  # pending in Lua
        enter, arguments = runtime.start(number, texts)
        answers: list[Any] = []  # of Lua; or an exception
        try:
            while True:
                current.began = perf_counter()
                has_ended = self._fiber.switch(enter, arguments, answers)
                ended = perf_counter()
                if ended > scheduler.until:
                    scheduler.use(current.began, ended)
                if not has_ended:
                    await self._continue_long()
                    ended = perf_counter()
                wall = ended - current.began
                current.cpu += wall if wall < SHORT else runtime.spent() or SHORT
                step = runtime.outcome(answers.pop())
                if isinstance(step, Done):
                    return step.values
                call = step
                result = await self._result(call)
                if scheduler.used_up:
                    await scheduler.wait()
                if shared.environments.closed or current.cpu > shared.limits.cpu_total_seconds:
                    raise self._reason_to_end(current.cpu, runtime.waiting())
                enter, arguments = runtime.answer(*_answer(call, result, shared.limits.value_bytes))
        except BaseException as error:
            if call is not None:
                if isinstance(error, asyncio.CancelledError):
                    error.add_note(innermost(runtime.waiting()))  # for the error of a time limit
                runtime.drop()
            raise
        finally:
            shared.fibers.give_back(self._fiber)

    async def _result(self, call: Call) -> object:
        """Return the result of a call for which the script was suspended."""
        assert self.environment is not None
        if call.is_made:
            return self.environment.current.take_outcome()
        parameters = Parameters(call.arguments, from_lua)
        return await self._shared.services.call(self.context, call.service, call.operation, parameters)

    async def _continue_long(self) -> None:
        """Continue a suspended function, in slices, until it calls a service, ends or raises."""
        shared = self._shared
        shared.slow.add(self._number)
        has_ended = False
        while not has_ended:
            try:
                await shared.scheduler.wait_long()
                if shared.environments.closed:
                    raise self._reason_to_end(0.0)
            except BaseException:
                while not self._fiber.switch(
                    False
                ):  # a script may catch the error, so raise it until it ends
                    pass
                raise
            began = perf_counter()
            shared.scheduler.use(began, began)
            has_ended = self._fiber.switch(True)
            shared.scheduler.use(began, perf_counter())

    async def _give_up_full(self) -> None:
        """Drop the environment if its globals occupy so much memory that no other script could run in it."""
        shared, environment = self._shared, self.environment
        await shared.scheduler.wait()
        assert environment is not None  # where the run was stopped
        held = environment.runtime.collect()
        if held > _FULL * shared.limits.memory_bytes:
            shared.environments.drop(environment)
            text = f"the scripts were started anew, without their globals: these held {held} bytes"
            shared.write_log("error", text, self.context)

    def _reason_to_end(self, cpu: float, traceback: str = "") -> LabkitError:
        """Return the error of a run that may not continue after a service call, made at the place in the traceback."""
        if self._shared.environments.closed:
            return LabError("the scripts of this solution were closed while one of them ran")
        limits = self._shared.limits
        total, setting = limits.cpu_total_seconds, limits.cpu_setting
        text = f"CPU limit: {cpu:.3f} s in one run, more than {total:g} s{setting}"
        return LuaLimitError("cpu", text, traceback)


def _translate(arguments: Sequence[object], most_bytes: int) -> list[bytes]:
    return [to_lua(each, most_bytes) for each in arguments]


def _answer(call: Call, result: object, most_bytes: int) -> tuple[bool, bytes]:
    """Return the arguments of `LuaState.answer`: True and a result, or False and an error if it cannot be converted."""
    try:
        return True, to_lua(result, most_bytes)
    except LuaError as error:
        return False, to_bytes(f"{call.service}.{call.operation}: {error}")
