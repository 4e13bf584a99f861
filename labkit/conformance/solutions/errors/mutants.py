"""Faults of scripts that fail, run wild or look outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.conformance.breaking import Change, always
from labkit.conformance.mutant import patch

LIBRARY = "labkit.solutions.lua.runtime:Runtime.library"
EXPLAIN, REDACTED = "labkit.solutions.handlers:explain", "labkit.services.calls:redacted"


def environment(change: Callable[[Any, Any], object]) -> Change:
    """What scripts see is changed: `change(Lua, the script's globals)` runs once the services are there."""

    def broken(original: Any, self: Any, name: str | bytes) -> Any:
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


def _with_io(lua: Any, env: Any) -> None:
    env[b"io"] = lua.globals()[b"io"]


no_details = patch(
    "SOL-ERR-2", EXPLAIN, "the journal does not tell what the error was", always("a script failed")
)
arguments_lost = patch(
    "SOL-ERR-6", REDACTED, "the journal has no arguments of what does not exist", always({})
)
io_in_reach = patch("SOL-ERR-5", LIBRARY, "scripts reach io", environment(_with_io), from_start=True)
