"""Operations on the identities of a product: whitelist, lock and remove them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from labkit.control.bounds import Count, Id, Line
from labkit.control.data import SLICE, Data, in_slices
from labkit.core.errors import LabError
from labkit.devices.selection import DeviceSelection
from labkit.platform import Platform
from labkit.settings.ranges import MAX_NAMES

ENOUGH = 2**62  # more than there are devices


class DeviceInfo(Data):
    """A device that the platform knows. status: whitelisted, provisioned or locked."""

    identity: str
    status: str
    whitelisted: bool


class IdentitiesControl:
    """Operations on the identities of a product. Each raises LabError for an unknown product."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def all(
        self, product: Id, pattern: Line | None = None, limit: Count | None = None, offset: Count = 0
    ) -> list[DeviceInfo]:
        """Return the known devices of a product, by identity.

        pattern: of the identity, where `*` matches any characters; limit: most devices, all of them by default; offset:
        number of the first devices that are left out.
        """
        known, registry = self._known(product), self._platform.devices.registry
        if pattern is None and limit is None and not offset:
            found = await registry.all(known)
        else:
            most = ENOUGH if limit is None else limit
            found = await registry.select(known, DeviceSelection(pattern), most, offset)
        made: list[DeviceInfo] = []
        async for some in in_slices(found):
            made += [
                DeviceInfo(identity=each.identity, status=each.status, whitelisted=each.whitelisted)
                for each in some
            ]
        return made

    async def allow(
        self,
        product: Id,
        identities: Annotated[Sequence[Id], Field(max_length=MAX_NAMES)],
        token: Id | None = None,
    ) -> None:
        """Whitelist identities. token: 40 characters; provisions the only identity given, without an activation."""
        given: Sequence[object] = identities
        if wrong := [each for each in given if not isinstance(each, str) or each == ""]:
            raise LabError(f"identities: expected texts, not {wrong[0]!r}")
        known, registry = self._known(product), self._platform.devices.registry
        if len(identities) <= SLICE or token is not None:
            await registry.allow(known, identities, token)
            return
        async for some in in_slices(identities):
            await registry.allow(known, some)

    async def lock(self, product: Id, identity: Id) -> None:
        """Lock a device: refuse its requests even with valid credentials. Raises UnknownError for an unknown device."""
        await self._platform.devices.registry.lock(self._known(product), identity)

    async def unlock(self, product: Id, identity: Id) -> None:
        """Unlock a device. Raises UnknownError for an unknown device."""
        await self._platform.devices.registry.lock(self._known(product), identity, False)

    async def remove(self, product: Id, identity: Id) -> None:
        """Remove a device, its credentials and its whitelisting. Raises UnknownError for an unknown device."""
        await self._platform.devices.products.get(product).access.remove(identity)

    async def forget_credentials(self, product: Id, identity: Id) -> None:
        """Delete a device's credentials: its requests get 401, and it may activate anew.

        Raises UnknownError for an unknown device.
        """
        await self._platform.devices.registry.forget_credentials(self._known(product), identity)

    async def password(self, product: Id, identity: Id, length: Annotated[int, Field(ge=1, le=1024)]) -> str:
        """Return a password of `length` characters for a virtual device; in a seeded lab the same in each run."""
        actor = f"password/{product}/{identity}"
        return self._platform.context.identifiers.alphanumeric(actor, length)

    def _known(self, product: str) -> str:
        return self._platform.devices.products.get(product).id
