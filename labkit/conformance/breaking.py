"""What faults in code share: calls of a service that are given something else or give something else, which patch the
one way to every operation (CALL), and functions that do more than they should.
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


def failed(result: object) -> bool:
    """Is it an error object?"""
    return isinstance(result, dict) and "error" in result


def beforehand(original: Any, also: Callable[..., object]) -> Any:
    """Do something else first, with the same arguments: also(*arguments)."""

    def broken(*given: Any, **named: Any) -> Any:
        also(*given)
        return original(*given, **named)

    return broken


def afterwards(original: Any, also: Callable[..., object]) -> Any:
    """Do something else afterwards: also(result, *arguments)."""

    def broken(*given: Any, **named: Any) -> Any:
        result = original(*given, **named)
        also(result, *given)
        return result

    return broken
