"""Main function of `labkit serve`: runs a platform until a signal, and prints its addresses when it is ready."""

from __future__ import annotations

import asyncio
import json
import signal
import tempfile
from pathlib import Path
from typing import Any

import click

from labkit.core.errors import SettingsError
from labkit.platform import Platform
from labkit.providers.messaging.provider import Messaging
from labkit.providers.social.providers import SocialProviders


async def serve_until_signal(platform: Platform, as_json: bool, ca_file: Path | None) -> None:
    """Run the platform until SIGTERM or SIGINT, and print its addresses.

    Raises SettingsError for a `ca_file` that cannot be written.
    """
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, ended.set)
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
            ready = {
                "https_port": platform.context.address.https_port,
                "http_port": platform.context.address.http_port,
                "proxy": platform.context.address.proxy,
                "ca_file": str(ca_file),
                "products": {
                    each.id: platform.context.url(each.domain) for each in platform.devices.products
                },
                "solutions": {each.id: platform.context.url(each.domain) for each in platform.solutions},
                "providers": _providers(platform),
            }
            click.echo(json.dumps(ready) if as_json else _ready_text(platform, ready))
            await ended.wait()


def _providers(platform: Platform) -> dict[str, str]:
    """Return the URLs of the providers that lab.yaml configures. Clients have no accounts at the others."""
    urls = {each.name: each.url() for each in platform.provider(SocialProviders) if each.applications}
    if platform.context.settings.providers.messaging.accounts:
        messaging = platform.provider(Messaging)
        urls[messaging.name] = messaging.url()
    return urls


def _ready_text(platform: Platform, ready: dict[str, Any]) -> str:
    urls = [url for kind in ("products", "solutions", "providers") for url in ready[kind].values()]
    plain = f", plain HTTP on {ready['http_port']}" if ready["http_port"] is not None else ""
    plain += f", proxy {ready['proxy']}" if ready["proxy"] is not None else ""
    where = f"{platform.context.settings.host}:{ready['https_port']}{plain}"
    lines = [f"labkit serves on {where}; trust {ready['ca_file']}; Ctrl-C ends it"]
    lines += [f"  product  {name}  {url}" for name, url in ready["products"].items()]
    lines += [f"  solution {name}  {url}" for name, url in ready["solutions"].items()]
    lines += [f"  provider {name}  {url}" for name, url in ready["providers"].items()]
    hosts = [url.removeprefix("https://").split(":")[0] for url in urls]
    foreign = [host for host in hosts if not host.endswith(".localhost")]
    if foreign:
        lines.append(f"  resolve to {platform.context.settings.host}: {' '.join(foreign)}")
    elif hosts:
        lines.append(
            "  names below .localhost resolve by themselves in curl and browsers; elsewhere add them to"
        )
        lines.append(f"  the hosts file: {platform.context.settings.host} {' '.join(hosts)}")
    return "\n".join(lines)
