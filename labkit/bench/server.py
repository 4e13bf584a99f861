"""The server process: `python -m labkit.bench.server CORE reference|lab [SETTINGS]`.

The reference is a bare aiohttp application on the same loop and TLS: it parses the form and answers 204, answers a read
with a fixed form body, and sends each message of a websocket back. Several of them may share a port: SETTINGS then has
that port (0 for the first) and the file with their certificate and its key.
"""

from __future__ import annotations

import json
import ssl
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from aiohttp import web

from labkit.bench.call_counter import CallCounter
from labkit.bench.control import Answer, prepare, run, serve_commands
from labkit.bench.handlers import DOMAIN, certificate
from labkit.edge.certificates import Authority
from labkit.platform import Platform
from labkit.settings import LabSettings, build

FIXED = "text=hello&number=21.5"


async def usage() -> Answer:
    """Return the CPU seconds that this process has used, and its resident memory in bytes."""
    return {"cpu": time.process_time(), "memory": psutil.Process().memory_info().rss}


async def reference(settings: dict[str, Any]) -> None:
    """Serve the bare aiohttp application."""

    async def write(request: web.Request) -> web.Response:
        await request.post()
        return web.Response(status=204)

    async def read(request: web.Request) -> web.Response:
        return web.Response(text=FIXED, content_type="application/x-www-form-urlencoded")

    async def live(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(compress=False)
        await socket.prepare(request)
        async for message in socket:
            await socket.send_str(message.data)
        return socket

    app = web.Application()
    app.router.add_post("/onep:v1/stack/alias", write)
    app.router.add_get("/onep:v1/stack/alias", read)
    app.router.add_get("/live", live)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ready: Answer = {"domain": DOMAIN}
    if "certificate" in settings:
        context.load_cert_chain(settings["certificate"])
    else:
        authority = Authority.create()
        ready["ca"] = authority.ca_pem.decode()
        with tempfile.TemporaryDirectory() as folder:
            context.load_cert_chain(certificate(authority, Path(folder)))
    shared = "port" in settings
    port = settings["port"] if shared else 0
    site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=context, reuse_port=shared or None)
    await site.start()
    ready["port"] = runner.addresses[0][1]
    try:
        await serve_commands(ready, {"usage": usage, **CallCounter().commands()})
    finally:
        await runner.cleanup()


async def lab(settings: dict[str, Any]) -> None:
    """Serve a lab with one product, `bench`."""
    product = {"id": "bench", "resources": {"text": {"settable": True}, "number": "number"}}
    built = build(LabSettings, {"https_port": 0, "products": [product], **settings})
    async with Platform(built) as platform, AsyncExitStack() as stack:

        async def settle() -> Answer:
            await platform.settle()
            return await usage()

        async def wait_for_polls(polls: int) -> Answer:
            while len(platform.devices.polls) < polls:
                await platform.devices.polls.wait_for_next()
            return await usage()

        address = platform.context.address
        ports: Answer = {"https": address.https_port, "http": address.http_port}
        if built.control is not None:
            from labkit.control.over_http.listener import control_listener  # which other measures do not need

            control = await stack.enter_async_context(control_listener(platform, built.control))
            ports |= {"control": urlsplit(control.url).port, "token": control.token}
        if address.proxy is not None:
            ports["proxy"] = urlsplit(address.proxy).port

        async def all_ports() -> Answer:
            return ports

        ready = {"port": address.https_port, "ca": address.ca_pem, "domain": DOMAIN}
        commands = {
            "usage": usage,
            "settle": settle,
            "ports": all_ports,
            "wait_for_polls": wait_for_polls,
            **CallCounter().commands(),
        }
        await serve_commands(ready, commands)


def main() -> None:
    """Run the reference or the lab, as the command line selects."""
    core, kind, *rest = sys.argv[1:]
    prepare(int(core))
    settings = json.loads(rest[0]) if rest else {}
    run(reference(settings) if kind == "reference" else lab(settings))


if __name__ == "__main__":
    main()
