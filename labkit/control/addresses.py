"""Operations that return a lab's addresses: ports, host names and URLs."""

from __future__ import annotations

from labkit.control.bounds import Line
from labkit.control.data import Data
from labkit.fleet.flow import LabAddress
from labkit.platform import Platform


class Listening(Data):
    """Address of a lab.

    host: IP address; http_port: port of plain HTTP, if any; proxy: URL of its CONNECT proxy, if any; ca_pem: the lab's
    CA certificate.
    """

    host: str
    https_port: int
    http_port: int | None
    proxy: str | None
    ca_pem: str


def lab_address(platform: Platform) -> LabAddress:
    """Return the address at which clients in this process reach a platform."""
    address = platform.context.address
    return LabAddress(address.host, address.https_port, address.ca_pem)


class AddressesControl:
    """Operations on the host names and ports of a lab."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def listening(self) -> Listening:
        """Return the address at which the lab listens."""
        address = self._platform.context.address
        return Listening(
            host=address.host,
            https_port=address.https_port,
            http_port=address.http_port,
            proxy=address.proxy,
            ca_pem=address.ca_pem,
        )

    async def hosts(self) -> list[str]:
        """Return the names of all hosts that the lab serves."""
        return [site.host for site in self._platform.context.hosts]

    async def url(self, host: Line, path: Line = "") -> str:
        """Return the URL of a path at a host."""
        return self._platform.context.url(host, path)
