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
        edge = self._platform.edge
        return Listening(
            host=self._platform.settings.host,
            https_port=edge.https_port,
            http_port=edge.http_port,
            ca_pem=self._platform.ca_pem,
        )

    async def hosts(self) -> list[str]:
        """The names of all hosts that the lab serves."""
        platform = self._platform
        return [
            *(each.domain for each in platform.products),
            *(each.domain for each in platform.solutions),
            *(each.host for each in platform.social),
        ]

    async def url(self, host: str, path: str = "") -> str:
        """The URL of a path at a host."""
        return self._platform.url(host, path)
