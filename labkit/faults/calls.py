"""Faults of service calls: applied before an operation runs, and to its result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from labkit.core.errors import ServiceError
from labkit.faults.fault import ActiveFault
from labkit.faults.fields import plain_copy
from labkit.faults.overlap import Overlap
from labkit.faults.tools import FaultTools


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """A service call as faults match it.

    solution: the caller; cause: sequence of the journal's record that the call belongs to; parameters: as the
    operation gets them.
    """

    solution: str
    service: str
    operation: str
    cause: int | None
    parameters: Mapping[str, object] = field(default_factory=dict)


class CallFaults:
    """The active faults of service calls, oldest first, and the lab time that calls of handlers take."""

    def __init__(self, faults: tuple[ActiveFault, ...], tools: FaultTools, overlap: Overlap) -> None:
        self._changing = tuple(each for each in faults if each.changes_given)
        self._before = tuple(each for each in faults if each.phase == "before" and not each.changes_given)
        self._after = tuple(each for each in faults if each.phase == "after")
        self._tools = tools
        self._overlap = overlap

    def change_parameters(self, call: ServiceCall) -> ServiceCall:
        """Return the call with its parameters as the faults change them."""
        for fault in self._changing:
            if not _concerns(fault, call):
                continue
            parameters, found = fault.changes.apply(call.parameters)
            if (
                found
                and isinstance(parameters, Mapping)
                and self._tools.hits(fault, call.solution, call.cause)
            ):
                call = replace(call, parameters=parameters)
        return call

    async def run(self, call: ServiceCall, work: Callable[[], Awaitable[object]]) -> object:
        """Delay the call, then return the result of `work`, or the result with which a fault replaces it.

        Raises ServiceError if the fault has an error status.
        """
        await self._overlap.pass_time(call.solution, call.cause)
        for fault in self._before:
            if not _concerns(fault, call) or not self._tools.hits(fault, call.solution, call.cause):
                continue
            await self._tools.delay(fault, call.solution, call.cause)
            if fault.settings.restart:
                await self._tools.restart(fault)
                raise _restarted(fault)
            if fault.settings.status is not None:
                raise _error(fault)
            if fault.settings.body is not None:
                return plain_copy(fault.settings.body)
            if fault.settings.lost:
                return None
        return await work()

    async def change_result(
        self, call: ServiceCall, result: Any, status: int, error_object: Callable[[ServiceError], object]
    ) -> tuple[Any, int]:
        """Return the result (an error object too) and its status as the faults change them for the caller."""
        for fault in self._after:
            settings = fault.settings
            if settings.if_status not in (None, status) or not _concerns(fault, call):
                continue
            if not fault.if_answer.are_met_by(result):
                continue
            changed = result
            if fault.changes:
                changed, found = fault.changes.apply(result)
                if not found:
                    continue
            if not self._tools.hits(fault, call.solution, call.cause):
                continue
            await self._tools.delay(fault, call.solution, call.cause)
            if settings.restart:
                await self._tools.restart(fault)
                error = _restarted(fault)
                result, status = error_object(error), error.status
            elif settings.status is not None:
                result, status = error_object(_error(fault)), settings.status
            elif settings.body is not None:
                result, status = plain_copy(settings.body), 200
            else:
                result = changed
        return result, status


def _concerns(fault: ActiveFault, call: ServiceCall) -> bool:
    return (
        fault.is_at(call.service, call.operation)
        and fault.is_for(solution=call.solution)
        and not (fault.settings.scripts and call.cause is None)
        and fault.if_given.are_met_by(call.parameters)
    )


def _restarted(fault: ActiveFault) -> ServiceError:
    """Return the error of a call from outside of the platform, which its restart has not ended."""
    return ServiceError(503, f"the platform lost its power: {fault.reason}")


def _error(fault: ActiveFault) -> ServiceError:
    """Return the error that a fault raises; its text is the fault's body where that is a string."""
    settings = fault.settings
    assert settings.status is not None
    text = settings.body if isinstance(settings.body, str) else fault.reason
    return ServiceError(settings.status, text)
