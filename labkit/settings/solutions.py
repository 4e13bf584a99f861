"""Solutions: their folders, products and services."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from labkit.settings.values import Host, Label, Model, ServiceName, Text

MOST_CALLS = 2**53 - 1


def _folders(value: Any) -> Any:
    if value is None:
        return ()
    return (value,) if isinstance(value, str | Path) else value


class QuotaSettings(Model):
    """How many operation calls a subscriber may make in a UTC day and month; None: any number."""

    calls_daily: Annotated[int, Field(strict=True, ge=0, le=MOST_CALLS)] | None = None
    calls_monthly: Annotated[int, Field(strict=True, ge=0, le=MOST_CALLS)] | None = None


class SubscriptionSettings(Model):
    """A subscription to the interface of another solution, the publisher.

    script_key: names the service at the subscriber, with its first letter capitalised; None: the publisher's own.
    parameters: configured values of the service; triggers: which handler gets an event, by the event's name.
    """

    publisher: Label
    script_key: str | None = None
    parameters: dict[str, Any] = {}
    quota: QuotaSettings = QuotaSettings()
    triggers: dict[str, Any] = {}


class SolutionSettings(Model):
    """A solution: its folder or folders, the products whose data it handles, the configuration of its services.

    path: of several folders, later ones add to earlier ones; business: who runs it; aliases: names by which its
    scripts call products, `Lightbulb.setIdentityState{…}`.
    """

    id: Label
    domain: Host | None = None
    path: Annotated[tuple[Path, ...], BeforeValidator(_folders)] = ()
    products: tuple[Label, ...] = ()
    aliases: dict[ServiceName, Label] = {}
    services: dict[str, dict[str, Any]] = {}
    environment: dict[str, str] = {}
    business: Text = "labkit"
    subscriptions: tuple[SubscriptionSettings, ...] = ()
