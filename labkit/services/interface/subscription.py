"""Subscription of one solution to another solution's interface, with its name and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from labkit.core.errors import SettingsError

QUOTAS = ("calls_daily", "calls_monthly")

Quota = Mapping[str, int]  # limits by name (QUOTAS); a missing name means no limit


@dataclass(frozen=True, slots=True)
class InterfaceSubscription:
    """Subscription of one solution to the interface of another (document 3, Interface subscriber).

    id: a UUID; script_key: the name of the service at the subscriber; parameters: as set, without the publisher's
    defaults; quota: maximal calls by period (QUOTAS); triggers: the handler of each event (see handler_of);
    created_at, updated_at: lab time in microseconds; given: the last applied declaration in settings or a file, None
    if a handle or a cell created the subscription.
    """

    id: str
    publisher: str
    subscriber: str
    script_key: str
    parameters: dict[str, Any]
    quota: dict[str, int]
    triggers: dict[str, Any]
    created_at: int
    updated_at: int
    given: dict[str, Any] | None = None

    @property
    def service(self) -> str:
        """Name of the service at the subscriber, as scripts spell it."""
        return service_name(self.script_key)

    def handler_of(self, event: str) -> tuple[str, str]:
        """Return the service and event whose handler at the subscriber receives an event of the publisher.

        The triggers map names it: `{event: handler's event}`, or `{event: {service, event}}`.
        """
        routed = route(self.triggers.get(event))
        if routed is None:
            return self.script_key, event
        service, name = routed
        return service or self.script_key, name or event


def service_name(script_key: str) -> str:
    """Return the name under which scripts call the service of a key: with its first letter capitalised."""
    return script_key[:1].upper() + script_key[1:]


def route(entry: object) -> tuple[str, str] | None:
    """Return service and event of an entry of a triggers map, '' for a missing one; None for an invalid entry."""
    if isinstance(entry, str) and entry:
        return "", entry
    if isinstance(entry, Mapping):
        service, event = entry.get("service", ""), entry.get("event", "")
        if isinstance(service, str) and isinstance(event, str) and (service or event):
            return service, event
    return None


def check_triggers(triggers: Mapping[str, Any], events: Mapping[str, object]) -> None:
    """Raise SettingsError if the entry of a published event names no handler; entries of other names are ignored."""
    for name, entry in triggers.items():
        if name in events and route(entry) is None:
            raise SettingsError(f"triggers.{name}: expected an event, or {{service, event}}, of a handler")


def date_time(micros: int) -> str:
    """Return lab time, in microseconds, in the format of document 3: string(date-time), RFC 3339."""
    moment = datetime.fromtimestamp(micros // 1_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{micros // 1000 % 1000:03d}Z"
