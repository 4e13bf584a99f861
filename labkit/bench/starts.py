"""Costs that a user meets one at a time: the starts of a lab and of a fleet's device, and a write from a cell."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from labkit.bench.control import BenchError
from labkit.bench.handlers import DOMAIN, certificate
from labkit.bench.simulated import EVERY, RESOURCES, Reporting
from labkit.bench.variant import Variant, in_turn
from labkit.edge.certificates import Authority
from labkit.lab.lab import Lab

DEVICES = 100
IMPORTS = "import aiohttp, cryptography.x509, pydantic, sqlalchemy"
FIRST = """import os
from labkit import Lab
with Lab(seed=1) as lab:
    lab.product("bench", resources={"text": "string"}).device("d").activate().write(text="hello")
    os._exit(0)
"""
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}  # else each process would compile all modules

Variants = dict[str, Variant]


async def start_up(stack: AsyncExitStack, size: int) -> Variants:
    """Measure a new process until the first write of a lab is answered, beside one that imports large libraries."""

    async def run(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **COMPILED})  # noqa: ASYNC221

    return {"lab": in_turn([FIRST], run), "baseline": in_turn([IMPORTS], run)}


async def start_device(stack: AsyncExitStack, size: int) -> Variants:
    """Measure devices that connect and write once, with the lab's part, beside TLS handshakes in memory, both ends."""
    lab = stack.enter_context(Lab(seed=7, journal={"records": 1000}, datapoints={"kept": 100}))
    fleet = lab.product("bench", resources=RESOURCES).fleet(DEVICES, Reporting())
    authority = Authority.create()
    contexts = (
        ssl.create_default_context(cadata=authority.ca_pem.decode()),
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER),
    )
    with TemporaryDirectory() as folder:
        contexts[1].load_cert_chain(certificate(authority, Path(folder)))

    async def run(seconds: int) -> None:
        done = fleet.run(seconds=seconds)
        if done.latency.count != DEVICES or len(done.failures):
            raise BenchError(f"expected a write of each device, got: {done.summary}")

    async def shake(domain: str) -> None:
        up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = contexts[0].wrap_bio(down, up, server_hostname=domain)
        server = contexts[1].wrap_bio(up, down, server_side=True)
        for end in (client, server, client):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
        server.do_handshake()
        server.write(b"x")
        client.read(1)  # and the tickets before it

    return {"lab": in_turn([EVERY], run, DEVICES), "baseline": in_turn([DOMAIN], shake)}


async def write_in_cell(stack: AsyncExitStack, size: int) -> Variants:
    """Measure `device.write()` as a cell calls it, with the lab's part, beside the same bytes on a socket."""
    lab = stack.enter_context(Lab(seed=7, journal={"records": 1000}, datapoints={"kept": 100}))
    product = lab.product("bench", resources=RESOURCES)
    device = product.device("d").activate()
    context = ssl.create_default_context(cafile=str(lab.ca_file))
    plain = socket.create_connection(("127.0.0.1", lab.address.https_port))
    wire = stack.enter_context(context.wrap_socket(plain, server_hostname=product.domain))
    body = "text=hello&number=21.5"
    lines = ["POST /onep:v1/stack/alias HTTP/1.1", f"Host: {product.domain}"]
    lines += [f"X-Platform-CIK: {device.credentials.token}", f"Content-Length: {len(body)}"]
    lines += ["Content-Type: application/x-www-form-urlencoded; charset=utf-8", "", body]
    request = "\r\n".join(lines).encode()

    async def write(text: str) -> None:
        device.write(text=text, number=21.5)

    async def least(request: bytes) -> None:
        wire.sendall(request)
        if not (answer := wire.recv(4096)).startswith(b"HTTP/1.1 204 "):
            raise BenchError(f"a write was answered {answer[:80]!r}")

    return {"lab": in_turn(["hello"], write), "baseline": in_turn([request], least)}


VARIANTS: dict[str, Callable[[AsyncExitStack, int], Awaitable[Variants]]] = {
    "start-up": start_up,
    "device-start": start_device,
    "cell-write": write_in_cell,
}
