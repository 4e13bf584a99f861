"""Server certificates of the edge: issued by the lab's own authority, or provided by the user."""

from __future__ import annotations

import os
import ssl
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NoReturn, Protocol

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from labkit.core.certificates import (
    ALWAYS,
    KeyPair,
    Kind,
    PrivateKey,
    authority,
    private_key,
    server_certificate,
)
from labkit.core.errors import SettingsError
from labkit.settings import TlsSettings

NAME = "labkit authority"
FILES: dict[Kind, tuple[str, str]] = {"ec": ("ca.pem", "ca.key"), "rsa": ("ca-rsa.pem", "ca-rsa.key")}
DAYS = 397  # the most that all clients in the field accept of a server's certificate
Leaf = tuple[bytes, bytes]  # a certificate, with what it rests on behind it, and its key; both PEM


class Certificates(Protocol):
    """Interface of a source of server certificates. ca_pem: the CA certificate that clients must trust."""

    ca_pem: bytes

    def leaves(self, names: Sequence[str], *, always: bool = False) -> list[Leaf]:
        """Return a server's certificates for `names`, of which a client receives one that it supports.

        always: they are valid at all times, as a virtual clock needs them.
        """


class Authority:
    """Authority that signs the edge's certificates, with keys of one kind, for devices that support no other.

    It is valid at all times, so that a clock of the lab can be set to any, and clients go on trusting it.
    `create()` makes one for the lifetime of the lab; `load(folder)` one that is stored.
    """

    def __init__(self, pair: KeyPair, kind: Kind = "ec") -> None:
        self.pair = pair
        self.kind = kind
        self.ca_pem = pair.certificate_pem
        self._key: PrivateKey | None = None
        self._issued: dict[tuple[tuple[str, ...], bool], Leaf] = {}  # the last one

    def __reduce__(self) -> tuple[type[Authority], tuple[KeyPair, Kind]]:
        """Serialize for another process of the same user, which issues certificates with a key of its own."""
        return Authority, (self.pair, self.kind)

    @classmethod
    def create(cls, kind: Kind = "ec") -> Authority:
        return cls(authority(NAME, days=None, kind=kind), kind)

    @classmethod
    def load(cls, folder: Path, kind: Kind = "ec") -> Authority:
        """Return the authority stored in `folder` (ca.pem; ca.key, for its owner only); create it if there is none.

        Raises SettingsError if the files are no authority.
        """
        certificate, key = FILES[kind]
        try:
            pair = KeyPair.from_pem((folder / certificate).read_bytes(), (folder / key).read_bytes())
        except FileNotFoundError:
            if (folder / certificate).exists() or (folder / key).exists():
                raise SettingsError(
                    f"{folder}: {certificate} and {key} belong together, one is missing"
                ) from None
        except ValueError as error:
            raise SettingsError(f"{folder}: {certificate} and {key} cannot be used: {error}") from None
        else:
            made = cls(pair, kind)
            if pair.certificate.not_valid_after_utc < ALWAYS[1] and _is_own(pair):  # of an earlier version
                made = cls(authority(NAME, days=None, key=pair.key), kind)
                with suppress(OSError):  # clients that trust the earlier one trust this one
                    made.write_ca(folder / certificate)
            return made
        made = cls.create(kind)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_private(folder / key, made.pair.key_pem)
        made.write_ca(folder / certificate)
        return made

    def leaf(self, names: Sequence[str], *, always: bool = False) -> Leaf:
        """Return a server's certificate and key, those of the last call for its names.

        Raises ValueError for a name that is no host name.
        """
        asked = (tuple(names), always)
        if asked not in self._issued:
            self._key = self._key or private_key(self.kind)
            pair = server_certificate(names, self.pair, days=None if always else DAYS, key=self._key)
            self._issued = {asked: (pair.certificate_pem, pair.key_pem)}
        return self._issued[asked]

    def leaves(self, names: Sequence[str], *, always: bool = False) -> list[Leaf]:
        return [self.leaf(names, always=always)]

    def write_ca(self, path: Path) -> None:
        """Write the authority's certificate to a file, for clients to trust."""
        path.write_bytes(self.ca_pem)


class Authorities:
    """Authorities with keys of several kinds."""

    def __init__(self, authorities: Sequence[Authority]) -> None:
        self._authorities = authorities
        self.ca_pem = b"".join(each.ca_pem for each in authorities)

    def leaves(self, names: Sequence[str], *, always: bool = False) -> list[Leaf]:
        return [each.leaf(names, always=always) for each in self._authorities]


class OwnCertificate:
    """Certificate provided by the user; its names are not checked.

    certificate: a PEM file, followed by its intermediate certificates; key: None if it is in that file too.
    Raises SettingsError if they cannot be used.
    """

    def __init__(self, certificate: Path, key: Path | None = None) -> None:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_locked)
            chain = x509.load_pem_x509_certificates(certificate.read_bytes())
            self.ca_pem = b"".join(each.public_bytes(Encoding.PEM) for each in chain)  # and no key
            self._leaf = self.ca_pem, (key or certificate).read_bytes()
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            reason: str = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
            what = f"{certificate} with {key}" if key else f"{certificate}"
            raise SettingsError(
                f"tls.certificate: {what} cannot be used: {reason.replace('_', ' ').lower()}"
            ) from None

    def leaves(self, names: Sequence[str], *, always: bool = False) -> list[Leaf]:
        return [self._leaf]


def certificates(settings: TlsSettings, folder: Path | None, *, is_shared: bool = False) -> Certificates:
    """Return the certificate source of the settings. Raises SettingsError.

    folder: of a stored authority, or None; is_shared: then one of this process will do, as for the many labs of a hunt.
    """
    if settings.certificate is not None:
        return OwnCertificate(settings.certificate, settings.private_key)
    kinds: list[Kind] = ["ec", "rsa"] if settings.key == "both" else [settings.key]
    make = _of_process if is_shared else Authority.create
    return Authorities([make(kind) if folder is None else Authority.load(folder, kind) for kind in kinds])


@cache
def _of_process(kind: Kind) -> Authority:
    return Authority.create(kind)


def _is_own(pair: KeyPair) -> bool:
    return pair.certificate.subject.rfc4514_string() == f"CN={NAME}"


def _locked() -> NoReturn:
    raise ValueError("its key is encrypted")


def _write_private(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
