"""Clients and resources of a product, as remote procedure calls name them.

The product is the client that owns its devices, each device a client that owns its resources (dataports). An id (rid)
depends on the names alone, so it is not stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from labkit.devices.identities import resource_id
from labkit.devices.products import PlatformProduct
from labkit.devices.registry import DeviceRecord
from labkit.services.arguments import is_unicode
from labkit.services.device.errors import UNAUTHORIZED, RpcError, wrong_argument

PAGE = 500  # devices whose ids are computed at once
REMEMBERED = 100_000  # ids


class RpcResource(NamedTuple):
    """A client or a dataport. identity: empty for the product itself; alias: empty for a client."""

    identity: str
    alias: str = ""

    @property
    def is_client(self) -> bool:
        """Whether it is the product or a device."""
        return not self.alias


class ResourceIndex:
    """Ids that requests have found, and all ids of the last product in which an unknown one was sought."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], RpcResource] = {}  # by product and id
        self._all: dict[str, RpcResource] = {}
        self._of: tuple[object, ...] = ()  # product and its aliases
        self._seen: int | None = None  # number of the changes of devices that `_all` has

    async def find(self, product: PlatformProduct, rid: str) -> RpcResource | None:
        """Return the device, or the resource of a device, with this id. The device may be removed since."""
        found = self.known.get((product.id, rid))
        if found is None:
            found = (await self._index(product)).get(rid)
            if found is not None and await product.access.find(found.identity) is None:
                return None  # removed since it was indexed
            if found is not None:
                if len(self.known) >= REMEMBERED:
                    self.known.clear()
                self.known[product.id, rid] = found
        return found

    async def _index(self, product: PlatformProduct) -> dict[str, RpcResource]:
        """Return all devices and resources of a product by id, after adding those that have changed since."""
        aliases = ("", *product.settings.resources)
        of = (product.id, aliases)
        found = self._all
        seen, changed = product.access.changed(self._seen if of == self._of else None)
        if changed is None:
            found, changed = {}, [each.identity for each in await product.access.all()]
        for number, identity in enumerate(changed):
            if number % PAGE == 0:
                await asyncio.sleep(0)
            for alias in aliases:
                found[resource_id(product.id, identity, alias)] = RpcResource(identity, alias)
        self._all, self._of, self._seen = found, of, seen
        return found

    def trim(self) -> None:
        """Forget all of the last product if they are many; call it after each request."""
        if len(self._all) > REMEMBERED:
            self._all, self._of = {}, ()


class RpcResources:
    """The clients and resources that a request may reach: those of one product, or of one device in it.

    client: that the request acts as.
    """

    def __init__(self, product: PlatformProduct, index: ResourceIndex) -> None:
        self.product = product
        self.client = RpcResource("")
        self._index = index

    @property
    def aliases(self) -> list[str]:
        """Aliases of the resources that each device has."""
        return list(self.product.settings.resources)

    def rid(self, resource: RpcResource) -> str:
        """Return the id of a client or resource."""
        return resource_id(self.product.id, resource.identity, resource.alias)

    async def act_as(self, rid: str) -> None:
        """Act as the client with this id from now on. Raises RpcError 401 where there is none."""
        if rid == self.rid(self.client):
            return
        found = await self._index.find(self.product, rid)
        if found is None or found.alias or await self.product.access.find(found.identity) is None:
            raise RpcError(UNAUTHORIZED, "client_id is no client of this product", "auth")
        self.client = found

    async def device(self, identity: str) -> DeviceRecord:
        """Return a device. Raises RpcError where there is none."""
        device = await self.product.access.find(identity)
        if device is None:
            raise wrong_argument("no such resource")
        return device

    async def children(self, client: RpcResource) -> list[RpcResource]:
        """Return the devices of the product, or the resources of a device."""
        if client.identity:
            return [RpcResource(client.identity, alias) for alias in self.aliases]
        return [RpcResource(each.identity) for each in await self.product.access.all()]

    async def resolve(self, given: object) -> RpcResource:
        """Return the client or resource that an argument names, by rid or {alias}. Raises RpcError."""
        if isinstance(given, Mapping):
            return await self.by_alias(self.client, given.get("alias"))
        if not isinstance(given, str):
            raise wrong_argument("expected a rid or {alias} as resource")
        if given == self.rid(self.client):
            found: RpcResource | None = self.client
        elif self.client.identity:
            owned = (RpcResource(self.client.identity, alias) for alias in self.aliases)
            found = next((each for each in owned if self.rid(each) == given), None)
        else:
            found = await self._index.find(self.product, given)
        if found is None:
            raise wrong_argument("no such resource")
        return found

    async def by_alias(self, client: RpcResource, alias: object) -> RpcResource:
        """Return a child of a client by its alias, for an empty one the client itself. Raises RpcError."""
        if not isinstance(alias, str) or not is_unicode(alias):
            raise wrong_argument("expected a text as alias")
        if not alias:
            return client
        if client.identity:
            if alias not in self.product.settings.resources:
                raise wrong_argument("no such resource")
            return RpcResource(client.identity, alias)
        await self.device(alias)
        return RpcResource(alias)
