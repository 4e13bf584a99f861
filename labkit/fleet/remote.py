"""Fleets against a remote platform, given only its address, its CA and a product's name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from cryptography.x509 import load_pem_x509_certificates

from labkit.core.errors import LabError, SettingsError
from labkit.core.identifiers import Identifiers
from labkit.core.ready_line import ready_values
from labkit.fleet.channel import NoAnswerError
from labkit.fleet.connection import DeviceConnection, DeviceServer
from labkit.fleet.device import Credentials, DeviceError, VirtualDevice
from labkit.fleet.flow import LabAddress
from labkit.fleet.live import Live
from labkit.fleet.local_run import LocalFleetRun
from labkit.fleet.plan import Member, Plan
from labkit.labtime.clock import Clock

AT_ONCE = 32  # devices that are activated concurrently
HTTPS_PORT = 443


class RemoteProduct(NamedTuple):
    """Product of a remote platform. domain: of the product; resources: its aliases, None if they are not known."""

    address: LabAddress
    domain: str
    resources: Sequence[str] | None = None


def remote_product(target: str, product: str, ca_file: Path | None) -> RemoteProduct:
    """Return address and domain of a product on a remote platform.

    target: the line that `labkit serve --json` prints, a file that contains it, or the URL of the product; ca_file: the
    CA's certificate, required with a URL. Raises SettingsError.
    """
    if target.startswith("https://"):
        if ca_file is None:
            raise SettingsError("--target: a URL takes --ca-file, the certificate of its CA")
        return _from_url(target, None, _certificate(ca_file, "--ca-file"), product)
    ready = ready_values(target)
    try:
        products: dict[str, str] = ready["products"]
        if product not in products:
            known = ", ".join(products) or "none"
            raise SettingsError(f"--product: the target has no {product!r}, there are: {known}")
        pem = _certificate(ca_file or Path(ready["ca_file"]), "--ca-file" if ca_file else "--target: ca_file")
        host, port = ready.get("host", "127.0.0.1"), int(ready["https_port"])
        domain = _from_url(products[product], host, pem, product).domain
        resources = ready.get("resources", {}).get(product)
        return RemoteProduct(LabAddress(host, port, pem), domain, resources)
    except (ValueError, TypeError, AttributeError) as error:
        raise SettingsError(f"--target: cannot be read: {error}") from None
    except KeyError as error:
        raise SettingsError(f"--target: {error.args[0]}: is required") from None


def _from_url(url: str, host: str | None, pem: str, product: str) -> RemoteProduct:
    try:
        parts = urlsplit(url)
        port = parts.port or HTTPS_PORT
    except ValueError as error:
        raise SettingsError(f"--target: {url!r}: {error}") from None
    if parts.scheme != "https" or not parts.hostname:
        raise SettingsError(f"--target: expected an https URL of {product!r}, not {url!r}")
    loopback = parts.hostname.endswith(".localhost")
    return RemoteProduct(
        LabAddress(host or ("127.0.0.1" if loopback else parts.hostname), port, pem),
        parts.hostname,
    )


def _certificate(path: Path, name: str) -> str:
    pem = _text(path, name)
    try:
        load_pem_x509_certificates(pem.encode())
    except ValueError:
        raise SettingsError(f"{name}: {path}: expected a certificate (PEM)") from None
    return pem


def _text(path: Path, name: str) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise SettingsError(f"{name}: {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{name}: {path}: expected a text file") from None


async def provisioned(remote: RemoteProduct, auth: str, members: Sequence[Member]) -> list[Member]:
    """Activate all devices and return them with their credentials. Raises LabError if one cannot be activated."""
    server, gate, secrets = (
        DeviceServer(remote.address, remote.domain),
        asyncio.Semaphore(AT_ONCE),
        Identifiers(),
    )

    async def provision(member: Member) -> Member:
        connection = DeviceConnection(server)

        async def secret(length: int) -> str:
            return secrets.alphanumeric(member.identity, length)

        device = VirtualDevice(remote.address, remote.domain, auth, member.identity, secret, connection)
        try:
            async with gate:
                await device.activate()
        finally:
            connection.abort()
        credentials = Credentials(device.token, device.password, device.certificate)
        return Member(member.number, member.identity, member.behaviour, credentials)

    try:
        return list(await asyncio.gather(*map(provision, members)))
    except DeviceError as error:
        raise LabError(f"the devices cannot be provisioned with --auth {auth}: {error}") from None
    except (NoAnswerError, OSError) as error:
        raise LabError(f"the devices cannot be provisioned: {error}") from None


async def run_remote(plan: Plan, seconds: float, watch: Callable[[LocalFleetRun], Any]) -> LocalFleetRun:
    """Run the devices of a plan for `seconds` on the wall clock. watch: called with the run before it begins."""
    clock = Clock()
    fleet_run = LocalFleetRun(plan, Live(clock))
    watch(fleet_run)
    await fleet_run.run(clock.now() + seconds)
    return fleet_run
