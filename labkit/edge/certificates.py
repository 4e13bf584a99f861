"""The lab's own certificate authority, which every client of ours verifies."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from labkit.core.certificates import KeyPair, authority, server_certificate
from labkit.core.errors import SettingsError

CERTIFICATE, KEY = "ca.pem", "ca.key"


class Authority:
    """Signs the certificates that the edge shows.

    `create()` makes one that lives as long as the lab; `load(folder)` one that outlives it.
    """

    def __init__(self, pair: KeyPair) -> None:
        self.pair = pair
        self.ca_pem = pair.certificate_pem

    @classmethod
    def create(cls) -> Authority:
        return cls(authority("labkit authority"))

    @classmethod
    def load(cls, folder: Path) -> Authority:
        """The authority kept in `folder` (ca.pem; ca.key, for its owner only); made if there is none.

        Raises SettingsError if what is there is no authority.
        """
        try:
            pair = KeyPair.from_pem((folder / CERTIFICATE).read_bytes(), (folder / KEY).read_bytes())
        except FileNotFoundError:
            if (folder / CERTIFICATE).exists() or (folder / KEY).exists():
                raise SettingsError(
                    f"{folder}: {CERTIFICATE} and {KEY} belong together, one is missing"
                ) from None
        except ValueError as error:
            raise SettingsError(f"{folder}: {CERTIFICATE} and {KEY} cannot be used: {error}") from None
        else:
            return cls(pair)
        made = cls.create()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_private(folder / KEY, made.pair.key_pem)
        made.write_ca(folder / CERTIFICATE)
        return made

    def leaf(self, names: Sequence[str]) -> tuple[bytes, bytes]:
        """A server's certificate and key, as PEM. Raises ValueError for a name that is no host name."""
        pair = server_certificate(names, self.pair)
        return pair.certificate_pem, pair.key_pem

    def write_ca(self, path: Path) -> None:
        """Write the authority's certificate, for clients to trust."""
        path.write_bytes(self.ca_pem)


def _write_private(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
