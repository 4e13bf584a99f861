"""One run of a script: calls of Lua functions, one after the other, and the service calls that they make."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

from greenlet import greenlet

from labkit.core.errors import LabError, LabkitError
from labkit.services.operation import Parameters
from labkit.solutions.lua.convert import from_lua, to_bytes, to_lua
from labkit.solutions.lua.environments import Environment, Environments, RandomStreams
from labkit.solutions.lua.errors import LuaError, LuaLimitError
from labkit.solutions.lua.fibers import Fibers
from labkit.solutions.lua.limits import LuaLimits
from labkit.solutions.lua.program import Program, Script
from labkit.solutions.lua.runtime import Call, Done
from labkit.solutions.lua.scheduling import Scheduler

MODULE = 0  # number of the function that runs a module
_SHORT = 0.002  # seconds of wall time up to which a slice counts as CPU time; longer slices are measured
_SETTING = "guard.script_cpu"  # the setting of the CPU limit


@dataclass(frozen=True, slots=True)
class LuaFunction:
    """A script that a LuaHost has loaded."""

    number: int
    script: Script

    @property
    def name(self) -> str:
        return self.script.name


class ServiceCalls(Protocol):
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
    limits: LuaLimits
    program: Program
    environments: Environments
    streams: RandomStreams
    scheduler: Scheduler = field(default_factory=Scheduler)
    fibers: Fibers = field(default_factory=Fibers)
    slow: set[int] = field(default_factory=set)


class Run:
    """A run of a script, which has exclusive use of an environment from `begin` to `end`.

    context: of the host's caller; cpu: CPU seconds used so far.
    """

    __slots__ = ("_fiber", "_number", "_shared", "context", "cpu", "environment")

    def __init__(self, shared: Shared, context: object) -> None:
        self._shared = shared
        self._number = MODULE
        self._fiber: greenlet
        self.context = context
        self.cpu = 0.0
        self.environment: Environment | None = None

    async def begin(self, function: LuaFunction | None) -> None:
        """Acquire an environment once the loop has time for the function, and run the modules not yet run there.

        Raises LabError for a function that was unloaded and for a closed host, and the errors of `drive`.
        """
        shared = self._shared
        if function is not None and function.number in shared.slow:
            await shared.scheduler.wait_long()
        elif shared.scheduler.used_up:
            await shared.scheduler.wait()
        environment = self.environment = shared.environments.take()
        while environment.to_run:
            name = next(iter(environment.to_run))
            await self.drive(MODULE, [to_lua(name, shared.limits.value_bytes)], f"module {name}")
            environment.to_run.pop(name, None)
        if function is not None:
            if function.number not in shared.program.scripts:
                raise LabError(f"the script {function.name} was unloaded")
            shared.slow.discard(function.number)

    def end(self) -> None:
        """Release the environment, if the run acquired one."""
        if self.environment is not None:
            self._shared.environments.give_back(self.environment)

    async def drive(self, number: int, texts: Sequence[bytes], stream: str) -> tuple[bytes | None, ...]:
        """Call a Lua function and await the services that it calls; return its values as `convert.from_lua` reads them.

        texts: its arguments; stream: name of its random numbers. Raises LuaError (the script raised), LuaLimitError
        (it was stopped), LabError once the host is closed, and the errors of services.
        """
        shared, environment = self._shared, self.environment
        assert environment is not None
        runtime, scheduler = environment.runtime, shared.scheduler
        environment.current.begin(self.context, shared.streams.next(stream))
        self._number, self._fiber = number, shared.fibers.take()
        call: Call | None = None  # pending in Lua
        enter: Callable[..., Call | Done] = runtime.start
        arguments: tuple[Any, ...] = (number, texts)
        outcome: list[Any] = []  # a Call, a Done or an exception
        try:
            while True:
                began = perf_counter()
                has_ended = self._fiber.switch(enter, arguments, outcome)
                ended = perf_counter()
                if ended > scheduler.until:
                    scheduler.use(began, ended)
                if has_ended:
                    wall = ended - began
                    self.cpu += wall if wall < _SHORT else runtime.spent() or _SHORT
                else:
                    await self._continue_long()
                if type(outcome[0]) is not Call:
                    return _values(outcome.pop())
                call = outcome.pop()
                parameters = Parameters(call.arguments, from_lua)
                result = await shared.services.call(self.context, call.service, call.operation, parameters)
                if scheduler.used_up:
                    await scheduler.wait()
                if shared.environments.closed or self.cpu > shared.limits.cpu_total_seconds:
                    raise self._reason_to_end()
                enter, arguments = runtime.answer, _answer(call, result, shared.limits.value_bytes)
        except BaseException:
            if call is not None:
                runtime.drop()
            raise
        finally:
            shared.fibers.give_back(self._fiber)

    async def _continue_long(self) -> None:
        """Continue a suspended function, in slices, until it calls a service, ends or raises."""
        shared, environment = self._shared, self.environment
        assert environment is not None
        shared.slow.add(self._number)
        has_ended = False
        while not has_ended:
            try:
                await shared.scheduler.wait_long()
                if shared.environments.closed:
                    raise self._reason_to_end()
            except BaseException:
                while not self._fiber.switch(
                    False
                ):  # a script may catch the error, so raise it until it ends
                    pass
                raise
            began = perf_counter()
            has_ended = self._fiber.switch(True)
            shared.scheduler.use(began, perf_counter())
        self.cpu += environment.runtime.spent() or _SHORT

    def _reason_to_end(self) -> LabkitError:
        """Return the error of a run that may not continue after a service call."""
        if self._shared.environments.closed:
            return LabError("the scripts of this solution were closed while one of them ran")
        limit = self._shared.limits.cpu_total_seconds
        return LuaLimitError(
            "cpu", f"CPU limit: {self.cpu:.3f} s in one run, more than {limit:g} s ({_SETTING})"
        )


def _values(step: Done | BaseException) -> tuple[bytes | None, ...]:
    """Return the values of a function that has ended. Raises its exception."""
    if isinstance(step, Done):
        return step.values
    try:
        raise step
    finally:
        del step  # avoids a reference cycle of the error and this frame


def _answer(call: Call, result: object, most_bytes: int) -> tuple[bool, bytes]:
    """Return the arguments of `Runtime.answer`: True and a result, or False and an error if it cannot be converted."""
    try:
        return True, to_lua(result, most_bytes)
    except LuaError as error:
        return False, to_bytes(f"{call.service}.{call.operation}: {error}")
