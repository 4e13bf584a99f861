"""Main function of `labkit serve`: runs a platform until a signal, and prints its addresses when it is ready."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
import threading
import warnings
from collections.abc import AsyncIterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from cryptography import x509

from labkit.control.hints import settings_warnings
from labkit.core.errors import LabWarning, SettingsError
from labkit.core.ready_line import host_of
from labkit.platform import Platform
from labkit.providers.messaging.provider import Messaging
from labkit.providers.social.providers import SocialProviders
from labkit.solutions.checking.call_places import call_places

if TYPE_CHECKING:
    from labkit.control.over_http.listener import ControlAddress


async def serve_until_signal(
    platform: Platform,
    as_json: bool,
    ca_file: Path | None,
    files: Path | None = None,
    beside: AbstractAsyncContextManager[None] | None = None,
    *,
    until_eof: bool = False,
    most_labs: int = 0,
) -> None:
    """Run the platform until SIGTERM or SIGINT, and print its addresses.

    files: folder below which paths in control requests may be; beside: entered while the platform runs;
    until_eof: whether the end of standard input ends it, too; most_labs: labs on demand that may run at one time.
    Raises SettingsError for a `ca_file` that cannot be written, and if it cannot listen for control.
    """
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, ended.set)
    if until_eof:
        threading.Thread(target=_wait_for_eof, args=(loop, ended), daemon=True).start()
    async with platform:
        with tempfile.TemporaryDirectory(prefix="labkit-") as folder:
            if ca_file is None and platform.context.database.path is not None:
                ca_file = Path(f"{platform.context.database.path}.tls") / "ca.pem"  # it exists already
            else:
                ca_file = ca_file or Path(folder) / "ca.pem"
                try:
                    ca_file.write_text(platform.context.address.ca_pem)
                except OSError as error:
                    raise SettingsError(f"--ca-file: {ca_file}: {error.strerror}") from error
            async with _control(platform, files, ca_file, most_labs) as control, beside or nullcontext():
                ready = _ready(platform, ca_file)
                if control is not None:
                    ready["control"] = {"url": control.url, "token": control.token}
                _warn(platform)
                if as_json:  # for programs, which may have another current folder
                    click.echo(json.dumps({**ready, "ca_file": str(ca_file.absolute())}))
                else:
                    click.echo(_ready_text(platform, ready, control))
                await ended.wait()


def _ready(platform: Platform, ca_file: Path) -> dict[str, Any]:
    """Return the values of the ready line, without those of the control."""
    address = platform.context.address
    return {
        "host": address.host,
        "https_port": address.https_port,
        "http_port": address.http_port,
        "proxy": address.proxy,
        "ca_file": str(ca_file),
        "products": {each.id: platform.context.url(each.domain) for each in platform.devices.products},
        "resources": {each.id: list(each.settings.resources) for each in platform.devices.products},
        "solutions": {each.id: platform.context.url(each.domain) for each in platform.solutions},
        "providers": _providers(platform),
    }


def _wait_for_eof(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    with suppress(OSError):  # it is closed already
        while os.read(0, 4096):
            pass
    with suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(ended.set)


def call_place(platform: Platform, solution: str, handler: str, operation: str) -> str:
    """Return the files and lines at which a handler of a solution may call an operation, as text."""
    found = next((each for each in platform.solutions if each.id == solution), None)
    return "" if found is None else call_places(found.folder, handler, operation)


def _warn(platform: Platform) -> None:
    """Warn of faults that nothing will reach, such as one at a misspelt path."""
    for text in settings_warnings(platform):
        warnings.warn(text, LabWarning, stacklevel=1)


@asynccontextmanager
async def _control(
    platform: Platform, files: Path | None, ca_file: Path, most_labs: int
) -> AsyncIterator[ControlAddress | None]:
    """Offer control over HTTP within the block, if the settings ask for it."""
    settings = platform.context.settings.control
    if settings is None:
        if files is not None:
            raise SettingsError("--files: only with --control, or with control in lab.yaml")
        yield None
        return
    from labkit.control.over_http.listener import control_listener

    async with AsyncExitStack() as stack:
        labs = None
        if most_labs:
            from labkit.ondemand.labs import OnDemandLabs

            labs = await stack.enter_async_context(
                aclosing(OnDemandLabs(platform, most_labs, ca_file, files))
            )
        yield await stack.enter_async_context(control_listener(platform, settings, files, labs=labs))


def _providers(platform: Platform) -> dict[str, str]:
    """Return the URLs of the providers that lab.yaml configures. Clients have no accounts at the others."""
    urls = {each.name: each.url() for each in platform.provider(SocialProviders) if each.applications}
    if platform.context.settings.providers.messaging.accounts:
        messaging = platform.provider(Messaging)
        urls[messaging.name] = messaging.url()
    return urls


def has_root(ca_pem: str) -> bool:
    """Return whether certificates include one that is its own issuer, which TLS clients can trust."""
    return any(each.issuer == each.subject for each in x509.load_pem_x509_certificates(ca_pem.encode()))


def _ready_text(platform: Platform, ready: dict[str, Any], control: ControlAddress | None) -> str:
    urls = [url for kind in ("products", "solutions", "providers") for url in ready[kind].values()]
    plain = f", plain HTTP on {ready['http_port']}" if ready["http_port"] is not None else ""
    plain += f", proxy {ready['proxy']}" if ready["proxy"] is not None else ""
    where = f"{platform.context.settings.host}:{ready['https_port']}{plain}"
    trust = f"trust {ready['ca_file']}"
    if not has_root(platform.context.address.ca_pem):
        trust = (
            f"trust the CA that issued the certificate, since {ready['ca_file']} has no root (Python's ssl accepts it "
            "with VERIFY_X509_PARTIAL_CHAIN)"
        )
    lines = [f"labkit serves on {where}; {trust}; Ctrl-C ends it"]
    lines += [f"  product  {name}  {url}" for name, url in ready["products"].items()]
    lines += [f"  solution {name}  {url}" for name, url in ready["solutions"].items()]
    lines += [f"  provider {name}  {url}" for name, url in ready["providers"].items()]
    if control is not None:
        lines.append(f"  control  {control.url}  token {control.token}")
        lines.append(f"  page     {control.page()}")
    hosts = [host_of(url) for url in urls]
    foreign = [host for host in hosts if not host.endswith(".localhost")]
    if foreign:
        lines.append(f"  resolve to {platform.context.settings.host}: {' '.join(foreign)}")
    elif hosts:
        lines.append(
            "  names below .localhost resolve by themselves in curl and browsers; elsewhere add them to"
        )
        lines.append(f"  the hosts file: {platform.context.settings.host} {' '.join(hosts)}")
    return "\n".join(lines)
