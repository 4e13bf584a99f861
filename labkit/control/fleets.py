"""Operations that provision the devices of a fleet."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from typing import Annotated

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificate
from pydantic import Field

from labkit.control.bounds import Id
from labkit.control.data import Data, in_slices
from labkit.core.certificates import KeyPair, client_certificate
from labkit.core.errors import LabError
from labkit.devices.identities import identity_error
from labkit.devices.registry import fingerprint, password_digest
from labkit.fleet.device import Credentials
from labkit.platform import Platform
from labkit.settings.ranges import MAX_NAMES


class DeviceCredentials(Data):
    """Credentials of a device: a token, a password, or a certificate and its private key (PEM)."""

    token: str | None = Field(default=None, repr=False)
    password: str | None = Field(default=None, repr=False)
    certificate: bytes | None = Field(default=None, repr=False)
    key: bytes | None = Field(default=None, repr=False)


class FleetsControl:
    """Bulk provisioning of devices."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def provision(
        self, product: Id, identities: Annotated[Sequence[Id], Field(max_length=MAX_NAMES)]
    ) -> list[DeviceCredentials]:
        """Whitelist identities, and return new credentials for each, of the product's kind; old ones become invalid.

        Raises LabError for an unknown product, and for an identity that does not have the product's format.
        """
        settings = self._platform.devices.products.get(product).settings
        for identity in identities:
            if wrong := identity_error(settings.identity_format, identity):
                raise LabError(f"{identity!r}: {wrong}; say prefix=… or identities=…")
        made: list[DeviceCredentials] = []
        async for some in in_slices(identities):
            made += await self._provision(product, settings.auth, some)
        return made

    async def _provision(self, product: str, auth: str, identities: Sequence[str]) -> list[DeviceCredentials]:
        if auth == "certificate":
            made = await asyncio.to_thread(_certificates, identities)
        else:
            made = [self._secret(product, auth, identity) for identity in identities]
        given = zip(identities, made, strict=True)
        await self._platform.devices.registry.provision_all(
            product, {name: _proof(each) for name, each in given}
        )
        return made

    def _secret(self, product: str, auth: str, identity: str) -> DeviceCredentials:
        identifiers = self._platform.context.identifiers
        if auth == "token":
            return DeviceCredentials(token=identifiers.hex(f"token/{product}/{identity}", 40))
        return DeviceCredentials(password=identifiers.alphanumeric(f"password/{product}/{identity}", 24))


def client_credentials(given: DeviceCredentials) -> Credentials:
    """Return credentials as virtual devices use them."""
    pair = None
    if given.certificate is not None and given.key is not None:
        pair = KeyPair.from_pem(given.certificate, given.key)
    return Credentials(given.token, given.password, pair)


def _certificates(identities: Sequence[str]) -> list[DeviceCredentials]:
    made = (client_certificate(each) for each in identities)
    return [DeviceCredentials(certificate=certificate, key=key) for certificate, key in made]


def _proof(given: DeviceCredentials) -> tuple[bytes, bytes | None]:
    """Return digest and salt of a credential, as the device registry stores them."""
    if given.token is not None:
        return fingerprint(given.token), None
    if given.password is not None:
        salt = secrets.token_bytes(16)
        return password_digest(given.password, salt), salt
    assert given.certificate is not None
    return fingerprint(load_pem_x509_certificate(given.certificate).public_bytes(Encoding.DER)), None
