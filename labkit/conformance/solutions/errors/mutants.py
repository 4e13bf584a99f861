"""Code mutants of scripts that raise errors, exceed their limits, or reach outside their sandbox."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import always
from labkit.conformance.mutant import patch

LIBRARY = "labkit.solutions.lua.runtime:LuaState.library"
EXPLAIN, REDACTED = "labkit.solutions.handlers:explain", "labkit.services.calls:redacted"


def _io_in_reach(original: Any, self: Any, name: str | bytes) -> Any:
    """Add io to the globals of scripts after the services are installed."""
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


no_details = patch("SOL-ERR-2", EXPLAIN, "the journal does not contain the error message")(
    always("a script failed")
)
arguments_lost = patch("SOL-ERR-6", REDACTED, "the journal has no arguments of calls to unknown operations")(
    always({})
)
io_in_reach = patch("SOL-ERR-5", LIBRARY, "scripts reach io", from_start=True)(_io_in_reach)
