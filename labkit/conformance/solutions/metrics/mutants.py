"""Faults that the metrics pattern shows; further ones are among those of the Keystore."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import mutant


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
def python_without_values(original: Any) -> Any:
    """functions get no values of datapoints"""
    return lambda self, arguments, run: original(
        self,
        {
            name: {**each, "value": [0, ""]} if isinstance(each, dict) and "value" in each else each
            for name, each in arguments.items()  # a route has a request
        },
        run,
    )
