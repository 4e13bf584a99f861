"""Keystores for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from labkit.context import Context
from labkit.labtime.clock import Clock
from labkit.services.calls import Services
from labkit.services.keystore import Keystore
from labkit.services.operation import Caller
from tests.context import Entry, make_context, open_database

ACME = Caller("acme")


class Lab:
    """A started Keystore, with its clock and its database."""

    def __init__(self, context: Context, keystore: Keystore) -> None:
        self.clock = context.clock
        self.database = context.database
        self.keystore = keystore
        self._services = Services(context, [keystore])

    async def call(self, operation: str, caller: Caller = ACME, /, **parameters: Any) -> Any:
        """Return the result of an operation or its error object, as scripts get it."""
        return await self._services.call(caller, "Keystore", operation, parameters)

    async def command(self, command: str, key: str, *args: Any) -> Any:
        """Return the value of a command. Raises AssertionError if it is refused."""
        result = await self.call("command", command=command, key=key, args=[*args])
        assert "status" not in result, result
        return result.get("value")

    async def refused(self, command: str, key: str, *args: Any) -> tuple[int, str]:
        """Return status and text of a command that is refused."""
        result = await self.call("command", command=command, key=key, args=[*args])
        return result["status"], result["error"]


@asynccontextmanager
async def opened(
    path: Path | None = None,
    clock: Clock | None = None,
    *,
    url: str | None = None,
    **settings: Any,
) -> AsyncIterator[Lab]:
    """Provide a lab's Keystore, by default on a virtual clock with a seed, in memory or in a file."""
    context = make_context(Entry("acme"), clock=clock, data=path, keystore=url, **settings)
    open_database(context)
    keystore = Keystore(context)
    await keystore.start()
    try:
        yield Lab(context, keystore)
    finally:
        await keystore.stop()
        context.database.close()
