"""Listener of control over HTTP: plain on loopback, or TLS by the lab's CA at a host of its own."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from labkit.control.control import Control
from labkit.control.labs import LabStarter
from labkit.control.over_http.access import LOOPBACK, Access, is_wildcard, new_token
from labkit.control.over_http.page import LabPage
from labkit.control.over_http.server import ControlServer
from labkit.core.errors import SettingsError
from labkit.platform import Platform
from labkit.settings import ControlSettings

BACKLOG = 128
# Seconds for requests in progress when the lab ends, and once more for the ones that are cancelled.
SHUTDOWN = 0.25


@dataclass(frozen=True)
class ControlAddress:
    """Address of a lab's control.

    url: without a path; token: the bearer token that clients send; fragment: returns what follows the URL in a new link
    to the lab's page.
    """

    url: str
    token: str = field(repr=False)
    fragment: Callable[[], str]

    def page(self) -> str:
        """Return a new link to the lab's page, which works once."""
        return self.url + self.fragment()


@asynccontextmanager
async def control_listener(
    platform: Platform,
    settings: ControlSettings,
    files: Path | None = None,
    *,
    token: str | None = None,
    control: Control | None = None,
    labs: LabStarter | None = None,
    in_request: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> AsyncIterator[ControlAddress]:
    """Offer the operations of a started platform over HTTP within the block.

    files: folder below which paths in arguments may be; token: by default that in LABKIT_TOKEN, or a new one; control:
    of the platform, if there is one already; labs: starts labs on demand; in_request: called for each request with the
    token, returns a context for it. Raises
    SettingsError for a token in LABKIT_TOKEN that is unfit, and for a host or a port where it cannot listen.
    """
    token = token or new_token()
    listening = await _bound(settings)
    tls = None
    if settings.host is not None:
        tls = platform.edge.server_context([settings.host, *sorted(LOOPBACK)])
    control = control or Control(platform)
    control.labs.starter = labs or control.labs.starter
    page, access = LabPage(token), Access(token, settings.host)
    server = ControlServer(control, platform.context.journal, access, page, files, in_request)
    runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN)
    await runner.setup()
    try:
        await web.SockSite(runner, listening, ssl_context=tls, backlog=BACKLOG).start()
        scheme, port = "http" if tls is None else "https", listening.getsockname()[1]
        yield ControlAddress(f"{scheme}://{_shown_host(settings.host)}:{port}", token, page.fragment)
    finally:
        await runner.cleanup()
        listening.close()


def page_listener(control: Control) -> AbstractAsyncContextManager[ControlAddress]:
    """Offer the page of a lab in this process within the block, with its control, at a free port of loopback."""
    return control_listener(control._platform, ControlSettings(), control=control)


def _shown_host(host: str | None) -> str:
    """Return the host of the URL by which a client on this machine reaches the listener."""
    if host is None or is_wildcard(host):
        return "[::1]" if host and ":" in host else "127.0.0.1"
    return f"[{host}]" if ":" in host else host


async def _bound(settings: ControlSettings) -> socket.socket:
    host = settings.host or "127.0.0.1"
    listening = None
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, settings.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        if listening is not None:
            listening.close()
        raise SettingsError(
            f"control: cannot listen on {host}:{settings.port}: {error.strerror or error}"
        ) from error
    return listening
