"""Faults of functions as handlers that no row can say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from labkit.conformance.breaking import always, given, gives
from labkit.conformance.mutant import mutant, patch
from labkit.solutions.functions import FunctionHandler

any_name = patch(
    "SOL-FUN-2",
    "labkit.solutions.functions:FunctionHandler.__init__",
    "every function may call its argument as it likes",
    given(any_name=True),
)
one_table = patch(
    "SOL-FUN-5",
    "labkit.solutions.proxy:Service.__getattr__",
    "what a function names beside a table is lost",
    gives(lambda call: lambda table=None, /, **named: call(table or named)),
)
globals_survive = patch(
    "SOL-FUN-3",
    "labkit.solutions.solution:Solution.crash",
    "a restart leaves the globals of scripts",
    always(None),
)
runs_on = patch(
    "SOL-FUN-3",
    "labkit.solutions.workers:Workers.crash",
    "a function that a restart found running calls services as before",
    always(None),
)


@mutant("SOL-FUN-2", "labkit.solutions.functions:FunctionHandler.__call__")
def one_argument(original: Any) -> Any:
    """what one handler changes the next one of the same event finds"""
    kept: dict[str, Any] = {}

    def broken(self: FunctionHandler, arguments: Mapping[str, Any], run: Any) -> Any:
        if "event" not in arguments:
            return original(self, arguments, run)
        told = arguments["event"]
        shared = kept.setdefault(json.dumps(told, default=str), told)
        return original(self, dict.fromkeys(arguments, shared), run)

    return broken
