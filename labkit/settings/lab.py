"""A whole lab, and what must hold between its sections."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from labkit.core.errors import SettingsError
from labkit.settings.datapoints import DatapointSettings
from labkit.settings.faults import FaultSettings
from labkit.settings.guard import Guard
from labkit.settings.journal import JournalSettings
from labkit.settings.passwords import PasswordSettings
from labkit.settings.products import ProductSettings
from labkit.settings.providers import ProvidersSettings
from labkit.settings.solutions import SolutionSettings
from labkit.settings.tls import TlsSettings
from labkit.settings.validation import build, line_of
from labkit.settings.values import Host, Model, Port
from labkit.settings.wire import PROFILES, Wire

MOST_FAULTS = 1000


class LabSettings(Model):
    """A whole lab: what lab.yaml says."""

    domain: Host = "lab.localhost"
    host: str = "127.0.0.1"
    https_port: Port = 8443
    http_port: Port | None = None
    tls: TlsSettings = TlsSettings()
    data: str | Path | None = None
    keystore: str | None = None
    profile: Literal["spec", "field"] = "spec"
    wire: dict[str, Any] = {}
    guard: Guard = Guard()
    journal: JournalSettings = JournalSettings()
    datapoints: DatapointSettings = DatapointSettings()
    passwords: PasswordSettings = PasswordSettings()
    products: tuple[ProductSettings, ...] = ()
    solutions: tuple[SolutionSettings, ...] = ()
    providers: ProvidersSettings = ProvidersSettings()
    faults: Annotated[tuple[FaultSettings, ...], Field(max_length=MOST_FAULTS)] = ()

    def wires(self) -> Wire:
        """The profile with the switches of `wire` set."""
        return wire_of(self, {})


def wire_of(settings: LabSettings, lines: dict[str, int]) -> Wire:
    values = {**PROFILES[settings.profile].model_dump(), **settings.wire}
    return build(Wire, values, "wire", lines)


def unique(settings: LabSettings, lines: dict[str, int] | None = None) -> None:
    """Raises SettingsError where two products, solutions or providers share a name, or one names a product or solution
    that is not there."""
    products = [product.id for product in settings.products]
    solutions = [solution.id for solution in settings.solutions]
    social = [provider.name for provider in settings.providers.social]
    named = (
        ("products", "id", products),
        ("solutions", "id", solutions),
        ("providers.social", "name", social),
    )
    for section, field, ids in named:
        for index, each in enumerate(ids):
            if each in ids[:index]:
                key = f"{section}[{index}].{field}"
                raise SettingsError(f"{key}: {each!r} is there already{line_of(lines or {}, key)}")
    for index, solution in enumerate(settings.solutions):
        for number, product in enumerate(solution.products):
            if product not in products:
                key = f"solutions[{index}].products[{number}]"
                raise SettingsError(f"{key}: no product {product!r}{line_of(lines or {}, key)}")
        for number, subscription in enumerate(solution.subscriptions):
            if subscription.publisher not in solutions:
                key = f"solutions[{index}].subscriptions[{number}].publisher"
                text = f"{key}: no solution {subscription.publisher!r}"
                raise SettingsError(f"{text}{line_of(lines or {}, key)}")
