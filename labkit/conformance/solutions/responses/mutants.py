"""Faults of responses: what the outcome of a script becomes."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import mutant
from labkit.conformance.solutions.errors.mutants import environment


@mutant("SOL-JSON-2", "labkit.solutions.lua.runtime:Runtime.library", from_start=True)
def no_json_library(original: Any) -> Any:
    """json.parse and json.stringify do nothing"""

    def less(lua: Any, env: Any) -> None:
        env[b"json"] = lua.eval(b"{parse = function() end, stringify = function() end}")

    return environment(original, less)
