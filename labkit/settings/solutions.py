"""Solutions: their folders, products and services."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypedDict

from pydantic import BeforeValidator, Field

from labkit.core.keywords import Doc
from labkit.settings.values import Host, Label, Model, Options, ServiceName, Text

MOST_CALLS = 2**53 - 1


def _folders(value: Any) -> Any:
    if value is None:
        return ()
    return (value,) if isinstance(value, str | Path) else value


Folders = Annotated[
    tuple[Path, ...], BeforeValidator(_folders, json_schema_input_type=Path | tuple[Path, ...] | None)
]


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


class SolutionKeywords(TypedDict, total=False):
    """The settings of a solution as keyword arguments, except its products. None: not given."""

    domain: str | None
    path: str | Path | Iterable[str | Path] | None
    aliases: Mapping[str, str] | None
    services: Mapping[str, Options] | None
    environment: Mapping[str, str] | None
    business: str | None
    subscriptions: Iterable[Options] | None


class SolutionSettings(Model):
    """A solution: its folder or folders, the products whose data it handles, the configuration of its services."""

    id: Label
    domain: Annotated[Host | None, Doc("host name; made from the id without it")] = None
    path: Annotated[Folders, Doc("folder of its files; of several, later ones add to earlier ones")] = ()
    products: Annotated[tuple[Label, ...], Doc("products whose events it handles")] = ()
    aliases: Annotated[
        dict[ServiceName, Label],
        Doc("names by which its scripts call products, `Lightbulb.setIdentityState{…}`"),
    ] = {}
    services: Annotated[dict[str, dict[str, Any]], Doc("configuration of each service, by its name")] = {}
    environment: Annotated[dict[str, str], Doc("variables that its scripts read")] = {}
    business: Annotated[
        Text, Doc("name of the business that runs it, which whitelists of interfaces name")
    ] = "labkit"
    subscriptions: Annotated[
        tuple[SubscriptionSettings, ...],
        Doc("subscriptions to the interfaces of other solutions, which may be added later"),
    ] = ()
