"""What faults of Notify in code share: payloads that are changed on their way to a channel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

COMPOSE = "labkit.providers.messaging.payloads:compose"

Table = dict[str, Any]


def composed(original: Any, kinds: Iterable[str], change: Callable[[Table, Any], Table]) -> Any:
    """Change the payload of channels: change(payload as a table of its own, what was sent)."""

    def broken(kind: str, sent: Any, *args: Any) -> Any:
        payload = original(kind, sent, *args)
        return replace(payload, body=change(copied(payload.body), sent)) if kind in kinds else payload

    return broken


def moved(original: Any, kinds: Iterable[str], old: str, new: str) -> Any:
    """Move a field of the payload of channels. old, new: names with dots between them."""

    def change(body: Table, sent: Any) -> Table:
        value = _within(body, old).pop(old.rpartition(".")[2], None)
        _within(body, new)[new.rpartition(".")[2]] = value
        return body

    return composed(original, kinds, change)


def _within(table: Table, path: str) -> Table:
    """The object in which a field stands."""
    for name in path.split(".")[:-1]:
        table = table.setdefault(name, {})
    return table


def copied(value: Any) -> Any:
    """The same tables and lists once more, free to be changed."""
    if isinstance(value, dict):
        return {name: copied(each) for name, each in value.items()}
    return [copied(each) for each in value] if isinstance(value, list) else value
