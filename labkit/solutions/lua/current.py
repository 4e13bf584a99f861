"""State of the run that uses an environment: its random numbers, its CPU time, and service calls that need no wait."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any, Literal, Protocol

from labkit.core.host_time import perf_counter
from labkit.services.operation import WAITS, Parameters
from labkit.solutions.lua.convert import Names, from_lua, to_lua
from labkit.solutions.lua.errors import LuaError
from labkit.solutions.lua.limits import LuaLimits
from labkit.solutions.lua.scheduling import Scheduler

SHORT = 0.002  # seconds of wall time up to which a slice counts as CPU time; longer slices are measured

_NO_OUTCOME: tuple[object, BaseException | None] = None, None


class ImmediateCalls(Protocol):
    """Services that scripts call, for calls that need no wait."""

    def call_at_once(self, context: Any, service: str, operation: str, parameters: Parameters, /) -> object:
        """Make a call that never waits; return the result of the operation or its error object.

        WAITS, unmade, if the call may have to wait. An exception raised here ends the run.
        """
        ...


class Current:
    """The run that uses an environment.

    context: of the host's caller; stream: name of its random numbers, None for unpredictable ones; began: perf_counter
    at the start of its slice, the part between two service calls; cpu: CPU seconds of its earlier slices.
    """

    __slots__ = (
        "_blocks",
        "_limits",
        "_names",
        "_outcome",
        "_scheduler",
        "_services",
        "began",
        "context",
        "cpu",
        "stream",
    )

    def __init__(self, services: ImmediateCalls, scheduler: Scheduler, limits: LuaLimits) -> None:
        self._services = services
        self._scheduler = scheduler
        self._limits = limits
        self._names = Names()
        self._outcome = _NO_OUTCOME
        self._blocks = 0
        self.context: object = None
        self.stream: str | None = None
        self.began = self.cpu = 0.0

    def begin(self, context: object, stream: str | None) -> None:
        """Start a run of a function, with a stream of its own."""
        self.context, self.stream, self._blocks = context, stream, 0

    def random(self, count: int) -> bytes:
        """Return the next `count` bytes of the run's stream."""
        if self.stream is None:
            return secrets.token_bytes(count)
        self._blocks += 1
        return hashlib.shake_128(f"{self.stream} {self._blocks}".encode()).digest(count)

    def call(
        self, service: bytes, operation: bytes, arguments: bytes, room: float, spent: float | None
    ) -> bytes | Literal[False] | None:
        """Make a service call that needs no wait; return its result as Lua reads it. For Lua, so it never raises.

        Otherwise the run has to be suspended. None: the call has to be awaited and has not begun. False: `take_outcome`
        has its exception, or a result that has more than `room` bytes or cannot be converted. spent: CPU seconds of the
        slice, if Lua measured them.
        """
        try:
            now = perf_counter()
            scheduler, names = self._scheduler, self._names
            if now > scheduler.until:
                scheduler.use(self.began, now)
            wall = now - self.began
            cpu = self.cpu + (wall if wall < SHORT else spent or SHORT)
            if scheduler.used_up or cpu > self._limits.cpu_total_seconds:
                return None
            result = self._services.call_at_once(
                self.context, names[service], names[operation], Parameters(arguments, from_lua)
            )
            if result is WAITS:
                return None
            self._outcome = result, None
            data = to_lua(result, self._limits.value_bytes)
            self.cpu, self.began = cpu, perf_counter()  # the next slice begins
        except LuaError:  # raised again by whoever converts the outcome
            return False
        except BaseException as error:  # noqa: BLE001 - a script could catch it here
            self._outcome = None, error
            return False
        return data if len(data) <= room else False

    def take_outcome(self) -> object:
        """Remove and return the result of a call that has been made. Raises its exception."""
        (result, error), self._outcome = self._outcome, _NO_OUTCOME
        if error is not None:
            raise error
        return result
