"""Faults of what is kept of devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.core.database import Database
from labkit.devices.devices import Devices
from labkit.devices.registry import Registry
from labkit.devices.state import FORGET, RESOURCE


@mutant("DEV-KEEP-2", "labkit.devices.devices:Devices.sequence")
def counted_anew(original: Any) -> Any:
    """seq begins at 1 after each restart"""

    def broken(self: Devices, product: str, identity: str, alias: str) -> int:
        number: int = original(self, product, identity, alias)
        return number % 10**9

    return broken


@mutant("DEV-KEEP-4", "labkit.devices.registry:Registry.remove")
def removed_by_name_alone(original: Any) -> Any:
    """a device that is removed is so at another product, too"""

    async def broken(self: Registry, product: str, identity: str) -> None:
        await original(self, product, identity)
        if await self.find("token-other", identity) is not None:
            await original(self, "token-other", identity)

    return broken


@mutant("DEV-KEEP-1", "labkit.devices.registry:Registry.by_password")
def any_password_afterwards(original: Any) -> Any:
    """a password is forgotten when the platform starts again"""

    async def broken(self: Registry, product: str, identity: str, password: str) -> Any:
        return None if self._database.starts > 1 else await original(self, product, identity, password)

    return broken


@mutant("DEV-KEEP-3", "labkit.devices.state:State.__init__")
def half_is_kept(original: Any) -> Any:
    """half as many datapoints are kept as the settings say"""
    return lambda self, database, kept=10_000: original(self, database, kept // 2)


@mutant("DEV-KEEP-3", "labkit.core.database:Database.write")
def forgotten_by_name_alone(original: Any) -> Any:
    """older datapoints of a device of the same identity in another product are forgotten, too"""
    everywhere = FORGET.replace(RESOURCE, "? != '' AND identity = ? AND alias = ?", 1)

    def broken(self: Database, statement: str, values: Sequence[object]) -> Any:
        return original(self, everywhere if statement == FORGET else statement, values)

    return broken
