"""The listeners of a lab together, as they listen again after the platform was suspended."""

from __future__ import annotations

import os
from collections.abc import Iterator

from labkit.context import Context
from labkit.core.component import Component
from labkit.edge.listener import Edge
from labkit.edge.proxy import HOST, Proxy
from labkit.http.address import LOOPBACK, can_bind, loopback


class Listeners:
    """The edge and the proxy of a lab."""

    def __init__(self, edge: Edge, proxy: Proxy, context: Context) -> None:
        self._edge = edge
        self._proxy = proxy
        self._address = context.address

    def __iter__(self) -> Iterator[Component]:
        return iter((self._edge, self._proxy))

    async def resume(self) -> None:
        """Listen at the ports of the settings."""
        await self._edge.resume()
        await self._proxy.resume()

    async def resume_here(self) -> None:
        """Listen at the same ports as before."""
        await self._edge.resume_at(self._address.host, self._address.https_port, self._address.http_port)
        await self._proxy.resume_at(HOST, self._proxy.port)

    async def resume_apart(self) -> None:
        """Listen at the same ports of an IP address of this process's own; if there is none, at free ports."""
        address, own = self._address, loopback(os.getpid())
        if address.host == LOOPBACK and can_bind(own, address.https_port):
            await self._edge.resume_at(own, address.https_port, address.http_port)
            await self._proxy.resume_at(own, self._proxy.port)
        else:
            await self._edge.resume_at(address.host, 0, None if address.http_port is None else 0)
            await self._proxy.resume_at(HOST, None if self._proxy.port is None else 0)
