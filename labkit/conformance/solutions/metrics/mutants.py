"""Code mutants that only the metrics pattern shows; others are beside the Keystore's and the events' checks."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import change_arguments, change_result
from labkit.conformance.mutant import patch

LAB_TIME = "labkit.solutions.lua.runtime:LuaState.lab_time"


def _without_values(arguments: dict[str, Any]) -> dict[str, Any]:
    """Replace the values in a datapoint handler's event by an empty text at time 0."""
    return {
        name: {**each, "value": [0, ""]} if isinstance(each, dict) and "value" in each else each
        for name, each in arguments.items()
    }


west = patch("SOL-MET-3", LAB_TIME, "the time of scripts is an hour behind UTC")(
    change_result(lambda time: time - 3600)
)
tomorrow = patch("SOL-MET-3", LAB_TIME, "the time of scripts is a day ahead")(
    change_result(lambda time: time + 86400)
)
python_without_values = patch(
    "SOL-MET-6",
    "labkit.solutions.functions:FunctionHandler.__call__",
    "functions get no values of datapoints",
)(change_arguments(arguments=_without_values))
