"""The file of names by which a program finds the lab's hosts at the lab's address and ports."""

from __future__ import annotations

from pathlib import Path

from labkit.http.address import ServerAddress
from labkit.http.sites import HostTable

ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # where a listener of all addresses is reached


class NamesFile:
    """The file of names. path: of the file; hosts: of the lab; address: at which it listens."""

    def __init__(self, path: Path, hosts: HostTable, address: ServerAddress) -> None:
        self._path = path
        self._hosts = hosts
        self._address = address
        self._written: tuple[object, ...] = ()

    def refresh(self) -> None:
        """Write the file anew if the lab's names or ports have changed. A program reads the old one or the new one."""
        address = self._address
        now = (self._hosts.changes, address.host, address.https_port, address.http_port)
        if now != self._written:
            beside = self._path.with_name("names.new")
            beside.write_text(self._text(), encoding="ascii")
            beside.replace(self._path)
            self._written = now

    def _text(self) -> str:
        address = self._address
        ip = ANY.get(address.host, address.host)
        lines = [f"{name}\t{ip}\n" for name in self._hosts.certificate_names()]
        ports = ((443, address.https_port), (80, address.http_port))
        lines += [f"port\t{usual}\t{port}\n" for usual, port in ports if port not in (None, usual)]
        return "".join(lines)
