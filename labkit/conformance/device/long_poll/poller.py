"""Polling client with its own connections, which it can end in several ways."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from labkit.conformance import device_client, expect, raw
from labkit.conformance.target import Target
from labkit.fleet.device import FORM, VirtualDevice

if TYPE_CHECKING:
    import httpx

Headers = list[tuple[str, str]]


class Poller:
    """A client of a device, with one connection at a time; the next request opens a new one.

    since: the newest Last-Modified that it received.
    """

    def __init__(self, target: Target, device: VirtualDevice, stack: AsyncExitStack) -> None:
        self.since = "0"
        self._target = target
        self._device = device
        self._stack = stack
        self._raw: raw.Raw | None = None

    async def ask(
        self, alias: str = "text", since: str | None = None, *more: tuple[str, str]
    ) -> httpx.Response:
        """Poll with a timeout of 0, from the newest Last-Modified, or `since`. more: further headers."""
        headers = [*self.headers(since), *more]
        return await (await self.connection()).ask("GET", f"{device_client.ALIAS}?{alias}", headers)

    def headers(self, since: str | None = None) -> Headers:
        """Return the headers of such a poll."""
        times = [("Request-Timeout", "0"), ("If-Modified-Since", self.since if since is None else since)]
        return [("Accept", FORM), ("X-Platform-CIK", str(self._device.token)), *times]

    async def expect_value(self, value: str) -> None:
        """Poll, and store Last-Modified. Raises Mismatch unless the answer is this value."""
        response = expect.status(await self.ask(), 200)
        expect.body(response, f"text={value}")
        self.since = str(response.headers.get("Last-Modified"))

    async def expect_nothing(self) -> None:
        """Poll. Raises Mismatch unless the answer is 304."""
        expect.status(await self.ask(), 304)

    async def connection(self) -> raw.Raw:
        """Return the open connection, or a new one."""
        if self._raw is None:
            self._raw = await self._stack.enter_async_context(raw.connect(self._target, self._device.domain))
        return self._raw

    async def reset(self) -> None:
        """End the connection by a TCP reset."""
        if (connection := self._detach()) is not None:
            connection.reset()
            await self._elsewhere()

    async def end_connection(self, close_notify: bool = False) -> None:
        """End the connection gracefully, by FIN. close_notify: send the TLS message of this name first."""
        if (connection := self._detach()) is not None:
            if close_notify:
                await connection.close()
            else:
                connection.abort()
            await self._elsewhere()

    def fall_silent(self) -> None:
        """Stop using the connection, but leave it open."""
        self._detach()

    async def _elsewhere(self) -> None:
        """Send a request on another connection, so that the target has noticed the end of this one."""
        await self._device.request("GET", "/timestamp", credentials=False)

    def _detach(self) -> raw.Raw | None:
        """Return the open connection and detach it from the poller."""
        connection, self._raw = self._raw, None
        return connection


@asynccontextmanager
async def pollers(target: Target, device: VirtualDevice, count: int) -> AsyncIterator[list[Poller]]:
    """Provide `count` clients of a device; their connections are closed afterwards."""
    async with AsyncExitStack() as stack:
        yield [Poller(target, device, stack) for _ in range(count)]
