"""What takes Python functions: it works in the lab's own process alone.

An async function runs on the platform's loop, a sync one in a worker's thread (solutions/workers.py).
"""

from __future__ import annotations

from collections.abc import Callable

from labkit.platform import Platform


class FunctionsControl:
    """Functions as handlers."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def route(
        self, solution: str, method: str, path: str, function: Callable[..., object], content_type: str
    ) -> None:
        """Answer `method path` of a solution with a function (Solution.route)."""
        self._platform.solutions.get(solution).route(method, path, function, content_type=content_type)

    async def on(self, solution: str, service: str, event: str, function: Callable[..., object]) -> None:
        """Handle an event of a solution with a function (Solution.on)."""
        self._platform.solutions.get(solution).on(service, event, function)
