"""Suspension of a platform, whose state stays while no event loop runs it, and how it listens again after that."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial

from labkit.context import Context
from labkit.core.component import Component
from labkit.edge.listener import Edge
from labkit.edge.proxy import HOST, Proxy
from labkit.http.address import LOOPBACK, can_bind, loopback


class Suspension:
    """Detaches the components of a platform from the event loop, and attaches them again. All state stays.

    edge, proxy: those of the components that listen. components: in the order of their start.
    """

    def __init__(self, context: Context, edge: Edge, proxy: Proxy, components: Sequence[Component]) -> None:
        self._context = context
        self._edge = edge
        self._proxy = proxy
        self._components = components

    async def suspend(self) -> None:
        """Close every connection and detach from the event loop; nothing may be under way."""
        for component in reversed(self._components):
            await component.suspend()

    async def resume(self) -> None:
        """Continue on the running loop, and listen at the ports of the settings."""
        await self._resume(self._listen)

    async def resume_here(self) -> None:
        """Continue in the same process, and listen again at the same ports."""
        await self._resume(self._listen_again)

    async def resume_apart(self) -> None:
        """Continue in a fork of the process, which shares nothing with the other copies.

        It listens at an IP address of its own (127.x.y.z), so that ports and URLs stay; where the system has none, at
        free ports. Data goes on in memory.
        """
        self._context.database.leave_file()
        await self._resume(self._listen_apart)

    async def _resume(self, listen: Callable[[], Awaitable[object]]) -> None:
        await self._context.whole.run(partial(self._resumed, listen))

    async def _resumed(self, listen: Callable[[], Awaitable[object]]) -> None:
        listeners = (self._edge, self._proxy)
        async with AsyncExitStack() as failed:
            for each in listeners:
                failed.push_async_callback(each.suspend)
            await listen()
            failed.pop_all()
        for component in self._components:
            if component not in listeners:
                await component.resume()

    async def _listen(self) -> None:
        await self._edge.resume()
        await self._proxy.resume()

    async def _listen_again(self) -> None:
        address = self._context.address
        await self._edge.resume_at(address.host, address.https_port, address.http_port)
        await self._proxy.resume_at(HOST, self._proxy.port)

    async def _listen_apart(self) -> None:
        address, own = self._context.address, loopback(os.getpid())
        if address.host == LOOPBACK and can_bind(own, address.https_port):
            await self._edge.resume_at(own, address.https_port, address.http_port)
            await self._proxy.resume_at(own, self._proxy.port)
        else:
            await self._edge.resume_at(address.host, 0, None if address.http_port is None else 0)
            await self._proxy.resume_at(HOST, None if self._proxy.port is None else 0)
