"""Faults that many mutants share: calls of a service that are given something else, or give something else.

They patch `labkit.services.calls:Services.call` (CALL), the one way to every operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labkit.services.calls import Services
    from labkit.services.operation import Caller

CALL = "labkit.services.calls:Services.call"


def gives(original: Any, service: str, change: Callable[[str, Any], Any]) -> Any:
    """Change what the operations of a service give: change(operation, result)."""

    async def broken(
        self: Services, caller: Caller, name: str, operation: str, parameters: Any = None
    ) -> Any:
        result = await original(self, caller, name, operation, parameters)
        return change(operation, result) if name == service else result

    return broken


def given(original: Any, service: str, change: Callable[[str, dict[str, Any]], Any]) -> Any:
    """Change what the operations of a service are given: change(operation, parameters)."""

    async def broken(
        self: Services, caller: Caller, name: str, operation: str, parameters: Any = None
    ) -> Any:
        if name == service and isinstance(parameters, dict):
            parameters = change(operation, parameters)
        return await original(self, caller, name, operation, parameters)

    return broken


def with_result(original: Any, operation: str, change: Callable[[Any], Any]) -> Any:
    """Change what one operation of User gives where it succeeds."""
    return gives(
        original,
        "User",
        lambda called, result: change(result) if called == operation and not failed(result) else result,
    )


def with_parameters(original: Any, operation: str, change: Callable[[dict[str, Any]], Any]) -> Any:
    """Change what one operation of User is given."""
    return given(
        original,
        "User",
        lambda called, parameters: change(parameters) if called == operation else parameters,
    )


def failed(result: object) -> bool:
    """Is it an error object?"""
    return isinstance(result, dict) and "error" in result
