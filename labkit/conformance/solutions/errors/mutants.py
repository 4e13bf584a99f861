"""Faults of scripts that fail, run wild or look outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import web

from labkit.conformance.mutant import mutant
from labkit.core.errors import ServiceError
from labkit.solutions.lua import LuaLimitError
from labkit.solutions.lua.runtime import Runtime
from labkit.solutions.response import Response, reply

STATUS = "labkit.solutions.handlers:status_of"
ANSWER = "labkit.solutions.solution:Solution.answer"


@mutant("SOL-ERR-1 SOL-ERR-2 SOL-ERR-3", STATUS)
def clients_fault(original: Any) -> Any:
    """an error of a script is the client's fault"""
    return lambda error: 400


@mutant("SOL-ERR-1", ANSWER)
def as_if_nothing(original: Any) -> Any:
    """an error of a script is answered as if nothing had been"""

    async def broken(*arguments: Any) -> Any:
        try:
            return await original(*arguments)
        except Exception:  # noqa: BLE001 - whatever it is
            return reply(None, Response())

    return broken


@mutant("SOL-ERR-2", "labkit.solutions.response:failure")
def no_json(original: Any) -> Any:
    """an error is told as text"""
    return lambda status, text, headers=None: web.Response(status=status, text=text, headers=headers)


@mutant("SOL-ERR-2", "labkit.solutions.handlers:explain")
def no_details(original: Any) -> Any:
    """the journal does not tell what the error was"""
    return lambda error: type(error).__name__


@mutant("SOL-ERR-3", STATUS)
def stopped_silently(original: Any) -> Any:
    """a script that was stopped is answered 200"""
    return lambda error: 200 if isinstance(error, LuaLimitError) else original(error)


@mutant("SOL-ERR-4", "labkit.services.calls:find_operation")
def raises(original: Any) -> Any:
    """an unknown service or operation raises in the script"""

    def broken(*arguments: Any) -> Any:
        try:
            return original(*arguments)
        except ServiceError as error:
            raise RuntimeError(str(error)) from None

    return broken


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
