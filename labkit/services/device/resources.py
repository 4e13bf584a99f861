"""Clients and resources of a product, as remote procedure calls name them.

The product is the client that owns its devices, each device a client that owns its resources (dataports). An id (rid)
depends on the names alone, so it is not stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from labkit.devices.identities import resource_id
from labkit.devices.products import PlatformProduct
from labkit.devices.registry import DeviceRecord
from labkit.services.arguments import is_unicode
from labkit.services.device.errors import UNAUTHORIZED, RpcError, wrong_argument


class RpcResource(NamedTuple):
    """A client or a dataport. identity: empty for the product itself; alias: empty for a client."""

    identity: str
    alias: str = ""

    @property
    def is_client(self) -> bool:
        """Whether it is the product or a device."""
        return not self.alias


class RpcResources:
    """The clients and resources that a request may reach: those of one product, or of one device in it.

    client: that the request acts as.
    """

    def __init__(self, product: PlatformProduct) -> None:
        self.product = product
        self.client = RpcResource("")

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
        found = await self.product.access.find_resource(rid)
        if found is None or not RpcResource(*found).is_client:
            raise RpcError(UNAUTHORIZED, "client_id is no client of this product", "auth")
        self.client = RpcResource(*found)

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
            known = await self.product.access.find_resource(given)
            found = None if known is None else RpcResource(*known)
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
