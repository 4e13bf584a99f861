"""Products: their settings, which may change while the lab runs, and the names they are reached by."""

from __future__ import annotations

import math
from collections.abc import Iterator

from labkit.core.errors import SettingsError
from labkit.settings import NumberRange, ProductSettings, build

TRUE_OR_FALSE = frozenset({"true", "false", "1", "0"})


class Product:
    """A product at its own domain (document 1, What the service does, 1)."""

    def __init__(self, settings: ProductSettings, domain: str) -> None:
        self.settings = settings
        self.domain = domain

    @property
    def id(self) -> str:
        return self.settings.id

    def change(self, **values: object) -> ProductSettings:
        """Change settings while the lab runs. Raises SettingsError and changes nothing where one is wrong."""
        for fixed in ("id", "domain"):
            if fixed in values:
                raise SettingsError(f"{fixed}: cannot change while the lab runs")
        current = self.settings.model_dump()
        self.settings = build(ProductSettings, {**current, **values}, f"product {self.id!r}")
        return self.settings

    def misfit(self, alias: str, value: str) -> str | None:
        """Why `value` does not fit the format of the resource `alias`; None if it does."""
        resource = self.settings.resources[alias]
        if resource.format == "string" and not resource.allowed:
            return None
        wrong = _misformat(resource.format, value)
        if wrong is not None:
            return f"{alias}: {wrong}"
        if resource.allowed and not any(_allows(rule, value) for rule in resource.allowed):
            return f"{alias}: this value is not among the allowed ones"
        return None


def _misformat(format: str, value: str) -> str | None:
    if format == "string":
        return None
    if format == "boolean":
        return None if value in TRUE_OR_FALSE else "expected a boolean: true, false, 1 or 0"
    expected = "expected a whole number" if format == "integer" else "expected a number"
    if (
        not value.isascii() or "_" in value or value != value.strip()
    ):  # Python takes them; no device means them
        return expected
    try:
        if format == "integer":
            int(value)
        return None if math.isfinite(float(value)) else "expected a finite number"
    except ValueError:
        return expected


def _allows(rule: NumberRange | float | str | bool, value: str) -> bool:
    if isinstance(rule, bool):
        return value in (("true", "1") if rule else ("false", "0"))
    if isinstance(rule, str):
        return value == rule
    try:
        number = float(value)
    except ValueError:
        return False
    return rule.min <= number <= rule.max if isinstance(rule, NumberRange) else number == rule


class Products:
    """All products of a lab."""

    def __init__(self, domain: str) -> None:
        self._domain = domain
        self._by_id: dict[str, Product] = {}
        self._by_domain: dict[str, Product] = {}

    def add(self, settings: ProductSettings) -> Product:
        """Raises SettingsError where the id or the domain is taken."""
        if settings.id in self._by_id:
            raise SettingsError(f"product {settings.id!r} is there already")
        product = Product(settings, settings.domain or f"{settings.id}.m2.{self._domain}")
        if product.domain in self._by_domain:
            raise SettingsError(f"product {settings.id!r}: domain {product.domain} is taken")
        self._by_id[product.id] = self._by_domain[product.domain] = product
        return product

    def get(self, product_id: str) -> Product:
        """Raises SettingsError where there is none."""
        try:
            return self._by_id[product_id]
        except KeyError:
            raise SettingsError(f"no product {product_id!r}, there are: {', '.join(self._by_id)}") from None

    def at(self, domain: str) -> Product | None:
        """The product at this domain."""
        return self._by_domain.get(domain)

    def __iter__(self) -> Iterator[Product]:
        return iter(self._by_id.values())

    def __contains__(self, product_id: str) -> bool:
        return product_id in self._by_id
