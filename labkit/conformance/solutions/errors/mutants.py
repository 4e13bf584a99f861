"""Faults of scripts that fail, run wild or look outside."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import always
from labkit.conformance.mutant import patch

LIBRARY = "labkit.solutions.lua.runtime:Runtime.library"
EXPLAIN, REDACTED = "labkit.solutions.handlers:explain", "labkit.services.calls:redacted"


def _io_in_reach(original: Any, self: Any, name: str | bytes) -> Any:
    """Scripts find io among their globals once the services are there."""
    part = original(self, name)
    if name != b"services":
        return part

    def load(*arguments: Any) -> Any:
        services = part(*arguments)
        install = services[b"install"]

        def changed(env: Any) -> None:
            install(env)
            env[b"io"] = self._lua.globals()[b"io"]

        services[b"install"] = changed
        return services

    return load


no_details = patch(
    "SOL-ERR-2", EXPLAIN, "the journal does not tell what the error was", always("a script failed")
)
arguments_lost = patch(
    "SOL-ERR-6", REDACTED, "the journal has no arguments of what does not exist", always({})
)
io_in_reach = patch("SOL-ERR-5", LIBRARY, "scripts reach io", _io_in_reach, from_start=True)
