"""Faults of service calls: before an operation works, and after it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from labkit.core.errors import ServiceError
from labkit.faults.fault import Fault
from labkit.faults.fields import plain_copy
from labkit.faults.tools import Tools


@dataclass(frozen=True, slots=True)
class Called:
    """A call that faults may hit. solution: whose; cause: sequence of the journal's record that it belongs to;
    given: its parameters, as the operation gets them.
    """

    solution: str
    service: str
    operation: str
    cause: int | None
    given: Mapping[str, object] = field(default_factory=dict)


class Calls:
    """The faults of service calls that a lab has, oldest first."""

    def __init__(self, faults: tuple[Fault, ...], tools: Tools) -> None:
        self._given = tuple(each for each in faults if each.changes_given)
        self._before = tuple(each for each in faults if each.phase == "before" and not each.changes_given)
        self._after = tuple(each for each in faults if each.phase == "after")
        self._tools = tools

    def given(self, called: Called) -> Called:
        """The call with its parameters as the faults change them."""
        for fault in self._given:
            if not _concerns(fault, called):
                continue
            given, found = fault.changes.apply(called.given)
            if (
                found
                and isinstance(given, Mapping)
                and self._tools.hits(fault, called.solution, called.cause)
            ):
                called = replace(called, given=given)
        return called

    async def instead(self, called: Called, work: Callable[[], Awaitable[object]]) -> object:
        """Hold the call; then the result that a fault gives instead of the work, or that of the work.

        Raises ServiceError where the fault has an error status.
        """
        for fault in self._before:
            if not _concerns(fault, called) or not self._tools.hits(fault, called.solution, called.cause):
                continue
            await self._tools.hold(fault, called.solution, called.cause)
            if fault.settings.status is not None:
                raise _error(fault)
            if fault.settings.body is not None:
                return plain_copy(fault.settings.body)
            if fault.settings.lost:
                return None
        return await work()

    async def after(
        self, called: Called, result: Any, status: int, error_object: Callable[[ServiceError], object]
    ) -> tuple[Any, int]:
        """The result as the caller gets it, error objects too, and its status."""
        for fault in self._after:
            settings = fault.settings
            if settings.if_status not in (None, status) or not _concerns(fault, called):
                continue
            if not fault.if_answer.hold_in(result):
                continue
            changed = result
            if fault.changes:
                changed, found = fault.changes.apply(result)
                if not found:
                    continue
            if not self._tools.hits(fault, called.solution, called.cause):
                continue
            await self._tools.hold(fault, called.solution, called.cause)
            if settings.status is not None:
                result, status = error_object(_error(fault)), settings.status
            elif settings.body is not None:
                result, status = plain_copy(settings.body), 200
            else:
                result = changed
        return result, status


def _concerns(fault: Fault, called: Called) -> bool:
    return (
        fault.is_at(called.service, called.operation)
        and fault.is_for(solution=called.solution)
        and fault.if_given.hold_in(called.given)
    )


def _error(fault: Fault) -> ServiceError:
    """The refusal that a fault is. Its text: the body, where that is one."""
    settings = fault.settings
    assert settings.status is not None
    text = settings.body if isinstance(settings.body, str) else fault.reason
    return ServiceError(settings.status, text)
