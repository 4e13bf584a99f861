"""Products and their settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.control.data import Data, differences
from labkit.core.errors import SettingsError
from labkit.devices.products import PlatformProduct
from labkit.platform import Platform
from labkit.settings import ProductSettings


class ProductInfo(Data):
    """A product, at the domain that SNI and Host name."""

    id: str
    domain: str
    url: str
    settings: ProductSettings


class ProductsControl:
    """The products of a lab."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def all(self) -> list[ProductInfo]:
        """All of them."""
        return [self._info(each) for each in self._platform.devices.products]

    async def get(self, id: str) -> ProductInfo:
        """Raises LabError naming those that are there."""
        return self._info(self._platform.devices.products.get(id))

    async def find(self, id: str) -> ProductInfo | None:
        """As `get`; None where there is none."""
        return await self.get(id) if id in self._platform.devices.products else None

    async def add(self, settings: ProductSettings) -> ProductInfo:
        """Raises SettingsError where the id or the domain is taken, or a content file cannot be read."""
        return self._info(await self._platform.add_product(settings))

    async def ensure(self, settings: ProductSettings, replace: bool = False) -> ProductInfo:
        """As `add`; one that is there with these very settings stays, with others it is replaced if so asked.

        Raises SettingsError telling how to change it where it has others.
        """
        if settings.id not in self._platform.devices.products:
            return await self.add(settings)
        if replace:
            return await self.replace(settings)
        if differ := differences(self._platform.devices.products.get(settings.id).settings, settings):
            raise SettingsError(
                f"product {settings.id!r} is there already with other settings: {differ}; change them with "
                f"settings.change(…), or pass replace=True for these alone (its devices and their data stay)"
            )
        return await self.get(settings.id)

    async def change(self, id: str, values: Mapping[str, Any]) -> ProductInfo:
        """Change settings on the running lab. Raises SettingsError, and changes nothing, if one is wrong."""
        product = self._platform.devices.products.get(id)
        product.change(**values)
        return self._info(product)

    async def replace(self, settings: ProductSettings) -> ProductInfo:
        """Give a product that is there these settings and no others; its devices and what they stored stay.

        Raises SettingsError for another domain, or where a content file cannot be read.
        """
        product = self._platform.devices.products.get(settings.id)
        domain = settings.domain or f"{settings.id}.m2.{self._platform.context.settings.domain}"
        if domain != product.domain:
            raise SettingsError(f"domain: cannot change while the lab runs, it is {product.domain}")
        await self._platform.devices.fill(settings)
        product.settings = settings
        return self._info(product)

    def _info(self, product: PlatformProduct) -> ProductInfo:
        return ProductInfo(
            id=product.id,
            domain=product.domain,
            url=self._platform.context.url(product.domain),
            settings=product.settings.model_copy(deep=True),
        )
