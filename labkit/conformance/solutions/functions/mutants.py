"""Code mutants of functions as handlers, for faults that no fault row can express."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from labkit.conformance.breaking import always, change_arguments, change_result
from labkit.conformance.mutant import mutant, patch
from labkit.solutions.functions import FunctionHandler

any_name = patch(
    "SOL-FUN-2",
    "labkit.solutions.functions:FunctionHandler.__init__",
    "the parameter of every function may have any name",
)(change_arguments(any_name=True))
one_table = patch(
    "SOL-FUN-5",
    "labkit.solutions.proxy:ServiceProxy.__getattr__",
    "keyword arguments beside a table are ignored",
)(change_result(lambda call: lambda table=None, /, **named: call(table or named)))
globals_survive = patch(
    "SOL-FUN-3", "labkit.solutions.solution:PlatformSolution.crash", "a restart keeps the globals of scripts"
)(always(None))
runs_on = patch(
    "SOL-FUN-3",
    "labkit.solutions.workers:Workers.crash",
    "a function that ran during a restart can still call services",
)(always(None))


@mutant("SOL-FUN-2", "labkit.solutions.functions:FunctionHandler.__call__")
def one_argument(original: Any) -> Any:
    """a handler's changes to an event are visible to the next handler of that event"""
    kept: dict[str, Any] = {}

    def broken(self: FunctionHandler, arguments: Mapping[str, Any], run: Any) -> Any:
        if "event" not in arguments:
            return original(self, arguments, run)
        event = arguments["event"]
        shared = kept.setdefault(json.dumps(event, default=str), event)
        return original(self, dict.fromkeys(arguments, shared), run)

    return broken
