"""Settings of solutions: folders, products, services and subscriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypedDict

from pydantic import BeforeValidator, Field

from labkit.core.keywords import Doc
from labkit.settings.values import Host, Label, Model, Options, ServiceName, ShortName, Text

MOST_CALLS = 2**53 - 1  # highest quota: JSON numbers are exact up to here

Variable = Annotated[str, Field(max_length=2**16)]


def _folders(value: Any) -> Any:
    if value is None:
        return ()
    return (value,) if isinstance(value, str | Path) else value


Folders = Annotated[
    tuple[Path, ...], BeforeValidator(_folders, json_schema_input_type=Path | tuple[Path, ...] | None)
]


class QuotaSettings(Model):
    """Number of operation calls that a subscriber may make; None: unlimited.

    calls_daily: calls in a UTC day; calls_monthly: calls in a UTC month.
    """

    calls_daily: Annotated[int, Field(strict=True, ge=0, le=MOST_CALLS)] | None = None
    calls_monthly: Annotated[int, Field(strict=True, ge=0, le=MOST_CALLS)] | None = None


class SubscriptionSettings(Model):
    """A subscription to the interface of another solution, the publisher.

    publisher: id of the publishing solution.
    script_key: name of the service at the subscriber, which has its first letter capitalised; None: the publisher's.
    parameters: configured values of the service; quota: limits of calls; triggers: handler of each event, by its name.
    """

    publisher: Label
    script_key: ShortName | None = None
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
    """Settings of a solution.

    id: name of the solution, which is part of its host name.
    """

    id: Label
    domain: Annotated[Host | None, Doc("host name; made from the id without it")] = None
    path: Annotated[Folders, Doc("folder of its files, or several; later folders add to earlier ones")] = ()
    products: Annotated[tuple[Label, ...], Doc("ids of the products whose events it handles")] = ()
    aliases: Annotated[
        dict[ServiceName, Label],
        Doc("names of products as services in its scripts: `Lightbulb.setIdentityState{…}`"),
    ] = {}
    services: Annotated[
        dict[ShortName, dict[str, Any]], Doc("configuration of each service, by service name")
    ] = {}
    environment: Annotated[dict[ShortName, Variable], Doc("variables that its scripts read")] = {}
    business: Annotated[
        Text, Doc("name of the business that runs it, for the whitelists of published interfaces")
    ] = "labkit"
    subscriptions: Annotated[
        tuple[SubscriptionSettings, ...],
        Doc("subscriptions to the interfaces of other solutions, which may be added to the lab later"),
    ] = ()
