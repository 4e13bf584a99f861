"""Products: their settings, which may change while the lab runs, and their domains."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from labkit.core.errors import SettingsError
from labkit.devices.access import DeviceAccess
from labkit.settings import NumberRange, ProductSettings, build

WHOLE = re.compile(r"-?[0-9]{1,15}")
PLAIN = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
TRUE_OR_FALSE = frozenset({"true", "false", "1", "0"})


class PlatformProduct:
    """A product at its own domain (document 1, What the service does, 1)."""

    def __init__(self, settings: ProductSettings, domain: str) -> None:
        self.settings = settings
        self.domain = domain
        self._has_resources = bool(settings.resources)  # of its own
        self.access: DeviceAccess  # set with the first of its devices' data, in `Devices.add`

    @property
    def id(self) -> str:
        """The product's id, from its settings."""
        return self.settings.id

    def change(self, **values: object) -> ProductSettings:
        """Change settings while the lab runs. Raises SettingsError and changes nothing where one is wrong."""
        for fixed in ("id", "domain"):
            if fixed in values:
                raise SettingsError(f"{fixed}: cannot change while the lab runs")
        current = self.settings.model_dump()
        self.settings = build(ProductSettings, {**current, **values}, f"product {self.id!r}")
        self._has_resources |= "resources" in values
        return self.settings

    def adopt_resources(self, resources: Mapping[str, Any]) -> None:
        """Add resources that a solution's folder describes, unless the product has some of its own.

        resources: by alias. Raises SettingsError, and changes nothing, where one is wrong.
        """
        if not self._has_resources:
            current = self.settings.model_dump()
            found = {**current, "resources": {**current["resources"], **resources}}
            self.settings = build(ProductSettings, found, f"product {self.id!r}")

    def accepts_all(self, alias: str) -> bool:
        """Return whether the resource `alias` accepts every value."""
        resource = self.settings.resources[alias]
        return resource.format == "string" and not resource.allowed

    def value_error(self, alias: str, value: str) -> str | None:
        """Return why `value` is invalid for the resource `alias`; None for a valid one."""
        resource = self.settings.resources[alias]
        if resource.format == "string" and not resource.allowed:
            return None
        wrong = _format_error(resource.format, value)
        if wrong is not None:
            return f"{alias}: {wrong}"
        if resource.allowed and not any(allows(rule, value) for rule in resource.allowed):
            return f"{alias}: this value is not among the allowed ones"
        return None


def _format_error(format: str, value: str) -> str | None:
    if format == "string":
        return None
    if format == "boolean":
        return None if value in TRUE_OR_FALSE else "expected a boolean: true, false, 1 or 0"
    if (WHOLE if format == "integer" else PLAIN).fullmatch(value):  # as nearly always
        return None
    expected = "expected a whole number" if format == "integer" else "expected a number"
    if (
        not value.isascii() or "_" in value or value != value.strip()
    ):  # Python accepts these forms, but they are no plain numbers
        return expected
    try:
        if format == "integer":
            int(value)
        return None if math.isfinite(float(value)) else "expected a finite number"
    except ValueError:
        return expected


def allows(rule: NumberRange | float | str | bool, value: str) -> bool:
    """Return whether a value matches an allowed value or range."""
    if isinstance(rule, bool):
        return value in (("true", "1") if rule else ("false", "0"))
    if isinstance(rule, str):
        return value == rule
    try:
        number = float(value)
    except ValueError:
        return False
    return rule.min <= number <= rule.max if isinstance(rule, NumberRange) else number == rule
