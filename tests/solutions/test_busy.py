"""Requests are answered while a script computes.

Platform and clients share one thread, and times are that thread's CPU time, which other load of the machine does
not lengthen, so the figures are the platform's alone. Python's garbage collector is off meanwhile.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import ssl
import time
from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult

from labkit.platform import Platform
from labkit.settings import Guard, LabSettings, ProductSettings, Resource, SolutionSettings

LONGEST = 0.25  # seconds that a run may delay others
CPU = 0.3  # seconds that a run may compute: its slices are twenty times shorter
SPIN = "while true do end"
STUBBORN = "while true do pcall(function() while true do end end) end"
STRINGS = "while true do local t = {} for i = 1, 2e4 do t[i] = ('a,b,c'):gsub(',', ';') end end"


class Loopback(AbstractResolver):
    """Resolver that resolves every name to this machine."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host="127.0.0.1", port=port, family=family or 2, proto=0, flags=0)
        ]

    async def close(self) -> None:
        pass


class Client:
    """Client of one product and two solutions."""

    def __init__(self, session: ClientSession, port: int) -> None:
        self._session = session
        self._port = port

    async def ask(self, method: str, host: str, path: str, **options: object) -> tuple[int, str]:
        url = f"https://{host}.lab.localhost:{self._port}{path}"
        async with self._session.request(method, url, **options) as response:  # type: ignore[arg-type]
            return response.status, await response.text()


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    settings = LabSettings(
        https_port=0,
        products=(ProductSettings(id="t", resources={"text": Resource(format="string")}),),
        solutions=(SolutionSettings(id="acme"), SolutionSettings(id="other")),
        guard=Guard(script_cpu=CPU),
    )
    async with Platform(settings) as platform:
        for id in ("acme", "other"):
            solution = platform.solutions.get(id)
            solution.route("GET", "/quick", lua="return 'quick'")
            solution.route("GET", "/spin", lua=SPIN)
            solution.route("GET", "/stubborn", lua=STUBBORN)
            solution.route("GET", "/strings", lua=STRINGS)
        address = platform.context.address
        trust = ssl.create_default_context(cadata=address.ca_pem)
        async with ClientSession(connector=TCPConnector(ssl=trust, resolver=Loopback())) as session:
            gc.disable()
            yield Client(session, address.https_port)
            gc.enable()


@pytest.mark.parametrize("busy", [["spin"], ["strings"], ["spin", "stubborn"]])
async def test_requests_are_answered_while_a_script_computes(client: Client, busy: list[str]) -> None:
    status, token = await client.ask(
        "POST", "t.m2", "/provision/activate", data={"id": "a", "vendor": "t", "model": "t"}
    )
    assert status == 200
    write = {"headers": {"X-Platform-CIK": token}, "data": {"text": "x"}}
    honest = itertools.cycle(
        [
            ("GET", "acme.apps", "/quick", {}, (200, "quick")),
            ("GET", "other.apps", "/quick", {}, (200, "quick")),
            ("POST", "t.m2", "/onep:v1/stack/alias", write, (204, "")),
        ]
    )
    began = time.thread_time()
    runs = [asyncio.create_task(client.ask("GET", "acme.apps", f"/{each}")) for each in busy]
    waited = []
    while not all(run.done() for run in runs):
        method, host, path, options, expected = next(honest)
        before = time.thread_time()
        assert await client.ask(method, host, path, **options) == expected
        waited.append(time.thread_time() - before)
    assert time.thread_time() - began > 0.95 * CPU * len(busy)  # the scripts computed for that long
    assert all("guard.script_cpu" in text and status == 504 for status, text in [await run for run in runs])
    assert max(waited) < LONGEST
    assert len(waited) > CPU * len(busy) / LONGEST
