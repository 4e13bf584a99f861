"""Faults of responses: what the outcome of a script becomes."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import patch
from labkit.conformance.solutions.errors.mutants import LIBRARY, environment


def _without_json(lua: Any, env: Any) -> None:
    env[b"json"] = lua.eval(b"{parse = function() end, stringify = function() end}")


no_json_library = patch(
    "SOL-JSON-2",
    LIBRARY,
    "json.parse and json.stringify do nothing",
    environment(_without_json),
    from_start=True,
)
