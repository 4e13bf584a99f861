"""Where a lab listens."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ServerAddress:
    """Where a lab listens, and what its clients trust; ports and certificate are there once it does.

    host: the address of the listener; ca_pem: the certificate of the lab's authority.
    """

    host: str
    https_port: int = 0
    http_port: int | None = None
    ca_pem: str = ""

    def url(self, host: str, path: str = "") -> str:
        """The URL of a path at a host of the lab: the one function that makes URLs which leave the lab."""
        port = "" if self.https_port == 443 else f":{self.https_port}"
        return f"https://{host}{port}{path}"
