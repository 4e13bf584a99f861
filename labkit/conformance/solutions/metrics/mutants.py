"""Faults that the metrics pattern shows; further ones are among those of the Keystore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.solutions.solution import Outcome, Solution

HANDLE = "labkit.solutions.solution:Solution.handle"


@mutant("SOL-MET-2", HANDLE)
def repeated_values(original: Any) -> Any:
    """a value that is the same as the one before is not handled"""
    last: dict[object, object] = {}

    async def broken(
        self: Solution, registration: Any, raised: tuple[str, str], argument: Mapping[str, Any], **more: Any
    ) -> Any:
        if raised[1] == "datapoint":
            resource, value = (self.id, argument["device_sn"], argument["alias"]), argument["value"][1]
            if last.get(resource) == value:
                return Outcome(204)
            last[resource] = value
        return await original(self, registration, raised, argument, **more)

    return broken


@mutant("SOL-MET-2", "labkit.solutions.delivery:Delivery.concerned")
def all_products(original: Any) -> Any:
    """solutions handle events of all products"""
    return lambda self, event: list(self.solutions)


@mutant("SOL-MET-3", "labkit.solutions.lua.runtime:Runtime.lab_time")
def west(original: Any) -> Any:
    """scripts live an hour behind UTC"""
    return lambda self: original(self) - 3600


@mutant("SOL-MET-3", "labkit.solutions.lua.runtime:Runtime.lab_time")
def tomorrow(original: Any) -> Any:
    """scripts live a day ahead"""
    return lambda self: original(self) + 86400


@mutant("SOL-MET-6", "labkit.solutions.functions:FunctionHandler.__call__")
def python_without_texts(original: Any) -> Any:
    """functions get the values of datapoints as bytes"""

    async def broken(self: Any, arguments: Mapping[str, Any], run: Any) -> Any:
        given = {
            name: {**each, "value": [each["value"][0], each["value"][1].encode()]}
            if isinstance(each, dict) and "value" in each
            else each
            for name, each in arguments.items()
        }
        return await original(self, given, run)

    return broken
