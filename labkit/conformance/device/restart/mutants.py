"""Faults of the persistence of devices."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import change_arguments, change_result
from labkit.conformance.mutant import patch
from labkit.devices.registry import Registry
from labkit.devices.state import FORGET, RESOURCE
from labkit.storage.database import Database

REGISTRY = "labkit.devices.registry:Registry"
EVERYWHERE = FORGET.replace(RESOURCE, "? != '' AND identity = ? AND alias = ?", 1)

counted_anew = patch(
    "DEV-KEEP-2", "labkit.devices.devices:Devices.sequences", "seq begins at 1 after each restart"
)(change_result(lambda numbers: [number % 10**9 for number in numbers]))
forgotten_by_name_alone = patch(
    "DEV-KEEP-3",
    "labkit.storage.database:Database.write",
    "older datapoints of a device of the same identity in another product are forgotten, too",
)(change_arguments(statement=lambda statement: EVERYWHERE if statement == FORGET else statement))


@patch("DEV-KEEP-1", f"{REGISTRY}.find_by_password")
async def any_password_afterwards(original: Any, self: Registry, *login: str) -> Any:
    """a password is forgotten when the platform starts again"""
    return None if self._database.starts > 1 else await original(self, *login)


@patch("DEV-KEEP-3", "labkit.devices.state:State.__init__")
def half_is_kept(original: Any, self: Any, database: Database, kept: int = 10_000) -> Any:
    """half as many datapoints are kept as the settings say"""
    return original(self, database, kept // 2)


@patch("DEV-KEEP-4", f"{REGISTRY}.remove")
async def removed_by_name_alone(original: Any, self: Registry, product: str, identity: str) -> None:
    """removing a device also removes the device of the same name at another product"""
    await original(self, product, identity)
    if await self.find("token-other", identity) is not None:
        await original(self, "token-other", identity)


@patch("DEV-KEEP-4", f"{REGISTRY}.remove")
async def lock_stays(original: Any, self: Registry, product: str, identity: str) -> None:
    """a locked identity is still locked when it is provisioned again after its removal"""
    device = await self.find(product, identity)
    await original(self, product, identity)
    if device is not None and device.locked:
        await self.add(product, identity)
        await self.lock(product, identity)
