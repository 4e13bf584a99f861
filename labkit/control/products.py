"""Operations on products and their settings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema, core_schema, to_jsonable_python

from labkit.control.bounds import Content, Id, Line, alone
from labkit.control.data import Data, differences
from labkit.control.uploads import ContentUploads, Uploads
from labkit.core.errors import SettingsError, TakenError
from labkit.devices.content import ContentInfo as ContentInfo
from labkit.devices.products import PlatformProduct
from labkit.platform import Platform
from labkit.settings import ProductSettings


class SomeOf:
    """Annotation of a mapping of some fields of a model; calls from other processes are checked against the model.

    without: fields that cannot be given.
    """

    def __init__(self, model: type[BaseModel], *without: str) -> None:
        self._model = model
        self._without = without

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        fields: dict[str, Any] = {
            name: (field.rebuild_annotation(), None)
            for name, field in self._model.model_fields.items()
            if name not in self._without
        }
        config = ConfigDict(extra="forbid")
        some = create_model(f"{self._model.__name__}Changes", __config__=config, **fields)
        return core_schema.no_info_after_validator_function(
            _given,
            handler.generate_schema(some),
            serialization=core_schema.plain_serializer_function_ser_schema(
                to_jsonable_python, when_used="json"
            ),
        )


def _given(changes: BaseModel) -> dict[str, Any]:
    return {name: getattr(changes, name) for name in changes.model_fields_set}


class ContentControl:
    """Operations on the content of products. Each raises LabError for an unknown product."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def all(self, product: Id) -> list[ContentInfo]:
        """Return the content items of a product, by id."""
        return await self._platform.devices.content.list(self._known(product))

    async def add(
        self,
        product: Id,
        id: Id,
        data: Content,
        type: Line = "application/octet-stream",
        description: Line = "",
    ) -> ContentInfo:
        """Add or replace an item. type: its Content-Type. Raises LabError for an invalid id, type or size."""
        added = await self._platform.devices.content.add(self._known(product), id, data, type, description)
        self._platform.context.journal.marks.add("release", id)
        return added

    async def remove(self, product: Id, id: Id) -> None:
        """Remove an item. Raises UnknownError if there is none with this id."""
        await self._platform.devices.content.remove(self._known(product), id)

    def _known(self, product: str) -> str:
        return self._platform.devices.products.get(product).id


ProductChanges = Annotated[Mapping[str, Any], SomeOf(ProductSettings, "id", "domain")]


class ProductInfo(Data):
    """A product. domain: its host name, which clients send as SNI and in the Host header."""

    id: str
    domain: str
    url: str
    settings: ProductSettings


class ProductsControl:
    """Operations on the products of a lab."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._uploads = Uploads()

    async def all(self) -> list[ProductInfo]:
        """Return all products."""
        return [self._info(each) for each in self._platform.devices.products]

    async def get(self, id: Id) -> ProductInfo:
        """Return the product with this id. Raises UnknownError, listing the existing ones, if there is none."""
        return self._info(self._platform.devices.products.get(id))

    async def find(self, id: Id) -> ProductInfo | None:
        """As `get`; None where there is none."""
        return await self.get(id) if id in self._platform.devices.products else None

    @alone
    async def add(self, settings: ProductSettings, content: ContentUploads | None = None) -> ProductInfo:
        """Add a product.

        content: its content with the data, instead of files that the settings name. Raises SettingsError if the id or
        the domain is in use, or a content file cannot be read.
        """
        return self._info(await self._platform.add_product(await self._stored(settings, content)))

    @alone
    async def ensure(
        self, settings: ProductSettings, replace: bool = False, content: ContentUploads | None = None
    ) -> ProductInfo:
        """Add a product, or return the existing one if it has the same settings.

        replace: replace an existing product that has other settings. Without it, raises TakenError that lists the
        differences and says how to change them. content: see `add`.
        """
        settings = await self._stored(settings, content)
        if settings.id not in self._platform.devices.products:
            return await self.add(settings)
        if replace:
            return await self.replace(settings)
        if differ := differences(self._platform.devices.products.get(settings.id).own, settings):
            raise TakenError(
                f"product {settings.id!r} is there already with other settings: {differ}; change them with "
                f"settings.change(…), or pass replace=True for these alone (its devices and their data stay)"
            )
        return await self.get(settings.id)

    async def change(self, id: Id, values: ProductChanges) -> ProductInfo:
        """Change settings on the running lab. Raises SettingsError, and changes nothing, if one is invalid."""
        product = self._platform.devices.products.get(id)
        before = dict(product.changes)
        product.change(**values)
        if product.changes != before:
            await product.access.drop_changes(*values)
        return self._info(product)

    @alone
    async def replace(self, settings: ProductSettings, content: ContentUploads | None = None) -> ProductInfo:
        """Replace all settings of an existing product. Its devices and their data stay.

        content: see `add`. Raises SettingsError for another domain, and if a content file cannot be read.
        """
        settings = await self._stored(settings, content)
        product = self._platform.devices.products.get(settings.id)
        domain = settings.domain or f"{settings.id}.m2.{self._platform.context.settings.domain}"
        if domain != product.domain:
            raise SettingsError(f"domain: cannot change while the lab runs, it is {product.domain}")
        await self._platform.devices.fill(settings)
        product.replace(settings)
        return self._info(product)

    async def _stored(self, settings: ProductSettings, content: ContentUploads | None) -> ProductSettings:
        """Return the settings with the files in which the content is stored, if it is given."""
        if content is None:
            return settings
        stored = await asyncio.to_thread(self._uploads.store_content, settings.id, content)
        return settings.model_copy(update={"content": stored})

    def _info(self, product: PlatformProduct) -> ProductInfo:
        return ProductInfo(
            id=product.id,
            domain=product.domain,
            url=self._platform.context.url(product.domain),
            settings=product.settings.model_copy(deep=True),
        )
