"""Faults of scripts that fail, run wild or look outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.solutions.lua.runtime import Runtime


@mutant("SOL-ERR-2", "labkit.solutions.handlers:explain")
def no_details(original: Any) -> Any:
    """the journal does not tell what the error was"""
    return lambda error: type(error).__name__


@mutant("SOL-ERR-6", "labkit.services.calls:redacted")
def arguments_lost(original: Any) -> Any:
    """the journal has no arguments of what does not exist"""
    return lambda parameters: {}


@mutant("SOL-ERR-5", "labkit.solutions.lua.runtime:Runtime.library", from_start=True)
def io_in_reach(original: Any) -> Any:
    """scripts reach io"""

    def more(lua: Any, env: Any) -> None:
        env[b"io"] = lua.globals()[b"io"]

    return environment(original, more)


def environment(original: Any, change: Callable[[Any, Any], object]) -> Any:
    """Change what scripts see: `change(Lua, the script's globals)` runs once the services are there."""

    def broken(self: Runtime, name: str | bytes) -> Any:
        part = original(self, name)
        if name != b"services":
            return part

        def load(*arguments: Any) -> Any:
            services = part(*arguments)
            install = services[b"install"]

            def changed(env: Any) -> None:
                install(env)
                change(self._lua, env)

            services[b"install"] = changed
            return services

        return load

    return broken
