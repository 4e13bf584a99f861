"""What mutants of Notify share: calls that are given something else, or give something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.conformance.faults import failed, given, gives

COMPOSE = "labkit.providers.messaging.payloads:compose"

Table = dict[str, Any]


def results(original: Any, change: Callable[[Table], Any], *operations: str) -> Any:
    """Change what operations give where they succeed; all of them where none is named."""
    return gives(
        original,
        "Notify",
        lambda called, result: (
            change(result)
            if (not operations or called in operations) and isinstance(result, dict) and not failed(result)
            else result
        ),
    )


def bindings(original: Any, change: Callable[[Table], Table]) -> Any:
    """Change each binding that comes back, alone or in a list."""

    def broken(result: Table) -> Table:
        if "bindings" in result:
            return {**result, "bindings": [change(each) for each in result["bindings"]]}
        return change(result) if "binding_type" in result else result

    return results(original, broken)


def parameters(original: Any, change: Callable[[Table], Table], *operations: str) -> Any:
    """Change what operations are given; all of them where none is named."""
    return given(
        original,
        "Notify",
        lambda called, parameters: (
            change(parameters) if not operations or called in operations else parameters
        ),
    )


def renamed(table: Table, old: str, new: str) -> Table:
    """A table in which one name is another."""
    return {new if name == old else name: value for name, value in table.items()}


def without(table: Table, *names: str) -> Table:
    """A table without some of its names."""
    return {name: value for name, value in table.items() if name not in names}


def composed(original: Any, change: Callable[[str, Any], Any], *kinds: str) -> Any:
    """Change the payload of channels: change(channel, payload as a table of its own)."""
    from dataclasses import replace

    def broken(kind: str, *args: Any) -> Any:
        payload = original(kind, *args)
        if kind not in kinds:
            return payload
        return replace(payload, body=change(kind, copied(payload.body)))

    return broken


def copied(value: Any) -> Any:
    """The same tables and lists once more, free to be changed."""
    if isinstance(value, dict):
        return {name: copied(each) for name, each in value.items()}
    return [copied(each) for each in value] if isinstance(value, list) else value
