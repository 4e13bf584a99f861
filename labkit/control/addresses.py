"""Where a lab listens, and how to trust it."""

from __future__ import annotations

from labkit.control.data import Data
from labkit.platform import Platform


class Listening(Data):
    """host: the address it listens at; ca_pem: the certificate of its CA; http_port: of plain HTTP, if there is."""

    host: str
    https_port: int
    http_port: int | None
    ca_pem: str


class AddressesControl:
    """The names and ports of a lab."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def listening(self) -> Listening:
        """Where it listens."""
        address = self._platform.context.address
        return Listening(
            host=address.host,
            https_port=address.https_port,
            http_port=address.http_port,
            ca_pem=address.ca_pem,
        )

    async def hosts(self) -> list[str]:
        """The names of all hosts that the lab serves."""
        return [site.host for site in self._platform.context.hosts]

    async def url(self, host: str, path: str = "") -> str:
        """The URL of a path at a host."""
        return self._platform.context.url(host, path)
